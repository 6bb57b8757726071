"""What may follow a node, from all sources, and how likely each is. Compiled.

Sources: the context itself, earlier contexts, the workspace's store, and two tables of successors: those the
target wanted and those the workspace holds. A token proposed by several is one candidate. Its probability comes from a cell: hits and trials of the same combination of features, shrunk
to a coarser cell, which is shrunk to a shipped prior. After a verification the true next token of every
visited node is known, so every candidate is scored there whether or not it was drafted.
"""

import json
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from goose_lsp.compiled import kernel, part
from goose_lsp.draft.bigrams import ALONE, NO_TOKEN, PAIR, UNKNOWN, Rows, best_row, find_row
from goose_lsp.draft.counts import Counted, count_successors, new_counted
from goose_lsp.draft.recall import (
    MAX_FOLLOWERS,
    MAX_MATCH_LEN,
    Followers,
    Text,
    find,
    new_followers,
)
from goose_lsp.draft.store import StoreView, find_in_store

MAX_CANDIDATES = 32
# A copied candidate's kind.
N_KINDS = 8
UNANIMOUS, SINGLE, CONTESTED, SECOND, EARLIER, EARLIER_SECOND, STORED, STORED_SECOND = range(
    N_KINDS
)
# What the other texts say beside a copied candidate: two facts, each true or not.
N_FLAGS = 4
# How the table sees a copied token: no row, not listed, listed low or high, at the top in four bins.
N_AGREEMENTS = 8
N_LENGTHS = 20  # match lengths told apart: up to 16 singly, then coarsely
# A table candidate's source (its row's tier; below the best row: a shorter context's row, or the row of the
# token before; the workspace's counts), rank, bin of its probability there, and what copying says beside it.
N_SOURCES, N_RANKS, N_BINS, N_BESIDE = 7, 6, 7, 4
BELOW_PAIR: Any = np.int64(3)
BELOW_TOKEN: Any = np.int64(4)
BESIDE: Any = np.int64(5)
COUNTED: Any = np.int64(6)
# How the workspace sees a listed token: it never met the pair, never this token after it, seldom, often.
N_SIGHTS = 4

COARSE_STRENGTH, FINE_STRENGTH = 16.0, 12.0
# Trials after which a cell's past is halved, so that it follows the text at hand.
MAX_TRIALS = 1000.0

_BIN_EDGES = (0.02, 0.06, 0.15, 0.35, 0.65, 0.9)


class Cells(NamedTuple):
    """Counts of all cells: [cell, (hits, trials)], with the priors of the coarse ones."""

    copy_coarse: npt.NDArray[np.float64]
    copy_fine: npt.NDArray[np.float64]
    copy_prior: npt.NDArray[np.float64]
    table_coarse: npt.NDArray[np.float64]
    table_fine: npt.NDArray[np.float64]
    table_prior: npt.NDArray[np.float64]


class Sources(NamedTuple):
    context: Text
    earlier: Text  # earlier contexts
    bridge: Text  # places of the store in the tokens that lead on from the cursor
    store: StoreView
    rows: Rows
    uses_copies: bool
    uses_table: bool


class Beside(NamedTuple):
    """What else is known where a table lists its tokens."""

    counted: Counted
    n_counted: int
    copies: int  # 0: none; else by the length of the longest match in the context


class Candidates(NamedTuple):
    """Distinct tokens that may follow one node; columns [MAX_CANDIDATES]."""

    tokens: npt.NDArray[np.int32]
    probabilities: npt.NDArray[np.float64]
    is_copied: npt.NDArray[np.bool_]
    coarse: npt.NDArray[np.int32]  # cells of the candidate's kind
    fine: npt.NDArray[np.int32]


class Scratch(NamedTuple):
    """Buffers of one query."""

    here: Followers
    before: Followers
    bridged: Followers
    stored: Followers
    score: npt.NDArray[np.int64]  # [MAX_FOLLOWERS]
    counted: Counted
    found: Candidates


def new_scratch() -> Scratch:
    n = MAX_CANDIDATES
    found = Candidates(
        np.zeros(n, np.int32),
        np.zeros(n, np.float64),
        np.zeros(n, np.bool_),
        np.zeros(n, np.int32),
        np.zeros(n, np.int32),
    )
    here, before, bridged, stored = (new_followers() for _ in range(4))
    score = np.zeros(MAX_FOLLOWERS, np.int64)
    return Scratch(here, before, bridged, stored, score, new_counted(), found)


