"""Draws against the law they should follow, worked out the slow way."""

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goose_lsp.engine import sample
from goose_lsp.engine.sample import Sampling, candidates, draw_token, gumbel, splitmix64
from tests.laws import check_law

N = 4000
# Twenty tokens, two of them alike, one that cannot be.
ROW = np.array(
    [
        1.5,
        -2,
        0.25,
        3,
        0,
        -1,
        2,
        2,
        -math.inf,
        0.5,
        1,
        -0.5,
        -3,
        2.5,
        0.75,
        -4,
        1.25,
        -1.5,
        0.1,
        2.2,
    ],
    np.float32,
)
PROCESSED = [
    Sampling(1.0),
    Sampling(0.5),
    Sampling(2.5),
    Sampling(1.0, top_k=5),
    Sampling(1.0, top_p=0.7),
    Sampling(1.3, top_k=12, top_p=0.9),
]
INF = math.inf


def row(*logits: float) -> npt.NDArray[np.float32]:
    return np.array(logits, np.float32)


def kept_ids(logits: npt.NDArray[np.float32], sampling: Sampling) -> list[int]:
    return [int(token) for token in candidates(logits, sampling)[0]]


def processed(logits: Sequence[float], sampling: Sampling) -> dict[int, float]:
    """Token → probability, one token after the other: the oracle."""
    best_first = sorted(range(len(logits)), key=lambda token: (-logits[token], token))
    kept = best_first[: sampling.top_k or None]
    top = logits[kept[0]]
    weights = {token: math.exp((logits[token] - top) / sampling.temperature) for token in kept}
    total = math.fsum(weights.values())
    nucleus: dict[int, float] = {}
    for token in kept:
        nucleus[token] = weights[token]
        if math.fsum(nucleus.values()) >= sampling.top_p * total and sampling.top_p < 1:
            break
    rest = math.fsum(nucleus.values())
    return {token: weight / rest for token, weight in nucleus.items()}


@pytest.mark.parametrize("sampling", PROCESSED)
def test_draws_over_positions_follow_the_processed_probabilities(sampling: Sampling) -> None:
    law = processed(ROW.tolist(), sampling)
    check_law([draw_token(ROW, position, sampling) for position in range(N)], law)


@pytest.mark.parametrize("position", [0, 1, 1000])
def test_draws_at_one_position_follow_them_over_seeds(position: int) -> None:
    law = processed(ROW.tolist(), Sampling(1.0))
    check_law([draw_token(ROW, position, Sampling(1.0, seed=seed)) for seed in range(N)], law)


@pytest.mark.parametrize("lag", [1, 2, 7])
def test_draws_at_different_positions_are_independent(lag: int) -> None:
    drawn = [draw_token(ROW[:4], position, Sampling(1.0)) for position in range(N + lag)]
    law = processed(ROW[:4].tolist(), Sampling(1.0))
    pairs = {(a, b): p * q for a, p in law.items() for b, q in law.items()}
    check_law(list(zip(drawn[:N], drawn[lag:], strict=True)), pairs)


def test_draws_of_neighbouring_seeds_are_independent() -> None:
    drawn = [draw_token(ROW[:4], 5, Sampling(1.0, seed=seed)) for seed in range(N + 1)]
    law = processed(ROW[:4].tolist(), Sampling(1.0))
    pairs = {(a, b): p * q for a, p in law.items() for b, q in law.items()}
    check_law(list(pairwise(drawn)), pairs)


def test_the_same_seed_and_position_draw_the_same_token() -> None:
    sampling = Sampling(1.0, seed=3)
    first = [draw_token(ROW, position, sampling) for position in range(50)]
    again = [draw_token(ROW.copy(), position, sampling) for position in reversed(range(50))]
    assert again[::-1] == first


rows = st.lists(
    st.floats(-120, 120, width=32) | st.sampled_from([0.0, 1.0, -INF]), min_size=1, max_size=30
).filter(lambda logits: max(logits) > -INF)
samplings = st.builds(
    Sampling,
    st.floats(0.01, 20),
    st.integers(0, 35),
    st.sampled_from([0.0, 0.013, 0.37, 0.61, 0.93, 0.9999, 1.0]),
    st.integers(0, 2**64 - 1),
)


@settings(max_examples=300, deadline=None)
@given(rows, samplings, st.integers(0, 10_000))
def test_a_draw_is_the_largest_sum_of_log_probability_and_noise(
    logits: list[float], sampling: Sampling, position: int
) -> None:
    law = processed(logits, sampling)
    noise = gumbel(sampling.seed, position, np.arange(len(logits)))
    sums = {token: math.log(p) + noise[token] for token, p in law.items() if p > 0}
    assert draw_token(row(*logits), position, sampling) == max(sums, key=lambda token: sums[token])


@settings(max_examples=300, deadline=None)
@given(rows, samplings)
def test_candidates_are_those_the_oracle_keeps(logits: list[float], sampling: Sampling) -> None:
    assert kept_ids(row(*logits), sampling) == sorted(processed(logits, sampling))


@given(st.integers(0, 2**64 - 1), st.integers(0, 10**6), st.sets(st.integers(0, 199), min_size=1))
@settings(deadline=None)
def test_a_tokens_noise_does_not_depend_on_who_else_is_drawn_from(
    seed: int, position: int, chosen: set[int]
) -> None:
    token_ids = np.array(sorted(chosen))
    everyone = gumbel(seed, position, np.arange(200))
    assert np.array_equal(gumbel(seed, position, token_ids), everyone[token_ids])


