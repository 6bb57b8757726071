"""The context store: where in the workspace the last tokens stand, and what follows there. Compiled.

A view is immutable: a base, built from the files on disk and mapped from there, and a delta of the files that
have changed since, open documents first of all. A file of the base that has changed is dead: it weighs 0.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from goose_lsp.compiled import kernel
from goose_lsp.draft.counts import Counts, empty_counts
from goose_lsp.draft.recall import MAX_FOLLOWERS, MAX_MATCH_LEN, NO_TOKEN, Followers
from goose_lsp.draft.segment import (
    ORDER_DEPTH,
    Segment,
    empty_segment,
    find_longest,
    find_range,
    match_len,
)

# A single token says nothing that the tables do not say better.
MIN_MATCH_LEN = 2
# Occurrences looked at for one query in either half, spread evenly over all that match.
MAX_LOOKED_AT = 32
# Places read for one match length when positions are asked for.
MAX_SCANNED = 4096
# How much an occurrence in a file counts when occurrences disagree; 0: the file is not looked at.
DEAD, FAR, NEAR, NEWEST = 0, 1, 4, 16


class Library(NamedTuple):
    """Files in one segment: file f is tokens[starts[f] : starts[f + 1] - 1], then comes NO_TOKEN."""

    segment: Segment
    starts: npt.NDArray[np.int32]  # [F + 1]
    weights: npt.NDArray[np.uint8]  # [F]
    counts: Counts  # of the base: of all its files; of the delta: what must be added to that


class StoreView(NamedTuple):
    base: Library
    delta: Library
    # [low, high) of the delta: where the cursor is, whose continuation is what the user is replacing.
    cursor: npt.NDArray[np.int32]  # [2]


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A place that ends like a context: tokens[position] follows the match."""

    is_delta: bool
    position: int
    match_len: int


def empty_library() -> Library:
    return Library(empty_segment(), np.zeros(1, np.int32), np.zeros(0, np.uint8), empty_counts())


def empty_view() -> StoreView:
    return StoreView(empty_library(), empty_library(), np.zeros(2, np.int32))


def occurrences(view: StoreView, tail: Any, n_tail: int, max_n: int) -> list[Occurrence]:
    """Where the longest suffixes of tail[:n_tail] occur with a follower, longest first, the delta before the base."""
    tail = np.ascontiguousarray(tail, np.int32)
    positions, lengths = np.zeros((2, max_n), np.int32), np.zeros((2, max_n), np.int32)
    found: list[Occurrence] = []
    for row, library in enumerate((view.delta, view.base)):
        n = _places(library, view.cursor, row == 0, tail[:n_tail], positions[row], lengths[row])
        found += [
            Occurrence(row == 0, int(positions[row, i]), int(lengths[row, i])) for i in range(n)
        ]
    return sorted(found, key=lambda o: (-o.match_len, not o.is_delta))[:max_n]


@kernel
def find_in_store(view: StoreView, tail: Any, n_tail: int, found: Followers, score: Any) -> int:
    """Distinct followers of the longest suffixes of tail[:n_tail]; returns how many, the best first.

    `score` [MAX_FOLLOWERS] is scratch. The longest match wins, then the weight of the files.
    """
    n: Any = np.int64(0)
    n = _collect(view.delta, view.cursor, True, tail, n_tail, found, score, n)
    n = _collect(view.base, view.cursor, False, tail, n_tail, found, score, n)
    best = 0
    for i in range(1, n):
        longer = found.match_lens[i] - found.match_lens[best]
        if longer > 0 or (longer == 0 and score[i] > score[best]):
            best = i
    for column in found:
        value = column[best]
        for i in range(best, 0, -1):
            column[i] = column[i - 1]
        column[0] = value
    return n


@kernel
def _collect(
    library: Library,
    cursor: Any,
    is_delta: bool,
    tail: Any,
    n_tail: int,
    found: Followers,
    score: Any,
    n: int,
) -> int:
    """Add the followers of the longest match that has any."""
    tokens, order = library.segment.tokens, library.segment.order
    length, low, high = find_longest(library.segment, tail, n_tail)
    while length >= MIN_MATCH_LEN:
        step = max((high - low) / MAX_LOOKED_AT, 1.0)
        n_before, place = n, float(low)
        while int(place) < high:
            position = order[int(place)]
            weight = _weight(library, cursor, is_delta, position)
            if weight > 0:
                longest = length
                if length == ORDER_DEPTH:
                    longest = match_len(tokens, position, tail, n_tail, MAX_MATCH_LEN)
                n = _add(found, score, n, tokens[position + 1], longest, weight)
            place += step
        if n > n_before:
            break
        length -= 1
        low, high = find_range(library.segment, tail[n_tail - length : n_tail], length)
    return n


@kernel
def _weight(library: Library, cursor: Any, is_delta: bool, position: int) -> int:
    """Of the file the position lies in; 0 also where nothing follows or the cursor stands."""
    tokens = library.segment.tokens
    if position + 1 >= len(tokens) or tokens[position + 1] == NO_TOKEN:
        return 0
    if is_delta and cursor[0] <= position < cursor[1]:
        return 0
    low, high = 0, len(library.starts) - 1
    while high - low > 1:
        middle = (low + high) // 2
        if library.starts[middle] <= position:
            low = middle
        else:
            high = middle
    weight: Any = np.int64(library.weights[low])
    return weight


@kernel
def _add(found: Followers, score: Any, n: int, token: int, length: int, weight: int) -> int:
    place = 0
    while place < n and found.tokens[place] != token:
        place += 1
    if place == n:
        if n == MAX_FOLLOWERS:
            return n
        found.tokens[n], found.match_lens[n], found.counts[n] = token, length, 0
        score[n] = 0
        n += 1
    if length > found.match_lens[place]:
        found.match_lens[place], score[place] = length, 0
    if length == found.match_lens[place]:
        score[place] += weight
    found.counts[place] += 1
    return n


@kernel
def _places(
    library: Library, cursor: Any, is_delta: bool, tail: Any, positions: Any, lengths: Any
) -> int:
    """Positions behind the longest matches, those of longer matches first; returns how many."""
    order = library.segment.order
    length, low, high = find_longest(library.segment, tail, len(tail))
    n, inner_low, inner_high = 0, low, low
    while length >= 1 and n < len(positions):
        for place in range(low, min(high, low + MAX_SCANNED)):
            if inner_low <= place < inner_high or n == len(positions):
                continue
            if _weight(library, cursor, is_delta, order[place]) > 0:
                positions[n], lengths[n] = order[place] + 1, length
                n += 1
        inner_low, inner_high = low, high
        length -= 1
        if length >= 1:
            low, high = find_range(library.segment, tail[len(tail) - length :], length)
    return n
