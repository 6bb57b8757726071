from collections.abc import Collection, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goose_lsp.draft.accept import Acceptance, accept_greedy
from goose_lsp.draft.bigrams import AdjacencyTable
from goose_lsp.draft.budget import best_n_nodes
from goose_lsp.draft.drafter import MAX_DEPTH, MAX_NODES, Drafter, spine_first
from goose_lsp.draft.growth import Grown, new_grown
from goose_lsp.draft.policy import Memory
from goose_lsp.draft.tree import DraftTree, Origin, chain
from tests.drafts import paths
from tests.sources import Rows, store_of, table_of

END = 0
# The stretch 3 … 12 is known to follow; whatever was measured of matches this long, it is copied.
REPEATED = [1, 2, *range(3, 13), 1, 2, *range(3, 9)]


def drafter(
    context: Sequence[int],
    rows: Rows | None = None,
    memory: Memory | None = None,
    end_ids: Collection[int] = frozenset({END}),
    use_copies: bool = True,
    use_table: bool = True,
) -> Drafter:
    memory = memory or Memory(table_of(rows or {}))
    made = Drafter(memory, end_ids, use_copies=use_copies, use_table=use_table)
    made.extend(context)
    return made


def held(made: Drafter) -> list[int]:
    tokens: list[int] = made.context.text.tokens[: len(made.context)].tolist()
    return tokens


def test_a_repeated_stretch_is_copied_as_spine() -> None:
    tree = drafter(REPEATED).draft(max_nodes=4, max_depth=9)
    assert tree == chain(8, [9, 10, 11, 12])


def test_without_a_copy_the_table_alone_is_drafted() -> None:
    tree = drafter([8, 9], {(8, 9): {3: 0.6, 4: 0.2}}).draft(max_nodes=2, max_depth=1)
    assert tree.token_ids == (9, 3, 4)
    assert tree.origins == (Origin.MODEL, Origin.BRANCH, Origin.BRANCH)


def test_branches_hang_beside_the_spine() -> None:
    made = drafter([1, 2, 3, 1, 2], {(1, 2): {7: 0.5, 3: 0.3}})
    children = [path for path in paths(made.draft(max_nodes=20, max_depth=9)) if len(path) == 1]
    assert set(children) == {(3,), (7,)}


def test_an_unknown_context_gives_a_root_alone() -> None:
    assert drafter([5]).draft(max_nodes=8, max_depth=9) == chain(5, [])


def test_switches_leave_out_copies_or_the_table() -> None:
    def firsts(use_copies: bool, use_table: bool) -> set[int]:
        rows: Rows = {(1, 2): {7: 0.6}}
        made = drafter([1, 2, 3, 1, 2], rows, use_copies=use_copies, use_table=use_table)
        return {path[0] for path in paths(made.draft(20, 9))}

    assert firsts(use_copies=True, use_table=True) == {3, 7}
    assert firsts(use_copies=True, use_table=False) == {3}
    assert firsts(use_copies=False, use_table=True) == {7}
    assert firsts(use_copies=False, use_table=False) == set()


def test_nothing_is_drafted_behind_an_end_token() -> None:
    made = drafter(REPEATED, end_ids=[10, 99])
    assert made.draft(max_nodes=9, max_depth=9) == chain(8, [9, 10])


def test_more_nodes_than_there_is_room_for_are_as_many_as_there_is_room_for() -> None:
    shares = dict.fromkeys(range(16), 0.06)
    memory = Memory(table_of({(token,): shares for token in range(16)}, k=16))
    memory.cells.table_prior[:] = 0.05
    tree = drafter([3], memory=memory, end_ids=[]).draft(max_nodes=10_000, max_depth=10_000)
    assert len(tree) == MAX_NODES + 1


def test_a_copy_is_no_deeper_than_pays() -> None:
    memory = Memory()
    memory.cells.copy_prior[:] = 1.0
    made = drafter([*range(1, 200), *range(1, 50)], memory=memory)
    assert len(made.draft(max_nodes=1000, max_depth=1000)) == 1 + MAX_DEPTH


def test_a_tree_may_be_asked_for_twice() -> None:
    made = drafter(REPEATED, {(7, 8): {5: 0.5}})
    assert made.draft(9, 9) == made.draft(9, 9)


def grown_of(nodes: Sequence[tuple[int, int, bool]]) -> tuple[Grown, int]:
    """A grown tree of (token, parent, is copied) below a root with token 0."""
    grown = new_grown(len(nodes))
    grown.parents[0] = -1
    for node, (token, parent, is_copied) in enumerate(nodes, start=1):
        grown.tokens[node], grown.parents[node], grown.is_copied[node] = token, parent, is_copied
        grown.depths[node] = grown.depths[parent] + 1
    return grown, len(nodes) + 1


def test_the_longest_copied_path_lies_directly_behind_the_root() -> None:
    copied, listed = True, False
    nodes = [
        (1, 0, listed),
        (2, 0, copied),
        (3, 1, copied),
        (4, 2, copied),
        (5, 2, listed),
        (6, 4, copied),
    ]
    tree = spine_first(*grown_of(nodes))
    assert tree.token_ids == (0, 2, 4, 6, 1, 3, 5)
    assert tree.parents == (-1, 0, 1, 2, 0, 4, 1)
    assert [int(origin) for origin in tree.origins] == [0, 1, 1, 1, 2, 1, 2]


