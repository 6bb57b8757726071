"""Texts and tables to gather candidates from, without a drafter around them."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from goose_lsp.draft.bigrams import NO_TOKEN, AdjacencyTable
from goose_lsp.draft.candidates import (
    N_BINS,
    N_LENGTHS,
    N_RANKS,
    Cells,
    Scratch,
    Sources,
    gather,
    new_scratch,
)
from goose_lsp.draft.counts import build_counts
from goose_lsp.draft.recall import MAX_MATCH_LEN, Recall
from goose_lsp.draft.segment import build_segment
from goose_lsp.draft.store import FAR, Library, StoreView, empty_library, empty_view

# {(before, previous, current), (previous, current) or (current,): {successor: probability}}, best first.
Rows = Mapping[tuple[int, ...], Mapping[int, float]]


class Found(NamedTuple):
    """One candidate as a test looks at it."""

    token: int
    probability: float
    is_copied: bool
    kind: int  # a copy's kind, or the source of a table's token
    fine: int  # its cell


def table_of(rows: Rows, k: int = 4) -> AdjacencyTable:
    """A table that learned the rows one after another."""
    table = AdjacencyTable(k=k, max_pairs=256, max_tokens=256)
    for key, successors in rows.items():
        before, previous, current = (NO_TOKEN, NO_TOKEN, *key)[-3:]
        ids, shares = list(successors), list(successors.values())
        table.harvest(
            [previous], [current], np.array([ids]), np.array([shares], np.float32), [before]
        )
    return table


def sources_of(
    context: Sequence[int],
    earlier: Sequence[int] = (),
    table: AdjacencyTable | None = None,
    uses_copies: bool = True,
    uses_table: bool = True,
    *,
    bridge: Sequence[int] = (),
    store: StoreView | None = None,
) -> Sources:
    """What a drafter hands to the kernels."""
    here, before, bridged = Recall(64), Recall(64), Recall(64)
    bridged.extend(bridge)
    here.extend(context)
    before.extend(earlier)
    rows = (table_of({}) if table is None else table).rows
    view = empty_view() if store is None else store
    return Sources(here.text, before.text, bridged.text, view, rows, uses_copies, uses_table)


def tail_of(
    token_ids: Sequence[int],
) -> tuple[np.ndarray[tuple[int], np.dtype[np.int32]], np.int32]:
    """(tail, n_tail) as a tree's nodes hold them, so that no kernel is compiled a second time."""
    tail = np.zeros(MAX_MATCH_LEN, np.int32)
    kept = list(token_ids)[-MAX_MATCH_LEN:]
    tail[: len(kept)] = kept
    return tail, np.int32(len(kept))


def gathered(
    sources: Sources, cells: Cells, token_ids: Sequence[int], scratch: Scratch | None = None
) -> list[Found]:
    """The candidates behind the tokens, best first."""
    scratch = scratch or new_scratch()
    n = gather(sources, cells, *tail_of(token_ids), scratch)
    tokens, probabilities, is_copied, coarse, fine = (
        column[:n].tolist() for column in scratch.found
    )
    kinds = [
        cell // N_LENGTHS if copied else cell // (N_RANKS * N_BINS)
        for cell, copied in zip(coarse, is_copied, strict=True)
    ]
    return [Found(*row) for row in zip(tokens, probabilities, is_copied, kinds, fine, strict=True)]


def library_of(*files: tuple[Sequence[int], int]) -> Library:
    """Files with their weights, as a base or a delta of the store holds them."""
    tokens = np.array([t for file, _ in files for t in [*file, NO_TOKEN]], np.int32)
    starts = np.cumsum([0, *(len(file) + 1 for file, _ in files)]).astype(np.int32)
    weights = np.array([weight for _, weight in files], np.uint8)
    return Library(build_segment(tokens), starts, weights, build_counts(tokens))


def store_of(*files: Sequence[int]) -> StoreView:
    """A workspace of these files, none of them open."""
    base = library_of(*((file, FAR) for file in files))
    return StoreView(base, empty_library(), np.zeros(2, np.int32))