def new_cells() -> Cells:
    """Empty counts, with the priors measured by benchmarks/fit_priors.py."""
    n_copy, n_table = N_KINDS * N_LENGTHS, N_SOURCES * N_RANKS * N_BINS
    priors = json.loads(files("goose_lsp.draft").joinpath("priors.json").read_text("ascii"))
    return Cells(
        np.zeros((n_copy, 2)),
        np.zeros((n_copy * N_AGREEMENTS * N_FLAGS, 2)),
        np.array(priors["copy"]).reshape(n_copy),
        np.zeros((n_table, 2)),
        np.zeros((n_table * N_BESIDE * N_SIGHTS, 2)),
        np.array(priors["table"]).reshape(n_table),
    )


@kernel
def _bin(probability: float) -> int:
    number = 0
    while number < len(_BIN_EDGES) and probability >= _BIN_EDGES[number]:
        number += 1
    return number


@kernel
def _length_bin(length: int) -> int:
    if length <= 16:
        return length
    return 17 if length < 24 else 18 if length < MAX_MATCH_LEN else 19


@kernel
def _estimate(coarse: Any, fine: Any, prior: Any, coarse_cell: int, fine_cell: int) -> float:
    """(hits + s · the coarser estimate) / (trials + s), twice."""
    rough = (coarse[coarse_cell, 0] + COARSE_STRENGTH * prior[coarse_cell]) / (
        coarse[coarse_cell, 1] + COARSE_STRENGTH
    )
    hits, trials = fine[fine_cell, 0], fine[fine_cell, 1]
    return (hits + FINE_STRENGTH * rough) / (trials + FINE_STRENGTH)


@kernel
def _note(cells: Any, cell: int, is_hit: bool) -> None:
    cells[cell, 0] += 1.0 if is_hit else 0.0
    cells[cell, 1] += 1.0
    if cells[cell, 1] > MAX_TRIALS:
        cells[cell, 0] /= 2
        cells[cell, 1] /= 2


@kernel
def gather(sources: Sources, cells: Cells, tail: Any, n_tail: int, scratch: Scratch) -> int:
    """Fill scratch.found with the candidates behind tail[:n_tail], best first; returns how many.

    Their probabilities sum to at most 1.
    """
    found, rows = scratch.found, sources.rows
    row, tier = UNKNOWN, ALONE
    if sources.uses_table and n_tail > 0:
        previous = tail[n_tail - 2] if n_tail > 1 else NO_TOKEN
        before = tail[n_tail - 3] if n_tail > 2 else NO_TOKEN
        row, tier = best_row(rows, before, previous, tail[n_tail - 1])
    n: Any = np.int64(0)
    best_len: Any = np.int64(0)
    if sources.uses_copies:
        n, best_len = _gather_copies(sources, tail, n_tail, scratch, row)
    beside = 0 if n == 0 else 1 if best_len < 3 else 2 if best_len < 6 else 3
    if sources.uses_table:
        n_counted = _count(sources, tail, n_tail, scratch.counted)
        context = Beside(scratch.counted, n_counted, beside)
        if row >= 0:
            n = _add_listed(found, n, rows, row, tier, context)
        n = _add_counted(found, n, context)
        n = _add_fallbacks(found, n, rows, tail, n_tail, tier if row >= 0 else UNKNOWN, context)
    _price(cells, found, n)
    return n


