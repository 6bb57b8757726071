from itertools import combinations, product
from math import prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goose_lsp.draft.accept import Acceptance
from goose_lsp.draft.baselines.sequoia import MAX_DEPTH, MOVED, Sequoia, SequoiaMemory, ShapePlan
from goose_lsp.draft.baselines.template import Template, likely_template
from goose_lsp.draft.tree import chain
from tests.drafts import never, paths, table_of

some_rates = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=3)


def value_of(template: Template, rates: list[float]) -> float:
    values = [1.0]
    for parent, rank in template:
        values.append(values[parent] * rates[rank])
    return sum(values)


def best_of_all(rates: list[float], n_nodes: int, max_depth: int) -> float:
    """The largest value of any tree of rank paths, by trying all sets of at most n_nodes - 1."""
    everything = [
        path
        for depth in range(1, max_depth + 1)
        for path in product(range(len(rates)), repeat=depth)
    ]
    best = 1.0
    for n in range(1, n_nodes):
        for chosen in combinations(everything, n):
            held = {(), *chosen}
            if all(path[:-1] in held for path in chosen):
                value = 1.0 + sum(prod(rates[rank] for rank in path) for path in chosen)
                best = max(best, value)
    return best


@settings(max_examples=40, deadline=None)
@given(some_rates, st.integers(1, 5), st.integers(0, 3))
def test_no_tree_within_both_limits_is_worth_more(
    rates: list[float], n_nodes: int, max_depth: int
) -> None:
    n_paths = sum(len(rates) ** depth for depth in range(1, max_depth + 1))
    if n_paths > 14:
        max_depth = 2
    plan = ShapePlan(rates, 6, 3)
    assert plan.value(n_nodes, max_depth) == pytest.approx(best_of_all(rates, n_nodes, max_depth))


@settings(max_examples=40, deadline=None)
@given(some_rates, st.integers(1, 24), st.integers(0, 5))
def test_the_shape_is_worth_what_the_plan_says_and_keeps_both_limits(
    rates: list[float], n_nodes: int, max_depth: int
) -> None:
    plan = ShapePlan(rates, 24, 5)
    template = plan.template(n_nodes, max_depth)
    assert value_of(template, rates) == pytest.approx(plan.value(n_nodes, max_depth))
    assert len(template) < n_nodes
    assert len(set(template)) == len(template)
    depths = [0]
    for parent, _ in template:
        depths.append(depths[parent] + 1)
    assert max(depths) <= max_depth


@settings(max_examples=20, deadline=None)
@given(st.lists(st.floats(0.01, 0.9), min_size=2, max_size=8), st.integers(2, 40))
def test_a_large_shape_is_worth_as_much_as_the_most_likely_paths(
    rates: list[float], n_nodes: int
) -> None:
    """A second oracle for sizes no one enumerates: the heap's choice under the same depth limit."""
    widths = [len(rates) ** depth for depth in range(1, 7)]
    heap = likely_template(rates, widths, n_nodes - 1)
    plan = ShapePlan(rates, n_nodes, 6)
    assert plan.value(n_nodes, 6) == pytest.approx(value_of(heap, rates))


def test_a_sure_rank_gives_a_chain_and_equal_ranks_a_bush() -> None:
    assert ShapePlan([0.9, 0.05], 5, 9).template(5, 9) == [(0, 0), (1, 0), (2, 0), (3, 0)]
    assert ShapePlan([0.3, 0.3, 0.3], 4, 9).template(4, 9) == [(0, 0), (0, 1), (0, 2)]


def test_the_plan_stays_until_a_rate_moves_or_more_nodes_are_wanted() -> None:
    memory = SequoiaMemory()
    memory.template(9, MAX_DEPTH, 2)
    first = memory.plan
    memory.template(5, 3, 2)
    memory.rates.observe([1, 2], 1)  # the first rate was .53: one hit moves it by .05
    moved = abs(memory.rates.rates(2)[0] - 0.53)
    assert moved > MOVED
    assert memory.plan is first
    memory.template(5, 3, 2)
    second = memory.plan
    assert second is not first
    memory.template(10, MAX_DEPTH, 2)
    assert memory.plan is not second


def test_the_shape_is_filled_with_pairs_before_single_tokens() -> None:
    policy = Sequoia(table_of({(9, 1): [2, 3], 2: [4], 1: [8]}), SequoiaMemory(), never, 4)
    policy.extend([9, 1])
    drafted = paths(policy.draft(9, 9))
    assert {(2,), (2, 4)} <= set(drafted)
    assert (8,) not in drafted


def test_learned_rates_turn_the_tree() -> None:
    memory = SequoiaMemory()
    policy = Sequoia(table_of({1: [2, 3]}), memory, never, 1)
    policy.extend([1])
    assert paths(policy.draft(9, 9)) == [(2,)]
    for _ in range(30):
        policy.learn(chain(1, []), Acceptance((), 3))
    assert paths(policy.draft(9, 9)) == [(3,)]
