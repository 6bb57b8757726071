"""Tables to draft from and trees to look at, for tests of drafting."""

from collections.abc import Mapping, Sequence

import numpy as np

from goose_lsp.draft.bigrams import NO_TOKEN, AdjacencyTable
from goose_lsp.draft.tree import DraftTree

# {current or (previous, current): successors}; without probabilities they get 0.5, 0.25, … by rank.
Rows = Mapping[int | tuple[int, int], Sequence[int] | Mapping[int, float]]


def table_of(rows: Rows, k: int = 8) -> AdjacencyTable:
    """A table that learned the rows one after another."""
    table = AdjacencyTable(k=k)
    for key, successors in rows.items():
        previous, current = key if isinstance(key, tuple) else (NO_TOKEN, key)
        halves = [0.5 ** (rank + 1) for rank in range(len(successors))]
        values = successors.values() if isinstance(successors, Mapping) else halves
        probabilities = np.array([list(values)], np.float32)
        table.harvest([previous], [current], np.array([list(successors)]), probabilities)
    return table


def paths(tree: DraftTree) -> list[tuple[int, ...]]:
    """Tokens from the root's child to every drafted node, in node order."""
    return [tuple(tree.token_ids[i] for i in tree.path(node)) for node in range(1, len(tree))]


def never(token: int) -> bool:
    """No token is final."""
    del token
    return False
