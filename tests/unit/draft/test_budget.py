import pytest
from hypothesis import given
from hypothesis import strategies as st

from goose_lsp.draft.budget import StepCost, best_n_nodes


def test_a_flat_cost_spends_everything_and_a_steep_one_nothing() -> None:
    values = [0.9, 0.8, 0.5, 0.1]
    assert best_n_nodes(values, [1.0] * 5) == 4
    assert best_n_nodes(values, [1.0, 3.0, 5.0, 7.0, 9.0]) == 0


def test_a_bump_in_the_cost_is_jumped_over() -> None:
    assert best_n_nodes([0.9, 0.9, 0.9], [1.0, 2.0, 2.0, 1.2]) == 3


@given(
    st.lists(st.floats(0.01, 1.0), max_size=8),
    st.lists(st.floats(0.5, 50.0), min_size=9, max_size=9),
)
def test_no_other_budget_commits_more_per_millisecond(
    values: list[float], costs: list[float]
) -> None:
    def rate(k: int) -> float:
        return (1.0 + sum(values[:k])) / costs[k]

    best = best_n_nodes(values, costs)
    assert rate(best) >= max(map(rate, range(len(values) + 1))) * (1 - 1e-9)


def test_padding_to_a_cheaper_size_makes_the_curve_monotone() -> None:
    cost = StepCost((1, 2, 4, 8), (50.0, 90.0, 75.0, 80.0))
    assert cost.monotone() == [50.0, 75.0, 75.0, 80.0]
    assert cost.at(3) == 75.0
    assert cost.at(6) == 77.5
    assert cost.at(16) > 80.0
    assert cost.table(3) == [50.0, 75.0, 75.0, 75.0]


@pytest.mark.parametrize(
    ("sizes", "times"), [((), ()), ((2, 4), (1.0, 2.0)), ((1, 2), (1.0,)), ((1, 2), (1.0, 0.0))]
)
def test_a_curve_that_cannot_be_is_refused(
    sizes: tuple[int, ...], times: tuple[float, ...]
) -> None:
    with pytest.raises(ValueError, match=r"size|sizes"):
        StepCost(sizes, times)
