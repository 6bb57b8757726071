"""Adjacency memory: which tokens the target itself wanted after a pair of tokens, or after one.

Filled from the target's logits at every verified node, accepted or rejected, and at the prompt.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from goose_lsp.errors import GooseError

NO_TOKEN = -1  # as `previous`: unknown


@dataclass(frozen=True, slots=True)
class Successors:
    """Likely next tokens, best first, with the target's probabilities when they were stored."""

    token_ids: list[int]
    probabilities: list[float]
    is_pair: bool  # keyed by (previous, current); otherwise by the current token alone


class _Tier:
    """Rows of successors under integer keys, bounded: the oldest key makes room."""

    def __init__(self, max_rows: int, k: int) -> None:
        self.token_ids = np.zeros((max_rows, k), dtype=np.int32)
        self.probabilities = np.zeros((max_rows, k), dtype=np.float32)
        self._keys: list[int] = []  # row → key
        self._rows: dict[int, int] = {}
        self._next_victim = 0

    def __len__(self) -> int:
        return len(self._rows)

    def row_of(self, key: int) -> int | None:
        return self._rows.get(key)

    def claim(self, key: int) -> int:
        """The key's row, made if needed."""
        row = self._rows.get(key)
        if row is not None:
            return row
        if len(self._keys) < len(self.token_ids):
            row = len(self._keys)
            self._keys.append(key)
        else:
            row = self._next_victim
            self._next_victim = (row + 1) % len(self._keys)
            del self._rows[self._keys[row]]
            self._keys[row] = key
        self._rows[key] = row
        return row


class AdjacencyTable:
    """Two bounded tiers: (previous, current) → successors, and current → successors as fallback.

    Memory: `max_pairs` + `max_tokens` rows of 8·k bytes, plus about 120 bytes per key.
    """

    def __init__(self, k: int = 8, max_pairs: int = 1 << 17, max_tokens: int = 1 << 16) -> None:
        if k < 1 or max_pairs < 1 or max_tokens < 1:
            raise ValueError(
                f"k={k}, max_pairs={max_pairs}, max_tokens={max_tokens}: all must be ≥ 1"
            )
        self.k = k
        self._pairs = _Tier(max_pairs, k)
        self._tokens = _Tier(max_tokens, k)

    def __len__(self) -> int:
        return len(self._pairs)

    def harvest(
        self,
        previous: Sequence[int],
        current: Sequence[int],
        top_ids: npt.NDArray[np.int_],
        top_probabilities: npt.NDArray[np.float32],
    ) -> None:
        """Remember the target's top successors at T positions; later positions win.

        `top_ids` and `top_probabilities` are [T, ≥ 1], best first, cut or padded to k columns;
        `previous[i]` may be `NO_TOKEN`.
        """
        if not len(previous) == len(current) == len(top_ids) == len(top_probabilities):
            raise GooseError("harvest: the four columns differ in length")
        width = min(self.k, top_ids.shape[1]) if len(top_ids) else 0
        token_rows = [self._tokens.claim(token) for token in current]
        pair_positions = [i for i, token in enumerate(previous) if token != NO_TOKEN]
        pair_rows = [self._pairs.claim(_pair_key(previous[i], current[i])) for i in pair_positions]
        _write(self._tokens, token_rows, top_ids, top_probabilities, width)
        _write(
            self._pairs,
            pair_rows,
            top_ids[pair_positions],
            top_probabilities[pair_positions],
            width,
        )

    def successors(self, previous: int, current: int) -> Successors | None:
        """What followed the pair, else what followed the token alone, else None."""
        row = self._pairs.row_of(_pair_key(previous, current)) if previous != NO_TOKEN else None
        tier = self._pairs
        if row is None:
            tier, row = self._tokens, self._tokens.row_of(current)
        if row is None:
            return None
        probabilities = tier.probabilities[row].tolist()
        n = sum(p > 0.0 for p in probabilities)  # unused columns are zero
        return Successors(
            tier.token_ids[row, :n].tolist(), probabilities[:n], is_pair=tier is self._pairs
        )


def _pair_key(previous: int, current: int) -> int:
    return previous << 32 | current


def _write(
    tier: _Tier,
    rows: list[int],
    top_ids: npt.NDArray[np.int_],
    top_probabilities: npt.NDArray[np.float32],
    width: int,
) -> None:
    # numpy leaves the winner among repeated rows undefined, so only each row's last position is written.
    last = {row: position for position, row in enumerate(rows)}
    if not last:
        return
    targets, positions = list(last), list(last.values())
    tier.token_ids[targets, :width] = top_ids[positions, :width]
    tier.probabilities[targets, :width] = top_probabilities[positions, :width]
    tier.probabilities[targets, width:] = 0.0
