"""The store as one request sees it: from a file, at a cursor. Immutable; made by one thread and read by others."""

import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from goose_lsp.draft.store import FAR, NEAR, StoreView
from goose_lsp.request import Point
from goose_lsp.text.document import Document

# Tokens on either side of the cursor that are not copied: what stands there is what is being completed.
_AROUND_CURSOR = 2


@dataclass(frozen=True, slots=True)
class LiveStore:
    view: StoreView
    base_paths: Sequence[str]
    delta_paths: Sequence[str]
    folders: npt.NDArray[np.int32]  # [base files]: which folder each lies in
    folder_ids: dict[str, int]
    roots: tuple[str, ...] = ()
    refused: frozenset[str] = frozenset()  # open files that the workspace's rules leave out

    @property
    def paths(self) -> list[str]:
        """Of the base's files, then of the delta's."""
        return [*self.base_paths, *self.delta_paths]

    def seen_from(
        self, path: str, document: Document, cursor: Point, token_bytes: npt.NDArray[np.int32]
    ) -> StoreView:
        """The view in which files beside `path` count more and the place of the cursor not at all.

        `token_bytes` [vocabulary] are the lengths of all tokens in bytes.
        """
        base = self.view.base
        folder = self.folder_ids.get(os.path.dirname(path), -1)
        near = (self.folders == folder) & (base.weights == FAR)
        weights = np.where(near, np.uint8(NEAR), base.weights)
        cursor_range = np.array(self._range(path, document, cursor, token_bytes), np.int32)
        return self.view._replace(base=base._replace(weights=weights), cursor=cursor_range)

    def _range(
        self, path: str, document: Document, cursor: Point, token_bytes: npt.NDArray[np.int32]
    ) -> tuple[int, int]:
        if path not in self.delta_paths:
            return 0, 0
        place = list(self.delta_paths).index(path)
        start, stop = self.view.delta.starts[place : place + 2].tolist()
        tokens = self.view.delta.segment.tokens[start : stop - 1]
        before = (
            "".join(document.lines[: cursor.line]) + document.lines[cursor.line][: cursor.column]
        )
        n_bytes = len(before.replace("\r\n", "\n").encode("utf-8", "replace"))
        place = start + int(np.searchsorted(np.cumsum(token_bytes[tokens]), n_bytes))
        return max(place - _AROUND_CURSOR, start), min(place + _AROUND_CURSOR, stop)


def folders_of(paths: Sequence[str]) -> tuple[npt.NDArray[np.int32], dict[str, int]]:
    """Which folder each path lies in, as numbers, and the folders' numbers."""
    ids: dict[str, int] = {}
    numbers = [ids.setdefault(os.path.dirname(path), len(ids)) for path in paths]
    return np.array(numbers, np.int32), ids
