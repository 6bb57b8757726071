from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goose_lsp.draft.recall import NO_TOKEN
from goose_lsp.draft.segment import (
    MAX_VOCABULARY,
    ORDER_DEPTH,
    Segment,
    build_segment,
    find_longest,
    find_range,
    splice,
)
from tests.sources import tail_of

# Few different tokens and repeated runs: long matches, ties and file borders in every example.
RUN = st.lists(st.integers(-1, 3), max_size=12)
TEXT = st.lists(st.tuples(RUN, st.integers(1, 6)), max_size=6).map(
    lambda runs: [token for run, n in runs for token in run * n]
)


def context(tokens: Sequence[int], position: int) -> list[int]:
    """The tokens that end at the position, read backwards up to where the file begins."""
    read: list[int] = []
    for i in range(ORDER_DEPTH):
        token = tokens[position - i] if position >= i else NO_TOKEN
        read.append(token)
        if token == NO_TOKEN:
            break
    return read


def naive_order(tokens: Sequence[int]) -> list[int]:
    real = [p for p, token in enumerate(tokens) if token != NO_TOKEN]
    return sorted(real, key=lambda p: (context(tokens, p), p))


def segment_of(tokens: Sequence[int]) -> Segment:
    return build_segment(np.array(tokens, np.int32))


def ends_with(tokens: Sequence[int], position: int, tail: Sequence[int]) -> bool:
    return position + 1 >= len(tail) and list(
        tokens[position + 1 - len(tail) : position + 1]
    ) == list(tail)


@given(TEXT)
def test_positions_are_sorted_by_what_ends_there(tokens: list[int]) -> None:
    assert segment_of(tokens).order.tolist() == naive_order(tokens)


def test_runs_longer_than_any_small_sort_are_sorted_too() -> None:
    rng = np.random.default_rng(5)
    tokens = rng.integers(-1, 2, 4000).tolist() + [1] * 300 + [0, 1] * 300
    assert segment_of(tokens).order.tolist() == naive_order(tokens)


@given(TEXT, TEXT, st.data())
def test_an_edit_gives_what_building_anew_gives(
    tokens: list[int], new: list[int], data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(tokens)))
    n_removed = data.draw(st.integers(0, len(tokens) - start))
    edited = splice(segment_of(tokens), start, n_removed, new)
    assert edited.tokens.tolist() == [*tokens[:start], *new, *tokens[start + n_removed :]]
    assert edited.order.tolist() == naive_order(edited.tokens.tolist())


@given(TEXT, st.lists(st.integers(0, 3), min_size=1, max_size=ORDER_DEPTH))
def test_a_range_holds_the_places_that_end_like_the_tail(
    tokens: list[int], tail: list[int]
) -> None:
    segment = segment_of(tokens)
    low, high = find_range(segment, *tail_of(tail))
    expected = [p for p in range(len(tokens)) if ends_with(tokens, p, tail)]
    assert sorted(segment.order[low:high].tolist()) == expected


@given(TEXT, st.lists(st.integers(0, 3), min_size=1, max_size=2 * ORDER_DEPTH))
def test_the_longest_match_is_the_longest_there_is(tokens: list[int], tail: list[int]) -> None:
    segment = segment_of(tokens)
    length, low, high = find_longest(segment, *tail_of(tail))
    lengths = [
        n
        for n in range(1, min(len(tail), ORDER_DEPTH) + 1)
        if any(ends_with(tokens, p, tail[-n:]) for p in range(len(tokens)))
    ]
    assert length == max(lengths, default=0)
    if length:
        assert (low, high) == find_range(segment, *tail_of(tail[-length:]))


@pytest.mark.parametrize("token", [-2, MAX_VOCABULARY])
def test_a_token_without_a_place_in_a_key_is_refused(token: int) -> None:
    with pytest.raises(ValueError, match="must lie between"):
        segment_of([1, token])