def test_of_copied_paths_of_one_length_the_likelier_is_the_spine() -> None:
    tree = spine_first(*grown_of([(1, 0, False), (2, 0, True), (3, 0, True)]))
    assert tree.token_ids == (0, 2, 1, 3)


@st.composite
def grown_trees(draw: st.DrawFn) -> list[tuple[int, int, bool]]:
    """Distinct tokens, any shape; copied or not at random."""
    n = draw(st.integers(0, 14))
    return [(i + 1, draw(st.integers(0, i)), draw(st.booleans())) for i in range(n)]


@given(grown_trees())
def test_laying_the_spine_first_keeps_the_tree_and_moves_nothing_that_is_accepted_on_it(
    nodes: list[tuple[int, int, bool]],
) -> None:
    tree = spine_first(*grown_of(nodes))
    token_of = [0, *(token for token, _, _ in nodes)]
    edges = {(token_of[parent], token) for token, parent, _ in nodes}
    assert {
        (tree.token_ids[tree.parents[node]], tree.token_ids[node]) for node in range(1, len(tree))
    } == edges
    copied = {token for token, _, is_copied in nodes if is_copied}
    trunks = [path for path in paths(tree) if copied.issuperset(path)]
    deepest = max((len(path) for path in trunks), default=0)
    spine = tree.token_ids[1 : deepest + 1]
    assert spine in [*trunks, ()]
    choices = {0: spine[:1], **{token: spine[i + 1 : i + 2] for i, token in enumerate(spine)}}
    wanted = [next(iter(choices.get(token, ())), -1) for token in tree.token_ids]
    assert accept_greedy(tree, wanted).nodes == tuple(range(1, deepest + 1))


def test_a_steep_cost_drafts_nothing_and_a_flat_one_all() -> None:
    made = drafter(REPEATED)
    made.cost_table = [1.0, 9.0, 18.0, 27.0]
    assert len(made.draft(3, 9)) == 1
    made.cost_table = [1.0, 1.0, 1.0, 1.0]
    assert len(made.draft(3, 9)) == 4


def test_no_more_nodes_are_drafted_than_have_a_cost() -> None:
    made = drafter(REPEATED)
    made.cost_table = [1.0, 1.0, 1.0]
    assert len(made.draft(9, 9)) == 3
    made.cost_table = [1.0]
    assert len(made.draft(9, 9)) == 1


contexts = st.lists(st.integers(0, 4), min_size=1, max_size=60)
ROWS: Rows = {(1, 2): {3: 0.5, 1: 0.2, 0: 0.1}, (3,): {4: 0.9}, (2, 3, 4): {1: 0.4, 2: 0.4}}


@settings(deadline=None)
@given(contexts, st.lists(st.floats(0.5, 2.0), min_size=1, max_size=12), st.integers(0, 14))
def test_a_budget_chosen_by_cost_is_the_best_beginning_of_the_whole_tree(
    context: list[int], increments: list[float], max_nodes: int
) -> None:
    made = drafter(context, ROWS)
    made.draft(min(max_nodes, len(increments) - 1), 9)
    values = made._grown.values.copy()
    n = len(made.draft(min(max_nodes, len(increments) - 1), 9)) - 1
    made.cost_table = [sum(increments[: i + 1]) for i in range(len(increments))]
    expected = best_n_nodes(values[1 : n + 1].tolist(), made.cost_table)
    chosen = made.draft(max_nodes, 9)
    assert len(chosen) == 1 + expected
    made.cost_table = ()
    assert chosen == made.draft(expected, 9)


@settings(deadline=None)
@given(contexts, st.integers(0, 20), st.integers(0, 12))
def test_any_context_gives_a_tree_within_its_limits(context: list[int], n: int, depth: int) -> None:
    made = drafter(context, ROWS)
    tree = made.draft(max_nodes=n, max_depth=depth)
    assert tree.token_ids[0] == context[-1]
    assert len(tree) <= n + 1
    assert max(tree.depths()) <= depth
    assert all(END not in path[:-1] for path in paths(tree))
    assert held(made) == context


@settings(deadline=None)
@given(st.lists(st.integers(0, 1), min_size=1, max_size=40), st.integers(0, MAX_NODES))
def test_a_vocabulary_of_two_is_enough(context: list[int], n: int) -> None:
    rows: Rows = {(a, b): {0: 0.5, 1: 0.5} for a in (0, 1) for b in (0, 1)}
    tree = drafter(context, rows, end_ids=()).draft(n, 9)
    assert len(tree) <= n + 1
    assert {*tree.token_ids} <= {0, 1}


@pytest.mark.parametrize("token", [1, 2**31 - 1])
def test_a_context_of_one_token_repeated_goes_on_with_it(token: int) -> None:
    tree = drafter([token] * 50).draft(max_nodes=8, max_depth=9)
    assert tree == chain(token, [token] * 8)