def test_hashes_are_the_published_outputs_of_splitmix64() -> None:
    numbers = np.arange(3, dtype=np.uint64)
    outputs = splitmix64(np.array([0], np.uint64), numbers).tolist()
    assert outputs == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]


def test_noise_has_the_mean_and_variance_of_a_gumbel() -> None:
    noise = gumbel(0, 0, np.arange(200_000))
    assert noise.mean() == pytest.approx(0.5772, abs=0.01)
    assert noise.var() == pytest.approx(math.pi**2 / 6, abs=0.03)


def test_noise_is_finite_for_any_bits_and_no_wider_than_what_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ends = np.array([0, 2**64 - 1], np.uint64)
    monkeypatch.setattr(sample, "splitmix64", lambda _start, _number: ends)
    lowest, highest = gumbel(0, 0, np.arange(2))
    assert np.isfinite([lowest, highest]).all()
    assert highest - lowest < sample._NOISE_RANGE


@pytest.mark.parametrize(("top_k", "kept"), [(1, [3]), (2, [1, 3]), (3, [1, 2, 3]), (9, range(5))])
def test_of_equal_logits_at_the_edge_of_top_k_the_lower_ids_stay(
    top_k: int, kept: Sequence[int]
) -> None:
    assert kept_ids(row(0, 2, 2, 5, 2), Sampling(1.0, top_k=top_k)) == list(kept)


@pytest.mark.parametrize(
    ("top_p", "kept"),
    [(0.0, [1]), (1e-12, [1]), (0.49, [1]), (0.51, [1, 3]), (0.76, [0, 1, 3]), (0.88, range(4))],
)
def test_top_p_keeps_the_fewest_that_hold_it_and_at_least_one(
    top_p: float, kept: Sequence[int]
) -> None:
    """Probabilities 1/8, 4/8, 1/8, 2/8."""
    logits = np.log(np.array([1, 4, 1, 2])).astype(np.float32)
    assert kept_ids(logits, Sampling(1.0, top_p=top_p)) == list(kept)


def test_logits_that_only_differ_before_scaling_are_still_told_apart() -> None:
    """Less 0.125 or over 1e300 the first equals the second."""
    assert kept_ids(row(-1e-28, 0, 0.125), Sampling(1.0, top_p=0.37)) == [1, 2]
    assert kept_ids(row(0.9, 1, 5), Sampling(1e300, top_k=2)) == [1, 2]


def test_top_p_counts_what_top_k_left() -> None:
    """Of 4/8, 2/8, 1/8, 1/8 the first two are left, of which the first holds two thirds."""
    logits = np.log(np.array([4, 2, 1, 1])).astype(np.float32)
    assert kept_ids(logits, Sampling(1.0, top_p=0.6)) == [0, 1]
    assert kept_ids(logits, Sampling(1.0, top_k=2, top_p=0.6)) == [0]


def test_top_p_counts_at_the_temperature() -> None:
    logits = np.log(np.array([4, 2, 1, 1])).astype(np.float32)
    assert kept_ids(logits, Sampling(0.1, top_p=0.9)) == [0]
    assert kept_ids(logits, Sampling(100.0, top_p=0.9)) == [0, 1, 2, 3]


@pytest.mark.parametrize("sampling", [Sampling(1.0), Sampling(1e300, 4), Sampling(1.0, 0, 0.999)])
def test_what_cannot_be_is_never_drawn(sampling: Sampling) -> None:
    logits = row(-INF, 0, -INF, -INF, 1)
    assert {draw_token(logits, position, sampling) for position in range(200)} == {1, 4}
    assert draw_token(row(-INF, -INF, 3), 0, sampling) == 2


def test_a_tiny_temperature_takes_the_best_and_draws_among_equals() -> None:
    coldest = Sampling(5e-324)
    assert {draw_token(row(1, 3, 2), position, coldest) for position in range(100)} == {1}
    tied = [draw_token(row(3e38, 1, 3e38, -3e38), position, coldest) for position in range(N)]
    check_law(tied, {0: 0.5, 2: 0.5})


def test_a_huge_temperature_makes_all_that_can_be_equally_likely() -> None:
    drawn = [draw_token(ROW, position, Sampling(1e308)) for position in range(N)]
    check_law(drawn, {token: 1 / 19 for token in range(20) if token != 8})


@pytest.mark.parametrize("sampling", [Sampling(), Sampling(seed=9, top_k=3, top_p=0.5)])
def test_without_a_temperature_the_first_of_the_best_is_taken(sampling: Sampling) -> None:
    assert {draw_token(row(1, 7, 7, 0), position, sampling) for position in range(20)} == {1}


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"temperature": -0.1}, "temperature is -0.1; it must be finite and at least 0"),
        ({"temperature": math.nan}, "temperature is nan"),
        ({"temperature": INF}, "temperature is inf"),
        ({"top_k": -1}, "top_k is -1; it must be at least 0"),
        ({"top_p": 1.01}, "top_p is 1.01; it must lie between 0 and 1"),
        ({"top_p": math.nan}, "top_p is nan"),
        ({"seed": -1}, "seed is -1"),
        ({"seed": 2**64}, "seed is 18446744073709551616; it must lie between 0 and"),
    ],
)
def test_values_that_mean_nothing_are_refused_by_name(values: dict[str, float], told: str) -> None:
    with pytest.raises(ValueError, match=f"^{told}") as caught:
        Sampling(**values)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)