@part
def _gather_copies(
    sources: Sources, tail: Any, n_tail: int, scratch: Scratch, row: int
) -> tuple[int, int]:
    """Candidates of the context, then of earlier ones, then of the store; how many, and the longest match here."""
    rows, found = sources.rows, scratch.found
    here, before = scratch.here, scratch.before
    n_here = find(sources.context, tail, n_tail, here)
    n_before = find(sources.earlier, tail, n_tail, before)
    stored, n_stored = _find_stored(sources, tail, n_tail, scratch)
    n: Any = np.int64(0)
    for i in range(n_here):
        kind = SECOND if i > 0 else _primary_kind(here, n_here)
        token = here.tokens[i]
        flags = _flags(_holds(before, n_before, token), _holds(stored, n_stored, token))
        n = _add_copy(found, n, token, kind, here.match_lens[i], flags, rows, row)
    for i in range(n_before):
        token = before.tokens[i]
        if not _holds(here, n_here, token):
            kind = EARLIER if i == 0 else EARLIER_SECOND
            flags = _flags(n_here > 0, _holds(stored, n_stored, token))
            n = _add_copy(found, n, token, kind, before.match_lens[i], flags, rows, row)
    for i in range(n_stored):
        token = stored.tokens[i]
        if not _holds(here, n_here, token) and not _holds(before, n_before, token):
            kind = STORED if i == 0 else STORED_SECOND
            flags = _flags(n_here > 0, n_before > 0)
            n = _add_copy(found, n, token, kind, stored.match_lens[i], flags, rows, row)
    best_len: Any = np.int64(here.match_lens[0]) if n_here > 0 else np.int64(0)
    return n, best_len


@part
def _find_stored(
    sources: Sources, tail: Any, n_tail: int, scratch: Scratch
) -> tuple[Followers, int]:
    """Followers in the workspace: of the longer match, as files are cut into tokens or as the cursor cuts them."""
    n_stored = find_in_store(sources.store, tail, n_tail, scratch.stored, scratch.score)
    n_bridged = find(sources.bridge, tail, n_tail, scratch.bridged)
    if n_bridged > 0 and (
        n_stored == 0 or scratch.bridged.match_lens[0] >= scratch.stored.match_lens[0]
    ):
        return scratch.bridged, n_bridged
    return scratch.stored, n_stored


@kernel
def _flags(first: bool, second: bool) -> int:
    return (1 if first else 0) + (2 if second else 0)


@kernel
def _primary_kind(found: Followers, n: int) -> int:
    if n == 1 and found.counts[0] >= 2:
        return UNANIMOUS
    return SINGLE if n == 1 else CONTESTED


@kernel
def _holds(found: Followers, n: int, token: int) -> bool:
    for i in range(n):
        if found.tokens[i] == token:
            return True
    return False


@kernel
def _add_copy(
    found: Candidates, n: int, token: int, kind: int, length: int, flags: int, rows: Rows, row: int
) -> int:
    """`flags`: what the texts searched before and after this one hold."""
    if n == MAX_CANDIDATES:
        return n
    cell = kind * N_LENGTHS + _length_bin(length)
    found.tokens[n], found.is_copied[n] = token, True
    found.coarse[n] = cell
    found.fine[n] = (cell * N_AGREEMENTS + _agreement(rows, row, token)) * N_FLAGS + flags
    return n + 1


@kernel
def _agreement(rows: Rows, row: int, token: int) -> int:
    if row < 0:
        return 0
    for rank in range(rows.token_ids.shape[1]):
        probability = rows.probabilities[row, rank]
        if probability > 0.0 and rows.token_ids[row, rank] == token:
            if rank > 0:
                return 2 if probability < 0.1 else 3
            return 4 + max(0, _bin(probability) - 3)
    return 1


@kernel
def _add_fallbacks(
    found: Candidates, n: int, rows: Rows, tail: Any, n_tail: int, tier: int, beside: Beside
) -> int:
    """Tokens that shorter contexts list, and those that were wanted in this one's place a token ago."""
    if tier > 1 and n_tail > 1:
        pair = np.int64(tail[n_tail - 2]), np.int64(tail[n_tail - 1])
        row = find_row(rows, PAIR, UNKNOWN, pair[0], pair[1])
        if row >= 0:
            n = _add_listed(found, n, rows, row, BELOW_PAIR, beside)
    if tier > 0 and n_tail > 0:
        row = find_row(rows, ALONE, UNKNOWN, UNKNOWN, np.int64(tail[n_tail - 1]))
        if row >= 0:
            n = _add_listed(found, n, rows, row, BELOW_TOKEN, beside)
    if n_tail > 1:
        previous = tail[n_tail - 3] if n_tail > 2 else NO_TOKEN
        before = tail[n_tail - 4] if n_tail > 3 else NO_TOKEN
        row, _ = best_row(rows, before, previous, tail[n_tail - 2])
        if row >= 0:
            n = _add_listed(found, n, rows, row, BESIDE, beside)
    return n


