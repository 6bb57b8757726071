"""A text of many files whose every place is found by what precedes it: an array of suffixes, reversed. Compiled.

`order` lists the positions of a text sorted by the tokens that end there, read backwards. All places that share
their last m tokens stand side by side, so the longest match of a context, every occurrence of it and how often
it occurs come from binary searches, at 8 bytes a token. Immutable: an edit makes new arrays in one pass.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from goose_lsp.compiled import kernel
from goose_lsp.draft.recall import NO_TOKEN

# Tokens that decide the order of two positions; equal ones stand in order of position. Longer matches
# are compared where they are used.
ORDER_DEPTH = 16
# Three tokens make one sort key of 63 bits.
MAX_VOCABULARY = (1 << 21) - 1
_DEPTHS = (
    0,
    1,
    4,
    7,
    10,
    13,
)  # of the first token of every key: one by one counted, then three at a time
_SMALL = 24  # entries that insertion sorts faster
_STACK = 128  # enough for quick sort, which puts the larger part aside


class Segment(NamedTuple):
    """Token ids of files, NO_TOKEN after each, and the positions of all real tokens in order."""

    tokens: npt.NDArray[np.int32]  # [N]
    order: npt.NDArray[np.int32]  # [positions p with tokens[p] != NO_TOKEN]


def build_segment(tokens: Any) -> Segment:
    """Sort all positions; raises `ValueError` for a token id that has no place in a sort key."""
    tokens = np.ascontiguousarray(tokens, np.int32)
    if len(tokens) and not NO_TOKEN <= tokens.min() <= tokens.max() < MAX_VOCABULARY:
        raise ValueError(f"token ids must lie between {NO_TOKEN} and {MAX_VOCABULARY - 1}")
    return Segment(tokens, _sorted_positions(tokens))


def empty_segment() -> Segment:
    return Segment(np.zeros(0, np.int32), np.zeros(0, np.int32))


def splice(segment: Segment, start: int, n_removed: int, new: Any) -> Segment:
    """The segment with tokens[start : start + n_removed] replaced by `new`, as if built from scratch.

    One pass over the order for the places that stay, a binary search for each that is new or whose
    context has changed; sorted anew where most of it would be.
    """
    new = np.ascontiguousarray(new, np.int32)
    old, end = segment.tokens, start + n_removed
    tokens = np.concatenate((old[:start], new, old[end:]))
    if 2 * len(new) > len(old):
        return build_segment(tokens)
    changed = np.arange(start, min(start + len(new) + ORDER_DEPTH - 1, len(tokens)))
    changed = changed[tokens[changed] != NO_TOKEN].astype(np.int32)
    order = np.empty(np.count_nonzero(tokens != NO_TOKEN), np.int32)
    kept = np.empty(len(segment.order), np.int32)
    n_kept = _keep(segment.order, start, end, len(new) - n_removed, kept)
    _sort_slice(tokens, changed)
    _merge(tokens, kept[:n_kept], changed, order)
    return Segment(tokens, order)


@kernel
def _sorted_positions(tokens: Any) -> Any:
    order = _counted(tokens)
    n = len(order)
    keys = np.empty(n, np.int64)
    heads = np.zeros(n + 1, np.uint8)  # 1 where a run of positions equal so far begins
    heads[n] = 1
    for i in range(n):
        keys[i] = tokens[order[i]] + 1
    _mark(keys, 0, n, heads)
    for depth in _DEPTHS[1:]:
        low = 0
        while low < n:
            high = low + 1
            while heads[high] == 0:
                high += 1
            if high - low > 1:
                for i in range(low, high):
                    keys[i] = _key(tokens, order[i], depth)
                _sort(keys, order, low, high)
                _mark(keys, low, high, heads)
            low = high
    return order


@kernel
def _counted(tokens: Any) -> Any:
    """Positions sorted by their own token."""
    n_values = 0
    for token in tokens:
        n_values = max(n_values, token + 1)
    starts = np.zeros(n_values + 1, np.int64)
    for token in tokens:
        if token != NO_TOKEN:
            starts[token + 1] += 1
    for value in range(n_values):
        starts[value + 1] += starts[value]
    order = np.empty(starts[n_values], np.int32)
    for position in range(len(tokens)):
        token = tokens[position]
        if token != NO_TOKEN:
            order[starts[token]] = position
            starts[token] += 1
    return order


@kernel
def _key(tokens: Any, position: int, depth: int) -> int:
    """The tokens `depth`, depth + 1 and depth + 2 places before, 0 where the text has ended."""
    key: Any = np.int64(0)
    for i in range(depth, depth + 3):
        # A key is made only where the `depth` tokens before are real.
        token = tokens[position - i] + 1 if position >= i else 0
        if i > depth and key & 0x1FFFFF == 0:
            token = 0
        key = key << 21 | token
    return key


@kernel
def _mark(keys: Any, low: int, high: int, heads: Any) -> None:
    """A run begins wherever the key changes, and is over once the text has ended: positions follow."""
    heads[low] = 1
    for i in range(low + 1, high):
        if keys[i] != keys[i - 1] or keys[i] & 0x1FFFFF == 0:
            heads[i] = 1


@kernel
def _comes_before(key: int, position: int, other_key: int, other: int) -> bool:
    return key < other_key or (key == other_key and position < other)


@kernel
def _sort(keys: Any, order: Any, low: int, high: int) -> None:
    """Quick sort of the pairs (key, position) in [low, high)."""
    lows, highs = np.empty(_STACK, np.int64), np.empty(_STACK, np.int64)
    lows[0], highs[0] = low, high
    depth = 1
    while depth > 0:
        depth -= 1
        low, high = lows[depth], highs[depth]
        while high - low > _SMALL:
            cut = _partition(keys, order, low, high)
            if cut - low > high - cut:
                lows[depth], highs[depth] = low, cut
                low = cut
            else:
                lows[depth], highs[depth] = cut, high
                high = cut
            depth += 1
        _insertion_sort(keys, order, low, high)


@kernel
def _partition(keys: Any, order: Any, low: int, high: int) -> int:
    """Split around the median of three; both parts hold something. All pairs differ."""
    middle = (low + high) // 2
    _order_two(keys, order, low, middle)
    _order_two(keys, order, middle, high - 1)
    _order_two(keys, order, low, middle)
    key, position = keys[middle], order[middle]
    i, j = low, high - 1
    while True:
        while _comes_before(keys[i], order[i], key, position):
            i += 1
        while _comes_before(key, position, keys[j], order[j]):
            j -= 1
        if i >= j:
            return j + 1
        keys[i], keys[j] = keys[j], keys[i]
        order[i], order[j] = order[j], order[i]
        i += 1
        j -= 1


@kernel
def _order_two(keys: Any, order: Any, a: int, b: int) -> None:
    if _comes_before(keys[b], order[b], keys[a], order[a]):
        keys[a], keys[b] = keys[b], keys[a]
        order[a], order[b] = order[b], order[a]


@kernel
def _insertion_sort(keys: Any, order: Any, low: int, high: int) -> None:
    for i in range(low + 1, high):
        key, position = keys[i], order[i]
        j = i
        while j > low and _comes_before(key, position, keys[j - 1], order[j - 1]):
            keys[j], order[j] = keys[j - 1], order[j - 1]
            j -= 1
        keys[j], order[j] = key, position


@kernel
def _compare(tokens: Any, a: int, b: int) -> int:
    """Negative where position `a` stands before `b`; never 0 for two positions."""
    for i in range(ORDER_DEPTH):
        x = tokens[a - i] if a >= i else NO_TOKEN
        y = tokens[b - i] if b >= i else NO_TOKEN
        if x != y:
            return x - y
        if x == NO_TOKEN:
            break
    return a - b


@kernel
def _keep(order: Any, start: int, end: int, shift: int, kept: Any) -> int:
    """Positions whose last ORDER_DEPTH tokens lie outside the change, moved with the text."""
    n = 0
    for position in order:
        if position < start:
            kept[n] = position
            n += 1
        elif position >= end + ORDER_DEPTH - 1:
            kept[n] = position + shift
            n += 1
    return n


@kernel
def _sort_slice(tokens: Any, positions: Any) -> None:
    """Few positions, in order; merge sort."""
    n = len(positions)
    spare = np.empty(n, np.int32)
    width = 1
    while width < n:
        for low in range(0, n, 2 * width):
            middle, high = min(low + width, n), min(low + 2 * width, n)
            i, j = low, middle
            for k in range(low, high):
                if j >= high or (i < middle and _compare(tokens, positions[i], positions[j]) < 0):
                    spare[k] = positions[i]
                    i += 1
                else:
                    spare[k] = positions[j]
                    j += 1
        positions[:] = spare
        width *= 2


@kernel
def _merge(tokens: Any, kept: Any, added: Any, order: Any) -> None:
    """Both are in order; `order` takes all."""
    i, n = 0, 0
    for position in added:
        low, high = i, len(kept)
        while low < high:
            middle = (low + high) // 2
            if _compare(tokens, kept[middle], position) < 0:
                low = middle + 1
            else:
                high = middle
        while i < low:
            order[n] = kept[i]
            i, n = i + 1, n + 1
        order[n] = position
        n += 1
    while i < len(kept):
        order[n] = kept[i]
        i, n = i + 1, n + 1


@kernel
def match_len(tokens: Any, position: int, tail: Any, n_tail: int, limit: int) -> int:
    """How many of the tokens that end at `position` equal the last ones of tail[:n_tail], at most `limit`."""
    n = 0
    while n < limit and n < n_tail and position >= n:
        token = tokens[position - n]
        if token == NO_TOKEN or token != tail[n_tail - 1 - n]:
            break
        n += 1
    return n


@kernel
def _against(tokens: Any, position: int, tail: Any, n_tail: int, n: int) -> int:
    """The sign of the text that ends at `position` against the last n tokens of the tail; 0 for a match."""
    for i in range(n):
        x = tokens[position - i] if position >= i else NO_TOKEN
        y = tail[n_tail - 1 - i]
        if x != y:
            return -1 if x < y else 1
    return 0


@kernel
def _bound(segment: Segment, tail: Any, n_tail: int, n: int, is_upper: bool) -> int:
    """The first place in the order that stands after the last n tokens of the tail, or not before them."""
    tokens, order = segment.tokens, segment.order
    low, high = 0, len(order)
    while low < high:
        middle = (low + high) // 2
        sign = _against(tokens, order[middle], tail, n_tail, n)
        if sign < 0 or (is_upper and sign == 0):
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def find_range(segment: Segment, tail: Any, n_tail: int) -> tuple[int, int]:
    """[low, high) of the order: the positions that end with all of tail[:n_tail], 1 to ORDER_DEPTH tokens."""
    low = _bound(segment, tail, n_tail, n_tail, False)
    return low, _bound(segment, tail, n_tail, n_tail, True)


@kernel
def find_longest(segment: Segment, tail: Any, n_tail: int) -> tuple[int, int, int]:
    """(match length, low, high): the longest suffix of tail[:n_tail] that occurs, and where, up to ORDER_DEPTH."""
    n = min(n_tail, ORDER_DEPTH)
    place = _bound(segment, tail, n_tail, n, False)
    best = 0
    for neighbour in range(max(place - 1, 0), min(place + 1, len(segment.order))):
        position = segment.order[neighbour]
        best = max(best, match_len(segment.tokens, position, tail, n_tail, n))
    if best == 0:
        return 0, 0, 0
    low = _bound(segment, tail, n_tail, best, False)
    return best, low, _bound(segment, tail, n_tail, best, True)
