"""Why the tree is anisotropic: the statements about spine trees, checked on a model of two kinds of edges.

A copy edge continues the copied text and is right with probability p_s; beside it the table's rank j is
right when the copy is wrong, (1 - p_s) · q_j; where nothing is copied, rank j is right with q_j. A tree's
value is what it adds to the expected accepted length: the sum over its nodes of the products along
their paths.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import accumulate, islice
from math import floor, log

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

COPY = 0  # an edge's name; rank j of the table is j
Path = tuple[int, ...]


@dataclass(frozen=True)
class Model:
    """Edges' probabilities, alike at every node of a kind."""

    p_s: float  # of a copy; 0: nothing is copied
    ranks: tuple[float, ...]  # q_1 ≥ q_2 ≥ …
    max_spine: int = 1000

    def edges(self, path: Path) -> list[tuple[float, int]]:
        """(probability, edge) of a node's children, best first."""
        if self.p_s == 0.0 or any(path) or len(path) >= self.max_spine:
            return [(q, j) for j, q in enumerate(self.ranks, start=1)]
        beside = [((1 - self.p_s) * q, j) for j, q in enumerate(self.ranks, start=1)]
        return sorted([(self.p_s, COPY), *beside], key=lambda edge: -edge[0])


@dataclass(frozen=True)
class Tree:
    """Nodes below the root in the order they were added, with their values."""

    paths: tuple[Path, ...]
    values: tuple[float, ...]

    def sums(self) -> list[float]:
        """What the first 0, 1, 2, … nodes are worth."""
        return list(accumulate(self.values, initial=0.0))


def heap_tree(model: Model, n: int, allows: Callable[[int], bool] = lambda _: True) -> Tree:
    """The n nodes most likely to be reached over edges of the allowed names, the shallower of equals first."""
    heap: list[tuple[float, int, Path]] = []
    nodes: list[tuple[Path, float]] = []

    def offer(path: Path, value: float) -> None:
        for p, edge in model.edges(path):
            if allows(edge):
                heappush(heap, (-value * p, len(path), (*path, edge)))

    offer((), 1.0)
    while heap and len(nodes) < n:
        value, _, path = heappop(heap)
        nodes.append((path, -value))
        offer(path, -value)
    return Tree(tuple(path for path, _ in nodes), tuple(value for _, value in nodes))


def balanced_tree(
    model: Model, n: int, k: int, allows: Callable[[int], bool] = lambda _: True
) -> Tree:
    """Level by level, every node with its k best children, until n nodes are there."""
    nodes = list(islice(_levels(model, k, allows), n))
    return Tree(tuple(path for path, _ in nodes), tuple(value for _, value in nodes))


def _levels(model: Model, k: int, allows: Callable[[int], bool]) -> Iterator[tuple[Path, float]]:
    level: list[tuple[Path, float]] = [((), 1.0)]
    while level:
        level = [
            ((*path, edge), value * p)
            for path, value in level
            for p, edge in [it for it in model.edges(path) if allows(it[1])][:k]
        ]
        yield from level


def best_value(model: Model, n: int) -> float:
    """The most that any rooted subtree of n nodes is worth, found by building all of them."""
    trees: set[frozenset[Path]] = {frozenset()}
    for _ in range(n):
        trees = {
            tree | {(*path, edge)}
            for tree in trees
            for path in [(), *tree]
            for _, edge in model.edges(path)
            if (*path, edge) not in tree
        }
    return max(sum(value_of(model, path) for path in tree) for tree in trees)


def value_of(model: Model, path: Path) -> float:
    value = 1.0
    for i, edge in enumerate(path):
        value *= {name: p for p, name in model.edges(path[:i])}[edge]
    return value


def is_copy(edge: int) -> bool:
    return edge == COPY


def is_ranked(edge: int) -> bool:
    return edge != COPY


def shares_of(weights: list[float]) -> tuple[float, ...]:
    """Ranks' probabilities, best first, together at most 0.95."""
    scale = 0.95 / max(1.0, sum(weights))
    return tuple(sorted((weight * scale for weight in weights), reverse=True))


ranks = st.lists(st.floats(0.01, 1.0), min_size=1, max_size=8).map(shares_of)
probabilities = st.floats(0.02, 0.98)
# What the design note measures trees with.
MEASURED = (0.35, 0.12, 0.07, 0.045, 0.03, 0.022)


@settings(deadline=None, max_examples=60)
@given(probabilities, ranks.map(lambda them: them[:2]), st.integers(1, 4), st.integers(0, 2))
def test_no_tree_is_worth_more_than_the_most_likely_nodes(
    p_s: float, ranks: tuple[float, ...], n: int, max_spine: int
) -> None:
    model = Model(p_s, ranks, max_spine)
    assert heap_tree(model, n).sums()[n] == pytest.approx(best_value(model, n))


@settings(deadline=None)
@given(probabilities, ranks)
def test_the_most_likely_nodes_form_a_tree_whose_worth_rises_ever_more_slowly(
    p_s: float, ranks: tuple[float, ...]
) -> None:
    tree = heap_tree(Model(p_s, ranks), 40)
    for i, path in enumerate(tree.paths):
        assert path[:-1] in ((), *tree.paths[:i])
        assert tree.values[i] == pytest.approx(value_of(Model(p_s, ranks), path))
    assert list(tree.values) == sorted(tree.values, reverse=True)


