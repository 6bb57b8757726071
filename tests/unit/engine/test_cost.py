from collections.abc import Callable

from goose_lsp.engine.cost import SIZES, measure_step_cost
from tests.tiny import tiny_target


def clock_of(durations_s: list[float]) -> Callable[[], float]:
    """A clock that shows a start of zero and then, in turn, each duration."""
    shown = [time for duration in durations_s for time in (0.0, duration)]
    return iter(shown).__next__


def test_the_fastest_of_the_repeats_counts_at_every_size() -> None:
    clock = clock_of([0.009, 0.002, 0.001, 0.008])
    cost = measure_step_cost(tiny_target(), (1, 2), repeats=2, clock=clock)
    assert cost.sizes == (1, 2)
    assert cost.times_ms == (1.0, 2.0)


def test_measuring_leaves_an_empty_cache() -> None:
    target = tiny_target()
    cost = measure_step_cost(target, repeats=1)
    assert target.n_cached == 0
    assert cost.sizes == SIZES
    assert min(cost.times_ms) > 0.0


def test_a_cache_as_small_as_the_largest_draft_can_be_measured() -> None:
    assert measure_step_cost(tiny_target(max_tokens=SIZES[-1]), repeats=1).sizes == SIZES
