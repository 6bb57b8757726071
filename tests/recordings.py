"""A tiny model decoded live under a few policies, with everything it said on record."""

from collections.abc import Mapping, Sequence
from functools import cache

from benchmarks.policies import AUTO, PLAIN, Config
from benchmarks.prompts import Prompt
from benchmarks.runs import Bench, Run
from benchmarks.streams import Recording
from benchmarks.targets import LiveTarget, ReplayTarget, replay_prompts
from goose_lsp.draft.budget import StepCost
from tests.tiny import int8_target

END_IDS = frozenset({7})
COST = StepCost((1, 8, 64), (1.0, 1.5, 6.0))
CONFIGS = (
    PLAIN,
    Config("goose", 6),
    Config("goose", AUTO),
    Config("pld", 5),
    Config("token-recycling", 9),
)
_HALF = [3, 14, 15, 9, 26, 5, 35, 8]


def stops_at_five(token_ids: Sequence[int]) -> bool:
    return len(token_ids) >= 5


PROMPTS = {
    "humaneval": [
        Prompt("humaneval", _HALF * 2, 24),
        Prompt("humaneval", [*range(20, 40), *range(20, 30)], 24),
    ],
    "safim": [Prompt("safim", [*_HALF, 1, *_HALF], 16, stops_at_five)],
}


def live_target(recording: Recording | None = None) -> LiveTarget:
    return LiveTarget(int8_target().forward, 8, recording)


def live_bench(target: LiveTarget | None = None, *, is_cold: bool = False) -> Bench:
    return Bench(target or live_target(), END_IDS, COST.table(63), is_cold=is_cold)


def new_recording(target: LiveTarget) -> Recording:
    sizes, times = list(COST.sizes), list(COST.times_ms)
    return Recording("tiny", "int8", target.max_tokens, sorted(END_IDS), sizes, times)


@cache
def recorded() -> tuple[Recording, dict[str, dict[Config, Run]]]:
    """The recording of all of `CONFIGS` on `PROMPTS`, and what came out live."""
    target = live_target()
    target.recording = new_recording(target)
    bench = live_bench(target)
    results = {name: bench.run_set(prompts, CONFIGS) for name, prompts in PROMPTS.items()}
    return target.recording, results


def replayed(recording: Recording, configs: Sequence[Config]) -> dict[str, dict[Config, Run]]:
    bench = Bench(ReplayTarget(recording), END_IDS, COST.table(63))
    by_set: dict[str, list[Prompt]] = {}
    for prompt in replay_prompts(recording):
        by_set.setdefault(prompt.set_name, []).append(prompt)
    return {name: bench.run_set(prompts, configs) for name, prompts in by_set.items()}


def counts(results: Mapping[str, Mapping[Config, Run]]) -> dict[tuple[str, Config], list[object]]:
    """All of the runs that is no time."""
    return {
        (name, config): [
            *(run.n_prompts, run.n_tokens, run.n_committed, run.n_steps, run.n_drafted),
            *(run.origins, run.n_bypass, run.n_continuation, run.n_differing),
        ]
        for name, runs in results.items()
        for config, run in runs.items()
    }
