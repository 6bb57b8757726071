from collections.abc import Iterator
from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from goose_lsp.draft.spine import Edge, Growth, grow, spine_first
from goose_lsp.draft.tree import Origin


class Table:
    """A proposer that looks its edges up by path: {path: [(token, probability, origin)]}."""

    def __init__(self, edges: dict[tuple[int, ...], list[tuple[int, float, Origin]]]) -> None:
        self._edges = edges

    def edges(self, path: list[int], state: object) -> Iterator[Edge]:
        del state
        found = self._edges.get(tuple(path), [])
        return iter(Edge(*edge) for edge in sorted(found, key=lambda edge: -edge[1]))


def never(token: int) -> bool:
    del token
    return False


@st.composite
def small_tables(draw: st.DrawFn) -> Table:
    """Up to two continuations everywhere, three deep, with probabilities that sum to at most one."""
    edges: dict[tuple[int, ...], list[tuple[int, float, Origin]]] = {}
    paths: list[tuple[int, ...]] = [()]
    for path in paths:
        if len(path) == 3:
            break
        first = draw(st.floats(0.05, 0.95))
        second = draw(st.floats(0.01, 1.0)) * (1 - first)
        edges[path] = [(1, first, Origin.SPINE), (2, second, Origin.BRANCH)]
        paths += [(*path, 1), (*path, 2)]
    return Table(edges)


def values_of_all_nodes(table: Table) -> dict[tuple[int, ...], float]:
    values: dict[tuple[int, ...], float] = {(): 1.0}
    for path in list(table._edges):
        for token, probability, _ in table._edges[path]:
            values[(*path, token)] = values[path] * probability
    return values


def best_expected(values: dict[tuple[int, ...], float], n: int) -> float:
    """The largest expected accepted length of any tree of n nodes, by trying all of them."""
    nodes = [path for path in values if path]
    best = 0.0
    for chosen in combinations(nodes, n):
        held = set(chosen)
        if all(len(path) == 1 or path[:-1] in held for path in chosen):
            best = max(best, sum(values[path] for path in chosen))
    return best


@settings(max_examples=30, deadline=None)
@given(small_tables(), st.integers(1, 4))
def test_no_tree_of_the_same_size_expects_more(table: Table, n: int) -> None:
    growth = grow(0, table, n, max_depth=3, is_final=never)
    values = {path: v for path, v in values_of_all_nodes(table).items() if v >= 0.003}
    expected = sum(growth.values[1:])
    assert abs(expected - best_expected(values, min(n, len(values) - 1))) < 1e-9


@settings(max_examples=30, deadline=None)
@given(small_tables(), st.integers(0, 14))
def test_laying_the_spine_first_keeps_the_tree(table: Table, n: int) -> None:
    growth = grow(0, table, 14, max_depth=3, is_final=never)
    tree = spine_first(growth, n)
    smaller = {
        tuple(growth.path_tokens(node))
        for node in range(min(n, 14) + 1)
        if node < len(growth.values)
    }
    laid = {tuple(tree.token_ids[i] for i in tree.path(node)) for node in range(len(tree))}
    assert laid == smaller


def test_the_spine_lies_directly_after_the_root_when_branches_grew_first() -> None:
    growth = Growth([0])
    growth.add(0, Edge(7, 0.5, Origin.BRANCH), 0.5)
    first = growth.add(0, Edge(1, 0.4, Origin.SPINE), 0.4)
    growth.add(first, Edge(2, 0.9, Origin.SPINE), 0.36)
    tree = spine_first(growth, 3)
    assert tree.token_ids == (0, 1, 2, 7)
    assert tree.parents == (-1, 0, 1, 0)
    assert tree.origins[1:] == (Origin.SPINE, Origin.SPINE, Origin.BRANCH)


def test_a_reliable_copy_becomes_a_chain_and_a_poor_one_a_bush() -> None:
    def tree_depth(p_copy: float) -> int:
        edges = {
            (1,) * depth: [
                (1, p_copy, Origin.SPINE),
                (2, 0.2, Origin.BRANCH),
                (3, 0.1, Origin.BRANCH),
            ]
            for depth in range(12)
        }
        return max(grow(0, Table(edges), 6, max_depth=12, is_final=never).depths)

    assert tree_depth(0.95) == 6
    assert tree_depth(0.3) < 4


def test_nothing_is_drafted_after_a_final_token_or_below_the_limit() -> None:
    edges = {(1,) * depth: [(1, 0.9, Origin.SPINE)] for depth in range(9)}
    assert len(grow(0, Table(edges), 8, max_depth=3, is_final=never).token_ids) == 4
    assert (
        len(grow(0, Table(edges), 8, max_depth=8, is_final=lambda token: token == 1).token_ids) == 2
    )
    assert len(grow(0, Table(edges), 0, max_depth=8, is_final=never).token_ids) == 1
    assert len(grow(0, Table(edges), 8, max_depth=0, is_final=never).token_ids) == 1