@kernel
def _add_listed(found: Candidates, n: int, rows: Rows, row: int, tier: int, beside: Beside) -> int:
    """A row's tokens that nobody has proposed."""
    rank = 0
    for column in range(rows.token_ids.shape[1]):
        token, probability = rows.token_ids[row, column], rows.probabilities[row, column]
        if n == MAX_CANDIDATES or probability <= 0.0:
            break
        if _is_new(found, n, token):
            n = _add_from_table(found, n, token, tier, rank, probability, beside)
            rank += 1
    return n


@kernel
def _add_counted(found: Candidates, n: int, beside: Beside) -> int:
    """What most often follows the last pair in the workspace, where nobody has proposed it."""
    rank = 0
    for i in range(beside.n_counted):
        token, share = beside.counted.tokens[i], beside.counted.counts[i] / beside.counted.total[0]
        if n < MAX_CANDIDATES and _is_new(found, n, token):
            n = _add_from_table(found, n, token, COUNTED, rank, share, beside)
            rank += 1
    return n


@kernel
def _add_from_table(
    found: Candidates,
    n: int,
    token: int,
    source: int,
    rank: int,
    probability: float,
    beside: Beside,
) -> int:
    cell = (source * N_RANKS + min(rank, N_RANKS - 1)) * N_BINS + _bin(probability)
    found.tokens[n], found.is_copied[n] = token, False
    found.coarse[n] = cell
    found.fine[n] = (cell * N_BESIDE + beside.copies) * N_SIGHTS + _sight(beside, token)
    return n + 1


@kernel
def _sight(beside: Beside, token: int) -> int:
    if beside.n_counted == 0:
        return 0
    for i in range(beside.n_counted):
        if beside.counted.tokens[i] == token:
            return 2 if beside.counted.counts[i] * 4 < beside.counted.total[0] else 3
    return 1


@kernel
def _is_new(found: Candidates, n: int, token: int) -> bool:
    for i in range(n):
        if found.tokens[i] == token:
            return False
    return True


@part
def _count(sources: Sources, tail: Any, n_tail: int, counted: Counted) -> int:
    if n_tail < 2:
        return 0
    base, delta = sources.store.base.counts, sources.store.delta.counts
    return count_successors(base, delta, tail[n_tail - 2], tail[n_tail - 1], counted)


@kernel
def _price(cells: Cells, found: Candidates, n: int) -> None:
    """Estimate, scale down to a sum of 1, sort."""
    total = 0.0
    for i in range(n):
        if found.is_copied[i]:
            p = _estimate(
                cells.copy_coarse, cells.copy_fine, cells.copy_prior, found.coarse[i], found.fine[i]
            )
        else:
            p = _estimate(
                cells.table_coarse,
                cells.table_fine,
                cells.table_prior,
                found.coarse[i],
                found.fine[i],
            )
        found.probabilities[i] = p
        total += p
    if total > 1.0:
        for i in range(n):
            found.probabilities[i] /= total
    for i in range(1, n):
        place = i
        while place > 0 and found.probabilities[place] > found.probabilities[place - 1]:
            _exchange(found, place, place - 1)
            place -= 1


@kernel
def _exchange(found: Candidates, a: int, b: int) -> None:
    found.tokens[a], found.tokens[b] = found.tokens[b], found.tokens[a]
    found.probabilities[a], found.probabilities[b] = found.probabilities[b], found.probabilities[a]
    found.is_copied[a], found.is_copied[b] = found.is_copied[b], found.is_copied[a]
    found.coarse[a], found.coarse[b] = found.coarse[b], found.coarse[a]
    found.fine[a], found.fine[b] = found.fine[b], found.fine[a]


@kernel
def score(cells: Cells, found: Candidates, n: int, truth: int) -> None:
    """Count every candidate as right or wrong."""
    for i in range(n):
        is_hit = found.tokens[i] == truth
        if found.is_copied[i]:
            _note(cells.copy_coarse, found.coarse[i], is_hit)
            _note(cells.copy_fine, found.fine[i], is_hit)
        else:
            _note(cells.table_coarse, found.coarse[i], is_hit)
            _note(cells.table_fine, found.fine[i], is_hit)
