"""The store as it is this second: a base from disk and over it every file that has changed since. Pure.

Every change makes new arrays, so that a view handed out stays as it is. The exact counts of the whole are those of
the base plus those of the delta, in which a dead file of the base counts negatively.
"""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from goose_lsp.draft.counts import add_counts, build_counts, empty_counts
from goose_lsp.draft.recall import NO_TOKEN
from goose_lsp.draft.segment import empty_segment, splice
from goose_lsp.draft.store import DEAD, FAR, NEWEST, Library, StoreView, empty_library
from goose_lsp.index.persist import Snapshot

Tokens = npt.NDArray[np.int32]
_END = np.array([NO_TOKEN], np.int32)


class Overlay:
    """Used by one thread; the views it gives away may go anywhere."""

    def __init__(self, base: Snapshot | None = None) -> None:
        self._base = base.library if base else empty_library()
        self.base_paths = [record.path for record in base.files] if base else []
        self._place = {path: i for i, path in enumerate(self.base_paths)}
        self._weights = np.full(len(self.base_paths), FAR, np.uint8)
        self.delta_paths: list[str] = []
        self._starts = [0]
        self._segment = empty_segment()
        self._counts = empty_counts()

    def __contains__(self, path: str) -> bool:
        return path in self.delta_paths

    def put(self, path: str, tokens: Tokens) -> None:
        """The file now holds these tokens. Costs one pass over the delta."""
        self._kill(path)
        if path in self.delta_paths:
            i = self.delta_paths.index(path)
            self._exchange(i, tokens)
        else:
            self.delta_paths.append(path)
            self._replace(self._starts[-1], 0, np.concatenate((tokens, _END)))
            self._starts.append(len(self._segment.tokens))

    def remove(self, path: str) -> None:
        """The file is gone."""
        self._kill(path)
        self._drop(path)

    def restore(self, path: str) -> None:
        """The file is again as the base has it, or unknown where the base has none."""
        self._drop(path)
        place = self._place.get(path)
        if place is not None and self._weights[place] == DEAD:
            self._weights = self._weights.copy()
            self._weights[place] = FAR
            self._counts = add_counts(self._counts, build_counts(self._of_base(place)))

    def rebased(self, base: Snapshot, kept: Iterable[str]) -> "Overlay":
        """Over a new base, with only the given files of the delta."""
        overlay = Overlay(base)
        for path in kept:
            if path in self.delta_paths:
                overlay.put(path, self.tokens_of(path))
        return overlay

    def tokens_of(self, path: str) -> Tokens:
        """Of a file in the delta."""
        i = self.delta_paths.index(path)
        return self._segment.tokens[self._starts[i] : self._starts[i + 1] - 1]

    def view(self) -> StoreView:
        starts = np.array(self._starts, np.int32)
        weights = np.full(len(self.delta_paths), NEWEST, np.uint8)
        delta = Library(self._segment, starts, weights, self._counts)
        return StoreView(self._base._replace(weights=self._weights), delta, np.zeros(2, np.int32))

    def _of_base(self, place: int) -> Tokens:
        starts = self._base.starts
        return self._base.segment.tokens[starts[place] : starts[place + 1] - 1]

    def _kill(self, path: str) -> None:
        place = self._place.get(path)
        if place is not None and self._weights[place] != DEAD:
            self._weights = self._weights.copy()
            self._weights[place] = DEAD
            self._counts = add_counts(self._counts, build_counts(self._of_base(place)), -1)

    def _drop(self, path: str) -> None:
        if path in self.delta_paths:
            i = self.delta_paths.index(path)
            start, end = self._starts[i], self._starts[i + 1]
            self._replace(start, end - start, np.zeros(0, np.int32))
            del self.delta_paths[i], self._starts[i + 1]
            self._starts[i + 1 :] = [n - (end - start) for n in self._starts[i + 1 :]]

    def _exchange(self, i: int, tokens: Tokens) -> None:
        """Replace only what differs between a file's old tokens and its new ones."""
        old = self._segment.tokens[self._starts[i] : self._starts[i + 1] - 1]
        head = _n_same(old, tokens)
        tail = _n_same(old[head:][::-1], tokens[head:][::-1])
        start = self._starts[i] + head
        self._replace(start, len(old) - head - tail, tokens[head : len(tokens) - tail])
        grown = len(tokens) - len(old)
        self._starts[i + 1 :] = [n + grown for n in self._starts[i + 1 :]]

    def _replace(self, start: int, n_removed: int, new: Tokens) -> None:
        """Splice, and count again what lies across the change: two tokens on either side."""
        before = self._segment.tokens
        low = max(start - 2, 0)
        gone = build_counts(before[low : start + n_removed + 2])
        self._segment = splice(self._segment, start, n_removed, new)
        come = build_counts(self._segment.tokens[low : start + len(new) + 2])
        self._counts = add_counts(add_counts(self._counts, gone, -1), come)


def _n_same(one: Tokens, other: Tokens) -> int:
    """How many tokens both have in common from the start."""
    n = min(len(one), len(other))
    differing = np.flatnonzero(one[:n] != other[:n])
    return int(differing[0]) if len(differing) else n
