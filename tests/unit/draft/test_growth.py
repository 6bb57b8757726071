from collections.abc import Collection, Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goose_lsp.draft.candidates import Cells, Sources, gather, new_cells, new_scratch, score
from goose_lsp.draft.growth import MIN_VALUE, grow, learn, new_grown
from tests.sources import Rows, gathered, sources_of, table_of, tail_of

MAX_NODES = 48


class Node(NamedTuple):
    path: tuple[int, ...]  # tokens below the root
    value: float
    is_copied: bool


def grown(
    sources: Sources,
    max_nodes: int = MAX_NODES,
    max_depth: int = 64,
    cells: Cells | None = None,
    finals: Collection[int] = (),
) -> list[Node]:
    """The tree in the order it grew, root left out."""
    columns, limits = new_grown(MAX_NODES), (max_nodes, max_depth)
    ends = np.array(sorted(finals), np.int64)
    n = grow(sources, cells or new_cells(), ends, limits, columns, new_scratch())
    paths: list[tuple[int, ...]] = [()]
    for node in range(1, n):
        parent = int(columns.parents[node])
        assert 0 <= parent < node
        paths.append((*paths[parent], int(columns.tokens[node])))
        assert columns.depths[node] == len(paths[node])
    assert columns.tokens[0] == sources.context.tokens[sources.context.size[0] - 1]
    rows = zip(paths, columns.values.tolist()[:n], columns.is_copied.tolist()[:n], strict=True)
    return [Node(*row) for row in rows][1:]


def all_nodes(
    sources: Sources, context: Sequence[int], max_depth: int, finals: Collection[int] = ()
) -> list[Node]:
    """Every node worth a row, found by walking everywhere; parents first."""
    cells, nodes = new_cells(), [Node((), 1.0, False)]
    for path, value, _ in nodes:  # grows
        if len(path) < max_depth and not {*path} & {*finals}:
            for found in gathered(sources, cells, [*context, *path]):
                child = Node((*path, found.token), value * found.probability, found.is_copied)
                if child.value >= MIN_VALUE:
                    nodes.append(child)
    return nodes[1:]


def best_sums(nodes: Sequence[Node], max_nodes: int) -> list[float]:
    """Entry n: the largest sum of values of a rooted subtree with n nodes below the root.

    The knapsack over a tree: below every node, the best of k nodes for all k, from the leaves up. It
    knows nothing of values falling along a path.
    """
    best: dict[tuple[int, ...], list[float]] = {(): [0.0]}
    for path, _, _ in nodes:
        best[path] = [0.0]
    for path, value, _ in reversed(nodes):
        with_node = [0.0, *(value + below for below in best[path])][: max_nodes + 1]
        best[path[:-1]] = joined(best[path[:-1]], with_node)[: max_nodes + 1]
    return best[()]


def joined(a: Sequence[float], b: Sequence[float]) -> list[float]:
    sums = [0.0] * (len(a) + len(b) - 1)
    for i, x in enumerate(a):
        for k, y in enumerate(b):
            sums[i + k] = max(sums[i + k], x + y)
    return sums


tokens = st.integers(0, 3)
texts = st.lists(tokens, min_size=1, max_size=24)
tables = st.dictionaries(
    st.lists(tokens, min_size=1, max_size=3).map(tuple),
    st.dictionaries(st.integers(0, 4), st.floats(0.05, 1.0), min_size=1, max_size=3),
    max_size=8,
)


@settings(deadline=None, max_examples=60)
@given(texts, texts, tables)
def test_no_rooted_subtree_of_any_size_is_worth_more(
    context: list[int], earlier: list[int], rows: Rows
) -> None:
    sources = sources_of(context, earlier, table_of(rows))
    tree = grown(sources, max_nodes=12, max_depth=3)
    best = best_sums(all_nodes(sources, context, max_depth=3), 12)
    assert len(tree) == len(best) - 1
    assert list(accumulate((node.value for node in tree), initial=0.0)) == pytest.approx(best)


@settings(deadline=None, max_examples=60)
@given(texts, texts, tables, st.sets(tokens, max_size=2))
def test_what_grows_is_what_walking_everywhere_finds_most_likely(
    context: list[int], earlier: list[int], rows: Rows, finals: set[int]
) -> None:
    sources = sources_of(context, earlier, table_of(rows))
    tree = grown(sources, max_depth=3, finals=finals)
    nodes = all_nodes(sources, context, 3, finals)
    values = sorted((node.value for node in nodes), reverse=True)[:MAX_NODES]
    assert [node.value for node in tree] == pytest.approx(values)
    assert set(tree) <= set(nodes)
    assert len({node.path for node in tree}) == len(tree)


