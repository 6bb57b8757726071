"""Adjacency memory: which tokens the target itself wanted after a few tokens.

Filled from the target's logits at every verified node, accepted or rejected, and at the prompt. Three tiers:
keyed by the last three tokens, by the last two, and by the last alone. Every tier is a fixed table of small
buckets in which the row written longest ago makes room.
"""

import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from goose_lsp.compiled import kernel
from goose_lsp.errors import GooseError

log = logging.getLogger(__name__)

NO_TOKEN = -1  # as an earlier token: unknown
N_TIERS = 3  # tier 0: the token alone; 1: a pair; 2: three tokens
WAYS = 4  # rows of a bucket
# Numbers of numpy's type where kernels pass them on: Python's would compile the callee for every value.
ALONE: Any = np.int64(0)
PAIR: Any = np.int64(1)
TRIPLE: Any = np.int64(2)
UNKNOWN: Any = np.int64(NO_TOKEN)
_FREE = -1
_FACTORS = (-7046029254386353131, 6364136223846793005, 1442695040888963407)
_FORMAT = 1


class Rows(NamedTuple):
    """All tiers; tier t owns rows [starts[t], starts[t + 1])."""

    starts: npt.NDArray[np.int64]  # [N_TIERS + 1], multiples of WAYS · a power of two
    keys: npt.NDArray[np.int64]  # [rows]; -1: free
    stamps: npt.NDArray[np.int64]  # [rows]: when it was written
    token_ids: npt.NDArray[np.int32]  # [rows, k], best first
    probabilities: npt.NDArray[np.float32]  # [rows, k]; 0: column unused
    clock: npt.NDArray[np.int64]  # [1]


@dataclass(frozen=True, slots=True)
class Successors:
    """Likely next tokens, best first, with the target's probabilities when they were stored."""

    token_ids: list[int]
    probabilities: list[float]
    is_pair: bool  # keyed by more than the current token alone


@kernel
def key_of(tier: int, before: int, previous: int, current: int) -> int:
    """A digest of the tokens a tier looks at, never negative; equal keys of different tokens are rare."""
    key: Any = np.int64(current) * _FACTORS[0]
    if tier > 0:
        key = (key ^ (key >> 31)) + np.int64(previous) * _FACTORS[1]
    if tier > 1:
        key = (key ^ (key >> 29)) + np.int64(before) * _FACTORS[2]
    key ^= key >> 32
    return key & 0x7FFFFFFFFFFFFFFF


@kernel
def find_row(rows: Rows, tier: int, before: int, previous: int, current: int) -> int:
    """The row of these tokens in a tier, or -1."""
    key = key_of(tier, before, previous, current)
    first = _bucket(rows, tier, key)
    for row in range(first, first + WAYS):
        if rows.keys[row] == key:
            return row
    return -1


@kernel
def best_row(rows: Rows, before: int, previous: int, current: int) -> tuple[int, int]:
    """(row, tier) of the longest tokens known; (-1, 0) for none."""
    if before != NO_TOKEN and previous != NO_TOKEN:
        row = find_row(rows, TRIPLE, np.int64(before), np.int64(previous), np.int64(current))
        if row >= 0:
            return row, TRIPLE
    if previous != NO_TOKEN:
        row = find_row(rows, PAIR, UNKNOWN, np.int64(previous), np.int64(current))
        if row >= 0:
            return row, PAIR
    return find_row(rows, ALONE, UNKNOWN, UNKNOWN, np.int64(current)), ALONE


@kernel
def harvest_rows(rows: Rows, contexts: Any, top_ids: Any, top_probabilities: Any) -> None:
    """Write the successors of every context [T, 3] (before, previous, current); later ones win.

    Rows without probabilities teach nothing.
    """
    width = min(top_ids.shape[1], rows.token_ids.shape[1])
    for i in range(len(contexts)):
        if not top_probabilities[i, 0] > 0.0:
            continue
        before, previous, current = contexts[i, 0], contexts[i, 1], contexts[i, 2]
        n_tiers = 1 if previous == NO_TOKEN else 2 if before == NO_TOKEN else 3
        for tier in range(n_tiers):
            row = _claim(rows, tier, key_of(tier, before, previous, current))
            for column in range(rows.token_ids.shape[1]):
                if column < width:
                    rows.token_ids[row, column] = top_ids[i, column]
                    rows.probabilities[row, column] = top_probabilities[i, column]
                else:
                    rows.probabilities[row, column] = 0.0


@kernel
def _bucket(rows: Rows, tier: int, key: int) -> int:
    n_buckets = (rows.starts[tier + 1] - rows.starts[tier]) // WAYS
    return rows.starts[tier] + ((key >> 7) & (n_buckets - 1)) * WAYS


@kernel
def _claim(rows: Rows, tier: int, key: int) -> int:
    """The key's row; a new key takes a free one of its bucket, or the one written longest ago."""
    first = _bucket(rows, tier, key)
    oldest = first
    rows.clock[0] += 1
    for row in range(first, first + WAYS):
        if rows.keys[row] == key:
            rows.stamps[row] = rows.clock[0]
            return row
        if rows.stamps[row] < rows.stamps[oldest]:
            oldest = row
    rows.keys[oldest] = key
    rows.stamps[oldest] = rows.clock[0]
    return oldest