@settings(deadline=None)
@given(probabilities, ranks, st.integers(1, 40))
def test_a_reliable_copy_source_beats_every_balanced_tree_of_the_table(
    p_s: float, ranks: tuple[float, ...], n: int
) -> None:
    """Anisotropy: strictly, for every budget and width, once p_s > p_t = q_1."""
    assume(p_s > ranks[0] + 1e-6)
    anisotropic = heap_tree(Model(p_s, ranks), n).sums()[n]
    for k in range(1, 6):
        table_alone = balanced_tree(Model(p_s, ranks), n, k, is_ranked)
        assert anisotropic > sum(table_alone.values)


@settings(deadline=None)
@given(probabilities, ranks, st.integers(1, 40), st.integers(1, 6))
def test_the_same_candidates_spent_evenly_are_never_worth_more(
    p_s: float, ranks: tuple[float, ...], n: int, k: int
) -> None:
    model = Model(p_s, ranks)
    assert heap_tree(model, n).sums()[n] >= sum(balanced_tree(model, n, k).values) - 1e-12


@pytest.mark.parametrize("p_s", [0.7, 0.8, 0.9, 0.95])
@pytest.mark.parametrize("k", [2, 3, 4])
def test_the_same_candidates_spent_evenly_are_worth_less_where_copies_are_reliable(
    p_s: float, k: int
) -> None:
    model = Model(p_s, MEASURED)
    sums = heap_tree(model, 60).sums()
    for n in range(2, 61):
        assert sums[n] > sum(balanced_tree(model, n, k).values) + 1e-9


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("n", [1, 3, 14, 39])
def test_equally_likely_children_leave_nothing_to_gain(k: int, n: int) -> None:
    """Without anisotropy the balanced tree is optimal."""
    model = Model(0.0, (0.9 / k,) * k)
    assert heap_tree(model, n).sums()[n] == pytest.approx(sum(balanced_tree(model, n, k).values))


@settings(deadline=None)
@given(probabilities, ranks, st.integers(0, 40), st.integers(0, 20))
def test_both_sources_together_are_never_worth_less_than_the_better_alone(
    p_s: float, ranks: tuple[float, ...], n: int, max_spine: int
) -> None:
    """Non-degradation, for every budget."""
    model = Model(p_s, ranks, max_spine)
    together = heap_tree(model, n).sums()[n]
    copies, table = heap_tree(model, n, is_copy), heap_tree(model, n, is_ranked)
    assert together >= max(sum(copies.values), sum(table.values)) - 1e-12


@settings(deadline=None)
@given(ranks, st.integers(1, 40))
def test_without_a_copy_the_tree_is_the_tables(ranks: tuple[float, ...], n: int) -> None:
    nothing_copied = heap_tree(Model(0.5, ranks, max_spine=0), n)
    assert nothing_copied == heap_tree(Model(0.0, ranks), n, is_ranked)


@settings(deadline=None)
@given(st.floats(0.05, 0.98), st.integers(1, 30))
def test_a_copy_surer_than_all_else_together_with_its_continuations_is_a_pure_chain(
    p_s: float, n: int
) -> None:
    q = 0.9 * p_s**n  # every node of the chain is likelier than the best branch
    tree = heap_tree(Model(p_s, (q,)), n)
    assert tree.paths == tuple((COPY,) * depth for depth in range(1, n + 1))
    assert sum(tree.values) == pytest.approx(p_s * (1 - p_s**n) / (1 - p_s))


def widths(tree: Tree) -> list[int]:
    """How many branches leave the spine at every depth, the root's first."""
    spine = [(), *(path for path in tree.paths if not any(path))]
    return [sum(path[:-1] == node and path[-1] != COPY for path in tree.paths) for node in spine]


@settings(deadline=None, max_examples=200)
@given(probabilities, ranks, st.integers(1, 60))
def test_branches_never_grow_wider_down_the_spine(
    p_s: float, ranks: tuple[float, ...], n: int
) -> None:
    found = widths(heap_tree(Model(p_s, ranks), n))
    assert found == sorted(found, reverse=True)


@pytest.mark.parametrize("p_s", [0.6, 0.8, 0.93])
@pytest.mark.parametrize("n", [8, 31, 60])
def test_widths_of_geometric_ranks_fall_along_a_line(p_s: float, n: int) -> None:
    """Rank j leaves depth d when p_s^d · (1 - p_s) · q · b^(j - 1) reaches the last node's value."""
    q, b = 0.37, 0.71
    model = Model(p_s, tuple(q * b**j for j in range(40)))
    tree = heap_tree(model, n)
    threshold = tree.values[-1]
    line = [
        1 + floor((log(threshold / ((1 - p_s) * q)) - d * log(p_s)) / log(b) + 1e-9)
        for d in range(len(widths(tree)))
    ]
    assert widths(tree) == [max(0, width) for width in line]


@pytest.mark.parametrize("p_s", [0.6, 0.8, 0.93])
@pytest.mark.parametrize("n", [8, 31, 60])
def test_the_spine_is_as_deep_as_the_last_nodes_value_allows(p_s: float, n: int) -> None:
    tree = heap_tree(Model(p_s, MEASURED), n)
    depth = floor(log(tree.values[-1]) / log(p_s) + 1e-9)
    assert max(len(path) for path in tree.paths if not any(path)) == depth


# Tokens a pass by nodes in all, as the design note has them; 20 tokens can be copied.
@pytest.mark.parametrize(
    ("p_s", "n", "expected"), [(0.7, 8, 3.16), (0.8, 8, 4.16), (0.9, 8, 5.70), (0.95, 8, 6.73)]
)
def test_the_design_notes_numbers_come_out(p_s: float, n: int, expected: float) -> None:
    model = Model(p_s, MEASURED, max_spine=20)
    assert 1 + heap_tree(model, n - 1).sums()[n - 1] == pytest.approx(expected, abs=0.005)
