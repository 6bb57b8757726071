"""Where in a long text did the last tokens occur before, and what followed? Compiled.

A `Text` is a growing array of tokens; every position is linked to the position before that follows the same
pair of tokens, so that occurrences are found from the most recent back. Only positions that already have
a token are linked, so a text's own end never matches itself.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from goose_lsp.compiled import kernel

# A longer match adds nothing: beyond it the acceptance curve is flat.
MAX_MATCH_LEN = 32
# Occurrences compared for one query, most recent first; bounds the cost in repetitive text.
MAX_OCCURRENCES = 32
# Different followers told apart for one query.
MAX_FOLLOWERS = 8
NOWHERE = -1
NO_TOKEN = -1  # stands where a text begins; never a token's id
_HASH_FACTOR = -7046029254386353131  # 2^64 / golden ratio, as a signed number


class Text(NamedTuple):
    """Tokens and where each pair was seen last. Arrays are owned by one thread."""

    tokens: npt.NDArray[np.int32]  # [capacity]
    earlier: npt.NDArray[np.int32]  # [capacity]: the position before that follows the same pair
    pairs: npt.NDArray[np.int64]  # [slots], open addressing; -1: free
    latest: npt.NDArray[np.int32]  # [slots]: the last position that follows the pair
    after: npt.NDArray[np.int32]  # [vocabulary bucket]: the last position that follows a token
    size: npt.NDArray[np.int64]  # [1]: tokens held


class Followers(NamedTuple):
    """What a query found: distinct followers, the longest and most recent match first."""

    tokens: npt.NDArray[np.int32]  # [MAX_FOLLOWERS]
    match_lens: npt.NDArray[np.int32]  # of the follower's longest occurrence
    counts: npt.NDArray[np.int32]  # occurrences looked at


def new_text(capacity: int) -> Text:
    """Room for `capacity` tokens; the table of pairs is at most half full."""
    n_slots = 1 << max(4, (2 * capacity - 1).bit_length())
    return Text(
        np.zeros(capacity, np.int32),
        np.full(capacity, NOWHERE, np.int32),
        np.full(n_slots, -1, np.int64),
        np.full(n_slots, NOWHERE, np.int32),
        np.full(1 << 16, NOWHERE, np.int32),
        np.zeros(1, np.int64),
    )


def new_followers() -> Followers:
    return Followers(*(np.zeros(MAX_FOLLOWERS, np.int32) for _ in range(3)))


@kernel
def slot_of(keys: Any, key: int) -> int:
    """Where a key lies in an open-addressing table, or the free place where it would."""
    mask = len(keys) - 1
    slot = ((key * _HASH_FACTOR) >> 29) & mask
    while keys[slot] != -1 and keys[slot] != key:
        slot = (slot + 1) & mask
    return slot


@kernel
def append(text: Text, token_ids: Any) -> None:
    """Add tokens at the end; there must be room. NO_TOKEN separates texts: nothing matches across it."""
    for token in token_ids:
        n = text.size[0]
        text.tokens[n] = token
        if token != NO_TOKEN and n >= 1 and text.tokens[n - 1] != NO_TOKEN:
            last = np.int64(text.tokens[n - 1])
            text.after[last & (len(text.after) - 1)] = n
            if n >= 2 and text.tokens[n - 2] != NO_TOKEN:
                key = np.int64(text.tokens[n - 2]) << 32 | last
                slot = slot_of(text.pairs, key)
                text.pairs[slot] = key
                text.earlier[n] = text.latest[slot]
                text.latest[slot] = n
        text.size[0] = n + 1


@kernel
def find(text: Text, tail: Any, n_tail: int, found: Followers) -> int:
    """Distinct followers of the longest suffixes of tail[:n_tail]; returns how many.

    The first one follows the longest match, the most recent among equals; later ones lie in the order
    their latest occurrences were met.
    """
    if n_tail == 0:
        return 0
    last = np.int64(tail[n_tail - 1])
    if n_tail >= 2:
        slot = slot_of(text.pairs, np.int64(tail[n_tail - 2]) << 32 | last)
        if text.latest[slot] != NOWHERE:
            return _gather(text, text.latest[slot], tail, n_tail, found)
    position = text.after[last & (len(text.after) - 1)]
    if position == NOWHERE or text.tokens[position - 1] != last:
        return 0
    found.tokens[0], found.match_lens[0], found.counts[0] = text.tokens[position], 1, 1
    return 1


@kernel
def _gather(text: Text, position: int, tail: Any, n_tail: int, found: Followers) -> int:
    n, best = 0, 0
    for _ in range(MAX_OCCURRENCES):
        if position == NOWHERE:
            break
        match_len, follower = _match_len(text.tokens, position, tail, n_tail), text.tokens[position]
        place = 0
        while place < n and found.tokens[place] != follower:
            place += 1
        if place == n:
            place = n if n < MAX_FOLLOWERS else _weakest(found)
            if n < MAX_FOLLOWERS or match_len > found.match_lens[place]:
                found.tokens[place], found.match_lens[place], found.counts[place] = (
                    follower,
                    match_len,
                    0,
                )
                n = max(n, place + 1)
            else:
                place = n
        if place < n:
            found.counts[place] += 1
            found.match_lens[place] = max(found.match_lens[place], match_len)
            if found.match_lens[place] > found.match_lens[best]:
                best = place
        position = text.earlier[position]
    _bring_forward(found, best)
    return n


@kernel
def _match_len(tokens: Any, position: int, tail: Any, n_tail: int) -> int:
    """How many tokens before `position` equal the last ones of the tail; two are known to."""
    limit = min(MAX_MATCH_LEN, position, n_tail)
    n = 2
    while n < limit and tokens[position - 1 - n] == tail[n_tail - 1 - n]:
        n += 1
    return n


@kernel
def _weakest(found: Followers) -> int:
    """The follower of the shortest match, the last met among equals."""
    weakest = 0
    for i in range(1, MAX_FOLLOWERS):
        if found.match_lens[i] <= found.match_lens[weakest]:
            weakest = i
    return weakest


@kernel
def _bring_forward(found: Followers, best: int) -> None:
    """The best follower to the front, the others in their order behind it."""
    for column in found:
        value = column[best]
        for i in range(best, 0, -1):
            column[i] = column[i - 1]
        column[0] = value


class Recall:
    """One text that grows; when full, the older half is forgotten."""

    def __init__(self, capacity: int = 1 << 12, max_capacity: int = 1 << 17) -> None:
        self._max_capacity = max_capacity
        self.text = new_text(min(capacity, max_capacity))

    def __len__(self) -> int:
        return int(self.text.size[0])

    def extend(self, token_ids: Any) -> None:
        """Add tokens; more than fit beside the newer half are cut at their start."""
        added = np.asarray(token_ids, np.int32)
        limit = self._max_capacity // 2 if len(self) else self._max_capacity
        if len(added) > limit:
            added = np.concatenate(([NO_TOKEN], added[len(added) - limit + 1 :]), dtype=np.int32)
        if len(self) + len(added) > len(self.text.tokens):
            self._move(len(added))
        append(self.text, added)

    def _move(self, n_added: int) -> None:
        """Into a larger text, or into one of the same size without the oldest tokens."""
        kept = self.text.tokens[: len(self)].copy()
        capacity = min(2 * (len(kept) + n_added), self._max_capacity)
        if len(kept) + n_added > capacity:
            kept = kept[len(kept) - capacity // 2 :]
        self.text = new_text(capacity)
        append(self.text, kept)
