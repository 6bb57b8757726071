"""How often each token follows each pair of tokens, exactly, in a sorted array. Compiled.

A `Counts` may hold negative numbers: as a difference it says what an edit took away. Sums of differences
equal a count of the whole text, whatever the order of the edits.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from goose_lsp.compiled import kernel
from goose_lsp.draft.recall import NO_TOKEN

_BITS = 21  # of a token id in a key
# A pair that so many different tokens follow tells nothing about the next one.
MAX_DISTINCT = 2048
# Successors told apart for one pair.
MAX_COUNTED = 8


class Counts(NamedTuple):
    """Distinct (previous, current, next) as previous << 42 | current << 21 | next, ascending; none counts 0."""

    keys: npt.NDArray[np.int64]  # [M]
    counts: npt.NDArray[np.int32]  # [M]


class Counted(NamedTuple):
    """The most frequent successors of a pair, most frequent first."""

    tokens: npt.NDArray[np.int32]  # [MAX_COUNTED]
    counts: npt.NDArray[np.int32]
    total: npt.NDArray[np.int64]  # [1]: occurrences of the pair with any successor


def empty_counts() -> Counts:
    return Counts(np.zeros(0, np.int64), np.zeros(0, np.int32))


def new_counted() -> Counted:
    return Counted(
        np.zeros(MAX_COUNTED, np.int32), np.zeros(MAX_COUNTED, np.int32), np.zeros(1, np.int64)
    )


def build_counts(tokens: Any) -> Counts:
    """Count every three consecutive tokens of a text; NO_TOKEN separates."""
    keys = _keys(np.ascontiguousarray(tokens, np.int32))
    keys.sort()
    return _aggregated(keys)


def add_counts(one: Counts, other: Counts, sign: int = 1) -> Counts:
    """one + sign · other."""
    n = len(one.keys) + len(other.keys)
    sums = Counts(np.empty(n, np.int64), np.empty(n, np.int32))
    n = _add(one, other, sign, sums)
    return Counts(sums.keys[:n].copy(), sums.counts[:n].copy())


def successors(counts: Counts) -> npt.NDArray[np.int64]:
    """[M]: the token that follows, of every key."""
    return counts.keys & ((1 << _BITS) - 1)


@kernel
def _keys(tokens: Any) -> Any:
    keys = np.empty(max(len(tokens) - 2, 0), np.int64)
    n = 0
    for i in range(2, len(tokens)):
        previous, current, following = tokens[i - 2], tokens[i - 1], tokens[i]
        if min(previous, current, following) > NO_TOKEN:
            keys[n] = np.int64(previous) << 2 * _BITS | np.int64(current) << _BITS | following
            n += 1
    return keys[:n]


@kernel
def _aggregated(keys: Any) -> Counts:
    n_distinct = 0
    for i in range(len(keys)):
        if i == 0 or keys[i] != keys[i - 1]:
            n_distinct += 1
    distinct, counts = np.empty(n_distinct, np.int64), np.zeros(n_distinct, np.int32)
    n = -1
    for i in range(len(keys)):
        if i == 0 or keys[i] != keys[i - 1]:
            n += 1
            distinct[n] = keys[i]
        counts[n] += 1
    return Counts(distinct, counts)


@kernel
def _add(one: Counts, other: Counts, sign: int, sums: Counts) -> int:
    """Merge; returns how many keys are left whose counts do not cancel."""
    i, j, n = 0, 0, 0
    while i < len(one.keys) or j < len(other.keys):
        is_one = j == len(other.keys) or (i < len(one.keys) and one.keys[i] <= other.keys[j])
        is_other = i == len(one.keys) or (j < len(other.keys) and other.keys[j] <= one.keys[i])
        key = one.keys[i] if is_one else other.keys[j]
        count = 0
        if is_one:
            count += one.counts[i]
            i += 1
        if is_other:
            count += sign * other.counts[j]
            j += 1
        if count != 0:
            sums.keys[n], sums.counts[n] = key, count
            n += 1
    return n


@kernel
def count_successors(
    base: Counts, delta: Counts, previous: int, current: int, found: Counted
) -> int:
    """Fill `found` with the pair's most frequent successors under base + delta; returns how many."""
    found.total[0] = 0
    if previous < 0 or current < 0:
        return 0
    first = np.int64(previous) << 2 * _BITS | np.int64(current) << _BITS
    i, i_end = _lower(base.keys, first), _lower(base.keys, first + (1 << _BITS))
    j, j_end = _lower(delta.keys, first), _lower(delta.keys, first + (1 << _BITS))
    if i_end - i > MAX_DISTINCT or j_end - j > MAX_DISTINCT:
        return 0
    n = 0
    while i < i_end or j < j_end:
        is_base = j == j_end or (i < i_end and base.keys[i] <= delta.keys[j])
        is_delta = i == i_end or (j < j_end and delta.keys[j] <= base.keys[i])
        key = base.keys[i] if is_base else delta.keys[j]
        count = 0
        if is_base:
            count += base.counts[i]
            i += 1
        if is_delta:
            count += delta.counts[j]
            j += 1
        if count > 0:
            found.total[0] += count
            n = _rank(found, n, key - first, count)
    return n


@kernel
def _lower(keys: Any, key: int) -> int:
    low, high = 0, len(keys)
    while low < high:
        middle = (low + high) // 2
        if keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def _rank(found: Counted, n: int, token: int, count: int) -> int:
    """Put a successor in its place among the n found; the first met wins among equals."""
    place = n
    while place > 0 and found.counts[place - 1] < count:
        place -= 1
    if place == MAX_COUNTED:
        return n
    for i in range(min(n, MAX_COUNTED - 1), place, -1):
        found.tokens[i], found.counts[i] = found.tokens[i - 1], found.counts[i - 1]
    found.tokens[place], found.counts[place] = token, count
    return min(n + 1, MAX_COUNTED)
