"""How likely is an edge of the draft? Learned online, shrunk to measured priors.

After a verification the true next token of every visited node is known, so every source can be scored
there whether or not its candidate was drafted (full information; no exploration is needed). Each cell
of features keeps hits and trials; its estimate is (hits + s·prior) / (trials + s) with s pseudo-trials.
"""

from dataclasses import dataclass, field
from enum import IntEnum

from goose_lsp.draft.copy_source import MAX_MATCH_LEN

PRIOR_STRENGTH = 8.0
# Trials after which a cell's past is halved, so that it follows the text at hand.
MAX_TRIALS = 2000.0

# Acceptance of a copied token by effective match length (matched context + tokens already copied),
# index 0 unused. Measured with the embedded model on 60 source files.
_COPY_PRIOR = (
    0.0, 0.32, 0.60, 0.66, 0.74, 0.78, 0.85, 0.87, 0.87, 0.88, 0.89, 0.90, 0.92, 0.93, 0.94, 0.95, 0.97,
)  # fmt: skip
# Upper edges of the bins of stored probability.
_PROBABILITY_BINS = (0.02, 0.06, 0.15, 0.35, 0.65, 0.9)
_BIN_CENTRES = (0.01, 0.04, 0.1, 0.24, 0.5, 0.78, 0.96)


class Agreement(IntEnum):
    """Where the adjacency table ranks the token that the copy proposes."""

    ABSENT = 0
    LISTED = 1
    TOP = 2


@dataclass(slots=True)
class Cell:
    """Hits and trials of one combination of features."""

    prior: float
    hits: float = 0.0
    trials: float = 0.0

    def estimate(self) -> float:
        return (self.hits + PRIOR_STRENGTH * self.prior) / (self.trials + PRIOR_STRENGTH)

    def update(self, *, is_hit: bool) -> None:
        self.hits += is_hit
        self.trials += 1.0
        if self.trials > MAX_TRIALS:
            self.hits /= 2
            self.trials /= 2


@dataclass(slots=True)
class Estimator:
    """Acceptance estimates of both kinds of edge. Owned by the inference thread."""

    _copy: dict[tuple[int, bool, Agreement], Cell] = field(default_factory=dict)
    _table: dict[tuple[bool, int, int, bool], Cell] = field(default_factory=dict)

    def copy_cell(self, effective_len: int, is_unanimous: bool, agreement: Agreement) -> Cell:
        """`effective_len` = matched context + tokens already copied, at least 1."""
        key = (min(effective_len, MAX_MATCH_LEN), is_unanimous, agreement)
        cell = self._copy.get(key)
        if cell is None:
            cell = self._copy[key] = Cell(_copy_prior(*key))
        return cell

    def table_cell(self, is_pair: bool, rank: int, probability: float, has_copy: bool) -> Cell:
        """`rank` counts from 0 with the copied token left out; `probability` is the stored one."""
        key = (is_pair, min(rank, 6), _probability_bin(probability), has_copy)
        cell = self._table.get(key)
        if cell is None:
            cell = self._table[key] = Cell(_table_prior(*key))
        return cell


def _copy_prior(effective_len: int, is_unanimous: bool, agreement: Agreement) -> float:
    miss = 1.0 - _COPY_PRIOR[effective_len]
    if is_unanimous:
        miss *= 0.5
    miss *= {Agreement.TOP: 0.8, Agreement.LISTED: 1.3, Agreement.ABSENT: 1.6}[agreement]
    return max(0.05, 1.0 - miss)


def _table_prior(is_pair: bool, rank: int, probability_bin: int, has_copy: bool) -> float:
    # The stored probability was measured in another context of the same pair (or token): it shrinks.
    prior = _BIN_CENTRES[probability_bin] * (0.85 if is_pair else 0.6) * (1.0 if rank == 0 else 0.8)
    return prior * (0.3 if has_copy else 1.0)


def _probability_bin(probability: float) -> int:
    for number, edge in enumerate(_PROBABILITY_BINS):
        if probability < edge:
            return number
    return len(_PROBABILITY_BINS)