@settings(deadline=None, max_examples=60)
@given(texts, texts, tables, st.integers(0, 20))
def test_a_smaller_tree_is_the_beginning_of_a_larger_one(
    context: list[int], earlier: list[int], rows: Rows, n: int
) -> None:
    sources = sources_of(context, earlier, table_of(rows))
    assert grown(sources, max_nodes=n) == grown(sources, max_nodes=n + 1)[:n]


@settings(deadline=None, max_examples=60)
@given(texts, texts, tables)
def test_values_never_grow_neither_along_a_path_nor_in_the_order_of_growth(
    context: list[int], earlier: list[int], rows: Rows
) -> None:
    tree = grown(sources_of(context, earlier, table_of(rows)))
    of_path = {(): 1.0} | {node.path: node.value for node in tree}
    for node in tree:
        assert MIN_VALUE <= node.value <= of_path[node.path[:-1]]
    values = [node.value for node in tree]
    assert values == sorted(values, reverse=True)


@settings(deadline=None, max_examples=60)
@given(texts, tables, st.integers(0, 6), st.integers(0, 30), st.sets(tokens, max_size=2))
def test_limits_and_final_tokens_are_kept(
    context: list[int], rows: Rows, depth: int, n: int, finals: set[int]
) -> None:
    tree = grown(sources_of(context, table=table_of(rows)), n, depth, finals=finals)
    assert len(tree) <= n
    for node in tree:
        assert len(node.path) <= depth
        assert not {*node.path[:-1]} & finals


# What a long match gives when nothing else speaks.
REPEATED = [*range(10, 40), 1, *range(10, 30)]


def test_a_long_copy_alone_is_a_chain() -> None:
    tree = grown(sources_of(REPEATED), max_nodes=10)
    assert tree[-1].path == tuple(range(30, 40))
    assert all(node.is_copied for node in tree)


def test_no_nodes_and_no_depth_leave_the_root_alone_and_one_node_is_the_best() -> None:
    sources = sources_of(REPEATED)
    assert grown(sources, max_nodes=0) == grown(sources, max_depth=0) == []
    assert [node.path for node in grown(sources, max_nodes=1)] == [(30,)]
    assert [node.path for node in grown(sources, max_depth=1)] == [(30,)]


def test_nothing_is_drafted_behind_a_final_token_but_the_token_is() -> None:
    tree = grown(sources_of(REPEATED), finals=[33])
    assert tree[-1].path == (30, 31, 32, 33)


def test_a_table_that_knows_every_row_grows_as_wide_as_there_is_room() -> None:
    shares = dict.fromkeys(range(16), 1 / 16)
    table = table_of({(token,): shares for token in range(16)}, k=16)
    cells = new_cells()
    # Believed as written: every token of a row as likely as the next.
    cells.table_prior[:] = 1 / 16
    tree = grown(sources_of([3], table=table), cells=cells)
    assert [node.path for node in tree[:16]] == [(token,) for token in range(16)]
    assert len(tree) == MAX_NODES
    assert {len(node.path) for node in tree[16:]} == {2}


def test_among_equals_the_node_that_was_there_first_is_continued_first() -> None:
    table, cells = table_of({(token,): {1: 0.5, 2: 0.5} for token in (1, 2)}), new_cells()
    cells.table_prior[:] = 0.5
    tree = grown(sources_of([1], table=table, uses_copies=False), max_nodes=6, cells=cells)
    assert [node.path for node in tree] == [(1,), (2,), (1, 1), (1, 2), (2, 1), (2, 2)]


def test_a_buffer_used_before_leaves_no_traces() -> None:
    columns, cells, scratch = new_grown(MAX_NODES), new_cells(), new_scratch()
    ends = np.array([], np.int64)
    crowded = sources_of([1, 2, 3, 1, 2], [1, 2, 4], table_of({(1, 2): {5: 0.5, 6: 0.4}}))
    sparse, quiet = sources_of([1, 2, 3, 1, 2]), sources_of([7, 8])
    for sources in (crowded, sparse, quiet, crowded):
        n = grow(sources, cells, ends, (8, 9), columns, scratch)
        fresh = grown(sources, 8, 9)
        assert columns.values[1:n].tolist() == [node.value for node in fresh]
        assert bool(fresh) == (sources is not quiet)


@settings(deadline=None, max_examples=40)
@given(texts, texts, tables, st.lists(st.integers(0, 4), min_size=1, max_size=40))
def test_every_visited_node_is_scored_as_it_stood(
    context: list[int], earlier: list[int], rows: Rows, truth: list[int]
) -> None:
    sources = sources_of(context, earlier, table_of(rows))
    learned, expected, scratch = new_cells(), new_cells(), new_scratch()
    learn(sources, learned, np.array(truth, np.int32), new_grown(4), scratch)
    for i, token in enumerate(truth):
        n = gather(sources, expected, *tail_of([*context, *truth[:i]]), scratch)
        score(expected, scratch.found, n, token)
    for column, other in zip(learned, expected, strict=True):
        np.testing.assert_array_equal(column, other)
