import json
from collections.abc import Callable
from pathlib import Path

import pytest

from goose_lsp.draft.budget import StepCost
from goose_lsp.engine import cost
from goose_lsp.engine.cost import (
    N_LIVE,
    SIZES,
    LiveCost,
    PriceBook,
    Prices,
    best_threads,
    chunk_for,
    measure,
)
from tests.tiny import tiny_target

BASE = Prices(StepCost((1, 8, 64), (10.0, 20.0, 100.0)), 1.0)


def clock_of(durations_s: list[float]) -> Callable[[], float]:
    """A clock that shows 0 when a measurement begins and, after each round, that none of it took long."""
    shown = [0.0]
    for duration in durations_s:
        shown += [0.0, duration]
    return iter(shown).__next__


def test_the_fastest_of_the_repeats_counts_at_every_size() -> None:
    first, second, prefill = [0.009, 0.002], [0.001, 0.008], [0.064]
    shown = [0.0, 0.0, first[0], 0.0, first[1], 0.0, 0.0, second[0], 0.0, second[1], 0.0]
    clock = iter([*shown, 0.0, *prefill]).__next__
    prices = measure(tiny_target(), (1, 2), repeats=2, clock=clock)
    assert prices.step.sizes == (1, 2)
    assert prices.step.times_ms == (1.0, 2.0)
    assert prices.prefill_token_ms == pytest.approx(1.0)


def test_measuring_stops_when_its_time_is_over() -> None:
    ticks = iter(range(10**6))
    prices = measure(tiny_target(), (1, 2), repeats=10**9, clock=lambda: float(next(ticks)))
    assert prices.step.times_ms == (1000.0, 1000.0)


def test_measuring_leaves_an_empty_cache() -> None:
    target = tiny_target()
    prices = measure(target, repeats=1)
    assert target.n_cached == 0
    assert prices.step.sizes == SIZES
    assert min(prices.step.times_ms) > 0.0


@pytest.mark.parametrize(
    ("max_tokens", "sizes"), [(2, (1,)), (5, (1, 2)), (64, (1, 2, 4, 8, 16, 32))]
)
def test_a_small_context_is_measured_as_far_as_it_goes(
    max_tokens: int, sizes: tuple[int, ...]
) -> None:
    assert measure(tiny_target(max_tokens=max_tokens), repeats=1).step.sizes == sizes


def test_prices_are_kept_and_reused_while_their_shape_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured = [BASE]
    monkeypatch.setattr(cost, "measure", lambda *_, **__: measured[-1])
    monkeypatch.setattr(cost, "sizes_for", lambda *_: (1, 8, 64))
    target = tiny_target(max_tokens=256)
    book = PriceBook(tmp_path / "prices.json")
    assert book.price("here", target) == BASE
    # Everything twice as slow: the shape is the same, so what was kept stands, at the new pace.
    measured.append(Prices(StepCost((1, 8, 64), (20.0, 40.0, 200.0)), 2.0))
    assert book.price("here", target) == BASE.scaled(2.0)
    assert book._read()["here"] == BASE
    assert book.price("elsewhere", target) == measured[-1]
    # Eight nodes have become dear: measured anew, and that is kept.
    measured.append(Prices(StepCost((1, 8, 64), (10.0, 60.0, 100.0)), 1.0))
    assert book.price("here", target) == measured[-1]
    assert PriceBook(tmp_path / "prices.json").price("here", target) == measured[-1]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"here": 3}',
        '{"here": {"sizes": [1], "times_ms": [NaN], "prefill_token_ms": 1}}',
    ],
)
def test_a_damaged_book_means_measuring_anew(tmp_path: Path, text: str) -> None:
    file = tmp_path / "prices.json"
    file.write_text(text)
    prices = PriceBook(file).price("here", tiny_target())
    assert min(prices.step.times_ms) > 0.0


def test_live_steps_correct_the_size_they_were_run_at() -> None:
    live = LiveCost(BASE)
    assert live.slowdown() == 1.0
    for _ in range(N_LIVE):
        live.observe(1, 0.010)
        live.observe(8, 0.060)
    assert live.step_cost().at(1) == pytest.approx(10.0)
    assert live.step_cost().at(8) == pytest.approx(60.0)
    # Nobody ran 64 nodes: they move with what is known.
    assert live.step_cost().at(64) == pytest.approx(200.0)


def test_a_few_odd_steps_change_no_price_but_are_noticed_as_slowness() -> None:
    live = LiveCost(BASE)
    for _ in range(8):
        live.observe(1, 0.050)
    assert live.step_cost() == BASE.step
    assert live.slowdown() == pytest.approx(5.0)


@pytest.mark.parametrize(("token_ms", "chunk"), [(0.9, 64), (2.0, 50), (10.0, 10), (60.0, 8)])
def test_a_slow_model_reads_prompts_in_smaller_pieces(token_ms: float, chunk: int) -> None:
    assert chunk_for(token_ms) == chunk


@pytest.mark.parametrize(
    ("times_s", "best"), [([0.010, 0.006, 0.005], 3), ([0.010, 0.0051, 0.005], 2), ([1, 9, 9], 1)]
)
def test_as_many_threads_are_used_as_gain_something(
    times_s: list[float], best: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tiny_target()
    used: list[int] = []
    monkeypatch.setattr(target.forward, "use_threads", used.append)
    shown = [value for time in times_s for value in (0.0, time)]
    assert best_threads(target, 3, iter(shown).__next__, repeats=1) == best
    assert used == [1, 2, 3, best]


@pytest.mark.parametrize(
    "change",
    [
        {"sizes": [1.0, 8.0]},
        {"sizes": [1, 10**9]},
        {"times_ms": [-1.0, 2.0]},
        {"times_ms": [1e-310, 2.0]},
        {"prefill_token_ms": 1e-310},
        {"prefill_token_ms": "fast"},
    ],
)
def test_an_entry_that_is_no_price_is_left_out_and_others_stay(
    tmp_path: Path, change: dict[str, object]
) -> None:
    sound = {"sizes": [1, 8], "times_ms": [1.0, 2.0], "prefill_token_ms": 0.5}
    file = tmp_path / "prices.json"
    file.write_text(json.dumps({"bad": sound | change, "good": sound}))
    assert set(PriceBook(file)._read()) == {"good"}


def test_prices_of_a_smaller_context_are_measured_anew(tmp_path: Path) -> None:
    book = PriceBook(tmp_path / "prices.json")
    assert book.price("here", tiny_target(max_tokens=5)).step.sizes == (1, 2)
    assert book.price("here", tiny_target(max_tokens=64)).step.sizes == (1, 2, 4, 8, 16, 32)