class AdjacencyTable:
    """The tiers with their sizes. Owned by the inference thread.

    Memory: 24 + 8·k bytes a row, of `max_tokens` + 2 · `max_pairs` rows, rounded up to powers of two.
    """

    def __init__(self, k: int = 16, max_pairs: int = 1 << 17, max_tokens: int = 1 << 16) -> None:
        if k < 1 or max_pairs < 1 or max_tokens < 1:
            raise ValueError(
                f"k={k}, max_pairs={max_pairs}, max_tokens={max_tokens}: all must be ≥ 1"
            )
        self.k = k
        sizes = [1 << max(2, (n - 1).bit_length()) for n in (max_tokens, max_pairs, max_pairs)]
        n_rows = sum(sizes)
        self.rows = Rows(
            np.cumsum([0, *sizes], dtype=np.int64),
            np.full(n_rows, _FREE, np.int64),
            np.zeros(n_rows, np.int64),
            np.zeros((n_rows, k), np.int32),
            np.zeros((n_rows, k), np.float32),
            np.zeros(1, np.int64),
        )

    def __len__(self) -> int:
        """Pairs known."""
        start, end = self.rows.starts[1:3]
        return int((self.rows.keys[start:end] != _FREE).sum())

    def harvest(
        self,
        previous: Sequence[int],
        current: Sequence[int],
        top_ids: npt.NDArray[np.int_],
        top_probabilities: npt.NDArray[np.float32],
        before: Sequence[int] | None = None,
    ) -> None:
        """Remember the target's top successors at T positions; later positions win.

        `top_ids` and `top_probabilities` are [T, ≥ 1], best first, cut or padded to k columns. The three
        lists hold each position's last tokens, `NO_TOKEN` where unknown.
        """
        before = [NO_TOKEN] * len(current) if before is None else before
        columns = (before, previous, current, top_ids, top_probabilities)
        if len({len(column) for column in columns}) > 1:
            raise GooseError("harvest: the columns differ in length")
        if np.shape(top_ids) != np.shape(top_probabilities):
            raise GooseError("harvest: tokens and probabilities differ in length")
        if len(current):
            contexts = np.array((before, previous, current), dtype=np.int64).T.copy()
            ids = np.ascontiguousarray(top_ids, dtype=np.int64)
            harvest_rows(self.rows, contexts, ids, np.ascontiguousarray(top_probabilities))

    def successors(self, previous: int, current: int, before: int = NO_TOKEN) -> Successors | None:
        """What followed the longest of these contexts that is known, or None."""
        row, tier = best_row(self.rows, before, previous, current)
        if row < 0:
            return None
        probabilities = self.rows.probabilities[row].tolist()
        n = sum(p > 0.0 for p in probabilities)  # unused columns are zero
        return Successors(self.rows.token_ids[row, :n].tolist(), probabilities[:n], tier > 0)

    def save(self, file: Path) -> None:
        """Write the rows in use, atomically; raises `OSError`."""
        used = np.flatnonzero(self.rows.keys != _FREE)
        arrays: dict[str, Any] = {"format": np.array(_FORMAT), "rows": used}
        arrays["starts"], arrays["clock"] = self.rows.starts, self.rows.clock
        for name in ("keys", "stamps", "token_ids", "probabilities"):
            arrays[name] = getattr(self.rows, name)[used]
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        making = file.with_name(f"{file.name}.making")
        try:
            # What follows what in the user's own text: nobody else's to read.
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
            with os.fdopen(os.open(making, flags, 0o600), "wb") as stream:
                np.savez(stream, **arrays)
            making.replace(file)
        finally:
            making.unlink(missing_ok=True)

    def load(self, file: Path, n_vocab: int) -> bool:
        """Hold what `save` wrote and nothing else; False, and an unchanged table, where that is not sound."""
        try:
            with file.open("rb") as stream, np.load(stream, allow_pickle=False) as kept:
                arrays = {name: kept[name] for name in kept.files}
            self._take(arrays, n_vocab)
        except FileNotFoundError:
            return False
        except Exception as error:  # noqa: BLE001  a damaged archive fails in any of a dozen ways
            log.warning("%s is damaged and is not used: %r", file, error)
            return False
        return True

    def _take(self, arrays: dict[str, Any], n_vocab: int) -> None:
        used, ids, shares = arrays["rows"], arrays["token_ids"], arrays["probabilities"]
        if int(arrays["format"]) != _FORMAT or not np.array_equal(
            arrays["starts"], self.rows.starts
        ):
            raise ValueError("another format or other sizes")
        if ids.shape != (len(used), self.k) or ids.shape != shares.shape:
            raise ValueError("columns of different lengths")
        if len(used) and not (used.min() >= 0 and used.max() < len(self.rows.keys)):
            raise ValueError("rows out of range")
        if len(used) and not (ids.min() >= 0 and ids.max() < n_vocab and np.isfinite(shares).all()):
            raise ValueError("tokens out of range")
        keys, stamps = arrays["keys"].astype(np.int64), arrays["stamps"].astype(np.int64)
        if arrays["clock"].shape != (1,) or not np.issubdtype(used.dtype, np.integer):
            raise ValueError("a clock or rows that are none")
        if keys.shape != used.shape or stamps.shape != used.shape or keys.min(initial=0) < 0:
            raise ValueError("keys that are none")
        self.rows.keys[:], self.rows.stamps[:] = _FREE, 0
        self.rows.token_ids[:], self.rows.probabilities[:] = 0, 0.0
        self.rows.keys[used], self.rows.stamps[used] = keys, stamps
        self.rows.token_ids[used], self.rows.probabilities[used] = ids, shares
        self.rows.clock[0] = max(int(arrays["clock"][0]), int(stamps.max(initial=0)))
