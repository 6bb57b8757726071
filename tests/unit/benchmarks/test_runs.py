from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from benchmarks import runs
from benchmarks.policies import PLAIN, Config
from benchmarks.runs import Run, TimedTable, WatchedPolicy
from goose_lsp.draft.accept import Acceptance
from goose_lsp.draft.policy import Memory, PlainPolicy, Policy
from goose_lsp.draft.tree import DraftTree, Origin, chain
from goose_lsp.engine.forward import Scored
from tests.recordings import PROMPTS, counts, live_bench, live_target, stops_at_five

S, B = Origin.SPINE, Origin.BRANCH
HUMANEVAL, SAFIM = PROMPTS["humaneval"], PROMPTS["safim"]


def test_a_step_is_counted_by_who_proposed_its_nodes() -> None:
    run = Run()
    #      0 ─ 1 ─ 2
    #          └ 3 ─ 4
    tree = DraftTree((9, 1, 2, 3, 4), (-1, 0, 1, 1, 3), (Origin.MODEL, S, S, B, B))
    run.count(tree, Acceptance((1, 3), 5))  # leaves the spine, goes on along a branch
    run.count(tree, Acceptance((1, 2), 5))
    run.count(chain(9, range(8)), Acceptance((), 5))
    run.count(chain(9, range(7)), Acceptance((1,), 5))
    assert run.n_drafted == Counter({S: 2 + 2 + 8 + 7, B: 4})
    assert (run.n_continuation, run.n_bypass) == (1, 1)


def test_nodes_of_unknown_origin_count_as_branches() -> None:
    run = Run()
    run.count(DraftTree((9, 1, 2), (-1, 0, 0)), Acceptance((1,), 5))
    assert run.n_drafted == Counter({B: 2})


def test_without_a_pass_the_accepted_length_is_that_of_plain_decoding() -> None:
    assert Run().mean_accepted_len == 1.0
    assert Run(n_committed=7, n_steps=2).mean_accepted_len == 3.5


def test_a_table_takes_nothing_from_rows_nobody_has_seen() -> None:
    table = TimedTable()
    ids = np.array([[5, 6], [7, 8]])
    seen = np.array([[0.6, 0.3], [0.5, 0.2]], np.float32)
    table.harvest([1, 1], [2, 3], ids, seen)
    unseen = np.array([[0.0, 0.0], [0.9, 0.05]], np.float32)
    table.harvest([1, 1], [2, 3], np.array([[0, 0], [4, 9]]), unseen)
    first, second = table.successors(1, 2), table.successors(1, 3)
    assert first is not None
    assert second is not None
    assert (first.token_ids, second.token_ids) == ([5, 6], [4, 9])


def test_plain_decoding_runs_even_where_nobody_asked() -> None:
    results = live_bench().run_set(HUMANEVAL, [Config("pld", 4)])
    plain = results[PLAIN]
    assert plain.mean_accepted_len == 1.0
    assert plain.n_prompts == 2
    assert set(plain.origins) == {Origin.MODEL}
    assert results[Config("pld", 4)].n_tokens == plain.n_tokens


def test_a_second_look_at_the_same_prompts_needs_no_plain_decoding() -> None:
    bench = live_bench()
    bench.run_set(HUMANEVAL, [PLAIN])
    assert list(bench.run_set(HUMANEVAL, [Config("pld", 4)])) == [Config("pld", 4)]


def test_every_token_has_one_origin_and_every_pass_one_bonus_token() -> None:
    run = live_bench().run_set(HUMANEVAL, [Config("goose", 6)])[Config("goose", 6)]
    assert sum(run.origins.values()) == run.n_tokens
    assert run.n_committed >= run.n_tokens
    assert run.origins[Origin.MODEL] <= run.n_steps
    assert len(run.tok_s) == len(run.cpu_tok_s) == 2


def test_what_lies_behind_an_editors_stop_is_not_counted() -> None:
    class Seer(PlainPolicy):
        def draft(self, max_nodes: int, max_depth: int) -> DraftTree:
            del max_nodes
            return chain(self.last_token, truth[:max_depth])

    bench = live_bench()
    endless = bench.run_set([replace(SAFIM[0], stop=lambda _tokens: False)], [PLAIN])
    assert endless[PLAIN].n_tokens == 16
    truth = next(iter(bench._truths.values()))
    stopped = live_bench()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            runs, "make_policy", lambda name, *_: PlainPolicy() if name == "plain" else Seer()
        )
        run = stopped.run_set(SAFIM, [Config("seer", 16)])[Config("seer", 16)]
    assert stops_at_five(truth[:5])
    assert (run.n_steps, run.n_tokens, run.n_committed) == (1, 5, 5)
    assert run.n_differing == 0


def test_memory_is_kept_from_prompt_to_prompt_unless_cold(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Memory] = []

    def note(_name: str, memory: Memory, *_rest: object) -> Policy:
        seen.append(memory)
        return PlainPolicy()

    monkeypatch.setattr(runs, "make_policy", note)
    for is_cold, n_memories in ((False, 1), (True, 2)):
        bench = live_bench(is_cold=is_cold)
        bench.run_set(HUMANEVAL, [PLAIN])
        seen.clear()
        bench.run_set(HUMANEVAL, [Config("any", 4)])
        assert len({id(memory) for memory in seen}) == n_memories


def test_policies_take_turns_at_being_first_after_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []

    def note(name: str, *_rest: object) -> Policy:
        order.append(name)
        return PlainPolicy()

    monkeypatch.setattr(runs, "make_policy", note)
    live_bench().run_set(HUMANEVAL, [PLAIN, Config("a", 1), Config("b", 1)])
    assert order == ["plain", "a", "b", "plain", "b", "a"]


def test_tokens_that_differ_from_plain_decodings_are_counted() -> None:
    target = live_target()
    bench = live_bench(target)
    bench.run_set(HUMANEVAL, [PLAIN])
    right = target.verify

    def wrong(tree: DraftTree) -> Scored:
        scored = right(tree)
        return replace(scored, choices=[(token + 1) % 100 for token in scored.choices])

    target.verify = wrong  # type: ignore[method-assign]
    run = bench.run_set(HUMANEVAL[:1], [Config("pld", 4)])[Config("pld", 4)]
    assert run.n_differing > 0


def test_watching_a_policy_changes_nothing() -> None:
    policy = PlainPolicy()
    watched = WatchedPolicy(policy)
    watched.extend([1, 2])
    tree = watched.draft(4, 4)
    watched.learn(tree, Acceptance((), 3))
    assert tree == policy.draft(4, 4)
    assert watched.steps == [(tree, Acceptance((), 3))]


def test_counts_do_not_depend_on_who_else_takes_part() -> None:
    config = Config("goose", 6)
    alone = live_bench().run_set(HUMANEVAL, [config])
    beside = live_bench().run_set(HUMANEVAL, [Config("token-recycling", 9), config])
    one = {"": {config: alone[config]}}
    assert counts(one) == counts({"": {config: beside[config]}})
