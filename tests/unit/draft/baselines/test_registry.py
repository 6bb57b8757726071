"""What holds for every baseline, whatever it drafts."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goose_lsp.draft.accept import accept_greedy
from goose_lsp.draft.baselines import BASELINES
from goose_lsp.draft.bigrams import NO_TOKEN, AdjacencyTable
from goose_lsp.draft.policy import Memory, Policy
from goose_lsp.draft.tree import DraftTree, Origin, chain
from tests.drafts import never

NAMES = sorted(BASELINES)


@st.composite
def tables(draw: st.DrawFn, n_vocab: int) -> AdjacencyTable:
    """Rows for random pairs and single tokens, probabilities falling; some tokens unknown."""
    table = AdjacencyTable(k=draw(st.integers(1, 10)))
    width = min(n_vocab, table.k)
    token = st.integers(0, n_vocab - 1)
    keys = draw(st.lists(st.tuples(st.integers(NO_TOKEN, n_vocab - 1), token), max_size=20))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    for previous, current in keys:
        ids = rng.permutation(n_vocab)[:width][None, :]
        probabilities = np.sort(rng.random((1, width)) / width)[:, ::-1].astype(np.float32)
        table.harvest([previous], [current], ids, probabilities)
    return table


def check(tree: DraftTree, context: Sequence[int], limits: tuple[int, int], final: int) -> None:
    """A legal tree under the context's last token, within (nodes, depth), nothing after `final`."""
    max_nodes, max_depth = limits
    assert tree.token_ids[0] == context[-1]
    assert len(tree) <= max_nodes + 1
    assert max(tree.depths()) <= max_depth
    assert all(parent == 0 or tree.token_ids[parent] != final for parent in tree.parents[1:])
    assert tree.origins[0] is Origin.MODEL
    assert Origin.MODEL not in tree.origins[1:]


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=60, deadline=None)
@given(st.integers(2, 5), st.integers(0, 40), st.data())
def test_drafts_are_legal_and_within_limits_step_by_step(
    name: str, n_vocab: int, budget: int, data: st.DataObject
) -> None:
    memory = Memory(table=data.draw(tables(n_vocab)))
    tokens = st.integers(0, n_vocab - 1)
    final = data.draw(tokens)
    for _ in range(2):  # two requests share what was learned
        policy = BASELINES[name](memory, lambda token: token == final, budget)
        context = data.draw(st.lists(tokens, min_size=1, max_size=30))
        policy.extend(context)
        for _ in range(data.draw(st.integers(1, 4))):
            limits = data.draw(st.tuples(st.integers(0, 40), st.integers(0, 9)))
            tree = policy.draft(*limits)
            check(tree, context, limits, final)
            if name != "goose-paper":  # a confident copy borrows beyond the paper's B
                assert len(tree) <= budget + 1
            choices = data.draw(st.lists(tokens, min_size=len(tree), max_size=len(tree)))
            acceptance = accept_greedy(tree, choices)
            policy.learn(tree, acceptance)
            new = [*(tree.token_ids[node] for node in acceptance.nodes), acceptance.bonus_token]
            policy.extend(new)
            context += new


def drafts(policy: Policy, context: list[int]) -> list[DraftTree]:
    policy.extend(context)
    return [
        policy.draft(*limits) for limits in [(0, 0), (0, 9), (9, 0), (1, 9), (9, 1), (300, 300)]
    ]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("context", [[1], [1] * 400, [0, 1] * 200])
def test_extreme_contexts_with_an_empty_table_are_survived(name: str, context: list[int]) -> None:
    for budget in (0, 1, 64):
        for tree in drafts(BASELINES[name](Memory(), never, budget), context):
            assert tree.token_ids[0] == context[-1]


@pytest.mark.parametrize("name", NAMES)
def test_no_room_or_no_depth_is_the_root_alone(name: str) -> None:
    no_nodes, no_room, no_depth, *_ = drafts(BASELINES[name](Memory(), never, 64), [1] * 40)
    assert no_nodes == no_room == no_depth == chain(1, [])


@pytest.mark.parametrize("name", NAMES)
def test_the_same_past_gives_the_same_drafts(name: str) -> None:
    context = [t * t % 11 for t in range(60)]
    first, second = (drafts(BASELINES[name](Memory(), never, 20), context) for _ in range(2))
    assert first == second


def test_baselines_share_a_memory_without_mixing_what_they_learned() -> None:
    memory = Memory()
    for name, factory in BASELINES.items():
        factory(memory, never, 8).extend([1])
        assert set(memory.extras) <= set(BASELINES), name
    kinds = {name: id(extra) for name, extra in memory.extras.items()}
    for factory in BASELINES.values():
        factory(memory, never, 8).extend([1])
    assert {name: id(extra) for name, extra in memory.extras.items()} == kinds
    assert len(set(kinds.values())) == len(kinds)