def test_ids_at_the_edge_of_their_type_are_drafted_from_both_sources() -> None:
    edge = 2**31 - 1
    made = drafter([edge, edge - 1, edge - 2, edge, edge - 1], {(edge, edge - 1): {edge: 0.9}})
    assert set(paths(made.draft(20, 1))) == {(edge - 2,), (edge,)}


def test_a_wrong_copy_lowers_trust_in_copies_of_that_kind() -> None:
    made = drafter(REPEATED)
    tree = made.draft(1, 9)
    before = made._grown.values[1]
    made.learn(tree, Acceptance((), bonus_token=99))
    made.draft(1, 9)
    assert made._grown.values[1] < before


def test_every_visited_node_teaches_whether_drafted_or_not() -> None:
    drafted, undrafted = drafter(REPEATED), drafter(REPEATED)
    tree = drafted.draft(2, 9)
    drafted.learn(tree, Acceptance((1, 2), bonus_token=11))
    assert drafted.memory.cells.copy_coarse.sum(axis=0).tolist() == [3.0, 3.0]
    # The root alone was verified, three times.
    for token in (9, 10, 11):
        undrafted.learn(undrafted.draft(0, 9), Acceptance((), bonus_token=token))
        undrafted.extend([token])
    for column, other in zip(drafted.memory.cells, undrafted.memory.cells, strict=True):
        np.testing.assert_array_equal(column, other)


def test_learning_before_the_context_grows_changes_neither_it_nor_the_next_root() -> None:
    made = drafter(REPEATED)
    made.learn(made.draft(4, 9), Acceptance((1,), bonus_token=77))
    assert held(made) == REPEATED
    made.extend([9, 77])
    assert made.draft(4, 9).token_ids[0] == 77


@settings(deadline=None, max_examples=50)
@given(contexts, st.lists(st.integers(0, 4), min_size=1, max_size=30), st.integers(0, 12))
def test_decoding_any_text_leaves_trees_that_can_be_and_counts_of_every_token(
    prompt: list[int], text: list[int], n: int
) -> None:
    made, i = drafter(prompt, ROWS, end_ids=()), 0
    while i < len(text):
        tree = made.draft(n, len(text) - i - 1)
        acceptance = walk(tree, text[i:])
        made.learn(tree, acceptance)
        taken = [*(tree.token_ids[node] for node in acceptance.nodes), acceptance.bonus_token]
        assert taken == text[i : i + len(taken)]
        made.extend(taken)
        i += len(taken)
    assert held(made) == [*prompt, *text]
    for counts in (made.memory.cells.copy_fine, made.memory.cells.table_fine):
        assert (counts[:, 0] <= counts[:, 1]).all()


def walk(tree: DraftTree, text: Sequence[int]) -> Acceptance:
    """What a target accepts that wants to say the text."""
    depths = tree.depths()
    return accept_greedy(tree, [text[min(depth, len(text) - 1)] for depth in depths])


def first_path(made: Drafter) -> tuple[int, ...]:
    return paths(made.draft(3, 3))[-1]


def test_what_an_earlier_request_held_is_found_again() -> None:
    memory = Memory(table_of({}))
    first = drafter([1, 2, 3, 4, 5], memory=memory)
    first.extend([6, 7, 8])
    second = drafter([1, 2, 30, 4, 5, 6], memory=memory)
    memory.cells.copy_prior[:] = 0.9
    assert first_path(second) == (7, 8)
    assert Origin.BRANCH not in second.draft(3, 3).origins


def test_what_an_earlier_request_held_only_in_the_common_start_is_in_the_context_once() -> None:
    memory = Memory(table_of({}))
    drafter([1, 2, 3, 4, 5], memory=memory).extend([6])
    second = drafter([1, 2, 3, 4, 5, 1, 2], memory=memory)
    assert first_path(second)[:1] == (3,)
    assert len(memory.earlier) == len([1, 2, 3, 4, 5, 6]) + 1


def test_the_table_and_what_was_learned_outlive_a_request() -> None:
    memory = Memory(AdjacencyTable(k=2))
    first = drafter(REPEATED, memory=memory)
    first.learn(first.draft(1, 9), Acceptance((), bonus_token=99))
    memory.table.harvest([50], [51], np.array([[52]]), np.array([[0.9]], np.float32))
    second = drafter([50, 51], memory=memory)
    assert paths(second.draft(1, 9)) == [(52,)]
    assert memory.cells.copy_coarse[:, 1].sum() == 1
    assert not Memory().cells.copy_coarse.any()


def test_a_place_of_the_workspace_is_copied() -> None:
    made = drafter([5, 6, *range(20, 32)])
    made.store = store_of([*range(20, 40)])
    tree = made.draft(4, 4)
    assert tree.token_ids == (31, 32, 33, 34, 35)
    assert set(tree.origins[1:]) == {Origin.SPINE}


def test_a_place_that_the_cursor_cuts_otherwise_is_copied_over_its_bridge() -> None:
    made = drafter([5, 6, *range(20, 31), 70])
    made.bridge([[*range(20, 31), 70, 71, 33, 34]])
    assert made.draft(3, 3).token_ids == (70, 71, 33, 34)
