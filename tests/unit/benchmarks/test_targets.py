from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import pytest

from benchmarks.policies import PLAIN, Config
from benchmarks.targets import N_HARVESTED, ReplayTarget, replay_prompts
from goose_lsp.cancel import CancelToken
from goose_lsp.draft.tree import chain
from goose_lsp.engine.forward import Scored
from tests.recordings import CONFIGS, PROMPTS, counts, live_target, recorded, replayed
from tests.tiny import int8_target

PROMPT = PROMPTS["humaneval"][0]
BODY = PROMPT.token_ids[:-1]


def rows(parts: Iterable[tuple[int, Scored]]) -> npt.NDArray[np.int_]:
    return np.concatenate([scored.top_ids for _, scored in parts])


def test_a_prompt_runs_once_and_scores_the_same_for_everybody() -> None:
    target, oracle = live_target(), int8_target()
    target.begin(PROMPT)
    assert not list(target.prefill(BODY, CancelToken()))  # plain decoding wants no scores
    target.commit(chain(1, []), [])
    assert target.reuse(BODY) == len(BODY)
    again = rows(target.prefill(BODY, CancelToken(), N_HARVESTED))
    wanted = rows(oracle.prefill(BODY, CancelToken(), N_HARVESTED))
    assert np.array_equal(again[:, : wanted.shape[1]], wanted)


def test_another_prompt_starts_from_nothing() -> None:
    target = live_target()
    target.begin(PROMPT)
    list(target.prefill(BODY, CancelToken()))
    target.begin(PROMPTS["safim"][0])
    assert target.n_cached == 0
    assert target.reuse(BODY) == 0


def test_a_replay_counts_what_the_live_run_counted() -> None:
    recording, live = recorded()
    replay = replayed(recording, CONFIGS)
    assert counts(replay) == counts(live)
    drafted = [run for runs in live.values() for c, run in runs.items() if c != PLAIN]
    assert sum(run.n_committed - run.n_steps for run in drafted) > 0, "some draft is accepted"


def test_a_replay_of_what_was_not_recorded_is_still_plain_decoding() -> None:
    recording, _ = recorded()
    runs = replayed(recording, [PLAIN, Config("isotropic-5", 20), Config("sequoia", 30)])
    assert {run.n_differing for by_config in runs.values() for run in by_config.values()} == {0}
    assert {by_config[PLAIN].n_unknown for by_config in runs.values()} == {0}
    assert sum(run.n_unknown for by_config in runs.values() for run in by_config.values()) > 0


def test_a_replayed_prompt_stops_where_its_recording_does() -> None:
    recording, live = recorded()
    prompts = replay_prompts(recording)
    assert [p.token_ids for p in prompts] == [
        p.token_ids for some in PROMPTS.values() for p in some
    ]
    for prompt in prompts:
        stream = recording.find(prompt.set_name, prompt.token_ids)
        assert stream is not None
        assert not prompt.stop(stream.choices[:-1])
        assert prompt.stop(stream.choices)
    assert live["safim"][PLAIN].n_tokens == 5


def test_rows_of_a_run_that_left_plain_decodings_path_are_not_recorded() -> None:
    recording, _ = recorded()
    stream = recording.find("humaneval", PROMPT.token_ids)
    assert stream is not None
    target = live_target(recording)
    known = dict(stream.memo)
    target.begin(PROMPT)
    list(target.prefill(BODY, CancelToken()))
    wrong = (stream.choices[0] + 1) % 100
    target.verify(chain(BODY[-1], []))
    target.commit(chain(BODY[-1], []), [])
    target.verify(chain(wrong, [1, 2]))
    target.end_run(PROMPT, [wrong, 1, 2])
    assert stream.memo == known


def test_replayed_passes_take_the_recorded_time() -> None:
    recording, _ = recorded()
    target = ReplayTarget(recording)
    target.begin(PROMPT)
    list(target.prefill(BODY, CancelToken()))
    before = target.clock()
    for _ in range(200):
        target.verify(chain(BODY[-1], [1, 2, 3, 4, 5, 6, 7]))
    assert target.clock() - before >= 200 * 1.5e-3


def test_a_replay_counts_the_rows_nobody_saw() -> None:
    recording, _ = recorded()
    target = ReplayTarget(recording)
    target.begin(PROMPT)
    target.reuse(BODY)
    list(target.prefill(BODY, CancelToken()))
    target.verify(chain(PROMPT.token_ids[-1], [99, 98, 97]))
    assert (target.n_rows, target.n_unknown) == (4, 3)


@pytest.mark.parametrize("n_scored", [0, N_HARVESTED])
def test_replayed_prompt_rows_are_yielded_only_when_wanted(n_scored: int) -> None:
    recording, _ = recorded()
    target = ReplayTarget(recording)
    target.begin(PROMPT)
    parts = list(target.prefill(BODY, CancelToken(), n_scored))
    assert [start for start, _ in parts] == ([0] if n_scored else [])
    assert target.n_cached == len(BODY)
