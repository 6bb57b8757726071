"""How far drafts are accepted, and what that is worth, policy by policy.

Bounds: a step of n draft nodes costs T(n + 1) and commits at most the depth of its tree plus one, so no
policy decodes faster than (accepted length) ÷ (T(n + 1) ÷ T(1)) times plain decoding.

    python -m benchmarks.speculation [--quick] [--record [FILE]] [--replay [FILE]] [--cold]
        [--policies a,b] [--budgets 8,16,auto] [--sets a,b] [--prompts N] [--plots [DIR]]

`--record` keeps what the target said; `--replay` asks the recording instead of a model. What the words and
the keys mean is in docs/speculation.md.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks import drafting, measures, policies
from benchmarks.common import (
    MAX_NEW_TOKENS,
    MAX_PROMPT_TOKENS,
    machine,
    parser_of,
    versions,
)
from benchmarks.policies import AUTO, COPY_ONLY, PLAIN, TABLE_ONLY, Budget, Config
from benchmarks.prompts import RANDOM_SET, SETS, Prompt, load_prompts
from benchmarks.runs import Bench, Run
from benchmarks.spec_plots import check_matplotlib, save_plots
from benchmarks.spec_report import print_tables
from benchmarks.streams import Recording
from benchmarks.targets import LiveTarget, ReplayTarget, replay_prompts
from goose_lsp.config import load_settings
from goose_lsp.draft.bigrams import AdjacencyTable
from goose_lsp.draft.budget import StepCost
from goose_lsp.engine.catalog import resolve_model
from goose_lsp.engine.cost import SIZES, measure
from goose_lsp.engine.load import LoadOptions, load_model
from goose_lsp.errors import GooseError

OUT = Path(__file__).parent / "out"
N_QUICK, N_FULL = 4, 50  # prompts of a set
# At about 30 runs a prompt this keeps the quick run below five minutes; the full one takes hours.
QUICK_NEW_TOKENS = 20
BUDGETS, REPLAY_BUDGETS = "8,16,60,auto", "1,2,4,8,16,32,60,auto"
# A policy may draft more nodes than its budget; the last tree must fit behind the longest text.
N_SPARE_SLOTS = 128


@dataclass(slots=True)
class Stage:
    """What a run needs, live or replayed."""

    target: LiveTarget | ReplayTarget
    prompts: dict[str, list[Prompt]]  # by set
    end_ids: frozenset[int]
    cost: StepCost
    mode: str
    about: dict[str, Any]  # model, dtype


def main(argv: list[str] | None = None) -> int:
    args = _parser().parse_args(argv)
    started, began = datetime.now(UTC), perf_counter()
    print(str(__doc__).split("\n\n")[1])
    try:
        if args.plots:
            check_matplotlib()
        stage = _replay(args) if args.replay else _live(args)
        names = _policies(args)
        faults = policies.missing(names)
        configs = _configs(names, _budgets(args), faults)
        results = run_all(stage, configs, is_cold=args.cold, record=args.record)
        result = {
            **_result(args, stage, results, faults),
            "started": started.isoformat(timespec="seconds"),
            "seconds": round(perf_counter() - began, 1),
        }
        if args.plots:
            for file in save_plots(result, args.plots):
                print(f"wrote {file}")
    except GooseError as error:
        print(f"benchmarks.speculation: {error}", file=sys.stderr)
        return 2
    print_tables(result)
    print(json.dumps(result))
    return 0


def _parser() -> argparse.ArgumentParser:
    quick = f"{N_QUICK} prompts a set, {QUICK_NEW_TOKENS} new tokens"
    parser = parser_of("speculation", quick)
    recording = OUT / "streams.npz"
    for flag, what in (
        ("--record", "keep the target's passes"),
        ("--replay", "run without a model"),
    ):
        parser.add_argument(flag, nargs="?", type=Path, const=recording, metavar="FILE", help=what)
    parser.add_argument("--cold", action="store_true", help="empty all memory before each prompt")
    parser.add_argument("--policies", help=f"by default {','.join(policies.ALL)}")
    parser.add_argument("--budgets", help=f"draft nodes; by default {BUDGETS}")
    parser.add_argument("--sets", help=f"by default {','.join((*SETS, RANDOM_SET))}")
    parser.add_argument("--prompts", type=int, help="of each set")
    parser.add_argument("--plots", nargs="?", type=Path, const=OUT, metavar="DIR")
    return parser


def _policies(args: argparse.Namespace) -> list[str]:
    """The named ones; where `goose` takes part, either of its sources alone too."""
    if args.policies:
        names = str(args.policies).split(",")
    else:
        names = list(policies.QUICK if args.quick else policies.ALL)
    return [*names, COPY_ONLY, TABLE_ONLY] if "goose" in names else names


def _budgets(args: argparse.Namespace) -> list[Budget]:
    text = args.budgets or (REPLAY_BUDGETS if args.replay else BUDGETS)
    try:
        budgets = [b if b == AUTO else int(b) for b in str(text).split(",")]
    except ValueError:
        raise GooseError(f"--budgets is {text!r}; wanted are node counts or {AUTO}") from None
    if any(isinstance(b, int) and not 1 <= b <= policies.MAX_NODES for b in budgets):
        raise GooseError(f"--budgets is {text!r}; a budget is 1 to {policies.MAX_NODES} nodes")
    return budgets


def _configs(
    names: Sequence[str], budgets: Sequence[Budget], faults: dict[str, str]
) -> list[Config]:
    configs = [c for c in policies.configs_of(names, budgets) if c.policy not in faults]
    if not configs and set(names) != {"plain"}:
        raise GooseError("; ".join(faults.values()) or "no policy fits these budgets")
    return [PLAIN, *configs]


def _live(args: argparse.Namespace) -> Stage:
    settings = load_settings({"engine.model": args.model})
    resolved = resolve_model(settings)
    n_slots = MAX_PROMPT_TOKENS + MAX_NEW_TOKENS + N_SPARE_SLOTS
    options = LoadOptions(args.dtype, n_slots, args.threads, settings.cache_dir)
    model = load_model(resolved.name, resolved.path, options)
    n = args.prompts or (N_QUICK if args.quick else N_FULL)
    max_new_tokens = QUICK_NEW_TOKENS if args.quick else MAX_NEW_TOKENS
    prompts = {
        name: load_prompts(name, model.tokenizer, args.data, n, args.seed, max_new_tokens)
        for name in (args.sets.split(",") if args.sets else (*SETS, RANDOM_SET))
    }
    target = LiveTarget(model.forward, AdjacencyTable().k)
    cost = measure(target).step
    end_ids = model.tokenizer.control_ids
    if args.record:
        target.recording = Recording(
            *(args.model, model.forward.dtype, target.max_tokens, sorted(end_ids)),
            *(list(cost.sizes), list(cost.times_ms)),
        )
    about = {"model": args.model, "dtype": model.forward.dtype}
    return Stage(target, prompts, end_ids, cost, "live", about)


def _replay(args: argparse.Namespace) -> Stage:
    recording = Recording.load(args.replay)
    wanted = args.sets.split(",") if args.sets else None
    prompts: dict[str, list[Prompt]] = {}
    for prompt in replay_prompts(recording):
        if wanted is None or prompt.set_name in wanted:
            prompts.setdefault(prompt.set_name, []).append(prompt)
    if not prompts:
        raise GooseError(f"{args.replay} holds none of the sets {args.sets}")
    if args.prompts:
        prompts = {name: some[: args.prompts] for name, some in prompts.items()}
    cost = StepCost(tuple(recording.sizes), tuple(recording.times_ms))
    about = {"model": recording.model, "dtype": recording.dtype}
    target = ReplayTarget(recording)
    return Stage(target, prompts, frozenset(recording.end_ids), cost, "replay", about)


def run_all(
    stage: Stage, configs: Sequence[Config], *, is_cold: bool, record: Path | None = None
) -> dict[str, dict[Config, Run]]:
    """Every set under every configuration; the random set under plain decoding and `goose` only.

    A live stage's recording is saved after every set: a full run takes hours.
    """
    bench = Bench(stage.target, stage.end_ids, stage.cost.table(SIZES[-1] - 1), is_cold=is_cold)
    budget = measures.synergy_budget({"": dict.fromkeys(configs, Run())})
    results: dict[str, dict[Config, Run]] = {}
    for name, prompts in stage.prompts.items():
        is_random = name == RANDOM_SET
        wanted = [c for c in configs if not is_random or c.policy in {"plain", "goose"}]
        runs = results[name] = bench.run_set(prompts, wanted, _show)
        tree = runs.get(Config("goose", budget)) if budget else None
        if tree is not None and not is_random:
            parts = [c for c in measures.parts_of(tree) if _is_new(c, configs, runs)]
            runs |= bench.run_set(prompts, parts, _show) if parts else {}
        if isinstance(stage.target, LiveTarget) and stage.target.recording and record:
            stage.target.recording.save(record)
    print(file=sys.stderr)
    return results


def _is_new(part: Config, configs: Sequence[Config], runs: dict[Config, Run]) -> bool:
    """Whether a source alone can be run and has not been yet at that budget."""
    return part not in runs and any(config.policy == part.policy for config in configs)


def _show(text: str) -> None:
    print(f"\r{text:<40}", end="", file=sys.stderr, flush=True)


def _result(
    args: argparse.Namespace,
    stage: Stage,
    results: dict[str, dict[Config, Run]],
    faults: dict[str, str],
) -> dict[str, Any]:
    prompts = [prompt for some in stage.prompts.values() for prompt in some]
    unknown = None
    if isinstance(stage.target, ReplayTarget):
        unknown = round(stage.target.n_unknown / max(stage.target.n_rows, 1), 4)
    cost = stage.cost
    return {
        "benchmark": "speculation",
        "mode": stage.mode,
        "rows": measures.rows_of(results, stage.mode),
        **measures.summary(results),
        "draft_ms_at_60": round(drafting.draft_ms(prompts), 3),
        "unknown_row_share": unknown,
        "t_ms": {str(n): round(t, 2) for n, t in zip(cost.sizes, cost.times_ms, strict=True)},
        "missing_policies": faults,
        "is_quick": args.quick,
        "is_cold": args.cold,
        "max_new_tokens": max(prompt.max_new_tokens for prompt in prompts),
        "seed": args.seed,
        "machine": machine(args.threads),
        **stage.about,
        "versions": versions("numba", "numpy", "torch"),
        "n": len(prompts),
    }


if __name__ == "__main__":
    sys.exit(main())
