"""The stretches of a store in which given names stand most: its order of suffixes read as an inverted index.

The tokens of a name select a range of the order: as long as the name is frequent, holding all its places.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from goose_lsp.draft.segment import find_range
from goose_lsp.draft.store import DEAD, Library, StoreView
from goose_lsp.index.identifiers import Spelling

# A window is two buckets, about 20 lines of code; the next window begins one bucket later.
BUCKET_TOKENS = 96
WINDOW_TOKENS = 2 * BUCKET_TOKENS
MAX_WINDOWS = 128
# Places read of one name, spread evenly over all there are.
_MAX_PLACES = 256
_MAX_DELTA_PLACES = 4096
# A second occurrence in a window adds less than the first.
_SATURATION = 1.2
# A name that stands in every window or more often tells nothing.
_MIN_IDF = float(np.log(2))

Tokens = npt.NDArray[np.int32]
Keys = npt.NDArray[np.int64]


class NamedStore(NamedTuple):
    """A view and how its files are called: those of the base, then those of the delta."""

    view: StoreView
    paths: Sequence[str]

    def half(self, is_delta: bool) -> Library:
        return self.view.delta if is_delta else self.view.base

    def path(self, is_delta: bool, file_idx: int) -> str:
        return self.paths[file_idx + is_delta * len(self.view.base.weights)]

    def delta_files(self) -> dict[str, int]:
        """The living files of the delta and their places in it; what the base says of them is out of date."""
        alive = np.flatnonzero(self.view.delta.weights != DEAD).tolist()
        return {self.path(True, file_idx): file_idx for file_idx in alive}

    def span(self, path: str) -> tuple[int, int]:
        """[start, stop) of a living file in the delta, its separator included; empty where there is none."""
        file_idx = self.delta_files().get(path)
        if file_idx is None:
            return 0, 0
        start, stop = self.view.delta.starts[file_idx : file_idx + 2].tolist()
        return start, stop


class Term(NamedTuple):
    spellings: tuple[Spelling, ...]
    weight: float


class Window(NamedTuple):
    """tokens[start : stop] of one half of a store, inside the file tokens[file_start : file_stop]."""

    path: str
    is_delta: bool
    file_idx: int  # in its half
    file_start: int
    file_stop: int
    start: int
    stop: int
    score: float


class _Half(NamedTuple):
    library: Library
    n_before: int  # buckets of the other half, where that comes first
    # Each file's first bucket. A file of n tokens has at most n // BUCKET_TOKENS + 1, so no two files share one.
    buckets: Keys  # [F + 1]


def find_windows(store: NamedStore, terms: Sequence[Term], current: str) -> list[Window]:
    """The best windows of living files other than `current`, best first, equal ones in order of place.

    They may overlap. The current file does not even count as part of the workspace: nothing that the user types there
    changes what is found elsewhere.
    """
    view, hidden = store.view, store.span(current)
    halves = _halves(view)
    n_tokens = len(view.base.segment.tokens) + len(view.delta.segment.tokens)
    n_windows = (n_tokens - (hidden[1] - hidden[0])) / WINDOW_TOKENS
    hits, values = [], []
    for term in terms:
        base, n_base = _places(view.base, term.spellings, (0, 0), _MAX_PLACES)
        delta, n_delta = _places(view.delta, term.spellings, hidden, _MAX_DELTA_PLACES)
        idf = float(np.log1p(n_windows / max(n_base + n_delta, 1)))
        if idf >= _MIN_IDF:
            delta = delta[:: max(len(delta) // _MAX_PLACES, 1)]
            hits.append(np.concatenate([_keys(halves[0], base), _keys(halves[1], delta)]))
            values.append(idf * term.weight)
    best = [_window(store, halves, *found) for found in _best(hits, np.array(values))]
    newer = store.delta_files()
    return [w for w in best if w.path != current and (w.is_delta or w.path not in newer)]


def _halves(view: StoreView) -> tuple[_Half, _Half]:
    base, delta = (
        half.starts // BUCKET_TOKENS + np.arange(len(half.starts), dtype=np.int64)
        for half in (view.base, view.delta)
    )
    return _Half(view.base, 0, base), _Half(view.delta, int(base[-1]), delta)


def _places(
    library: Library, spellings: Sequence[Spelling], hidden: tuple[int, int], max_places: int
) -> tuple[Tokens, int]:
    """Where a name stands, evenly thinned out, and how often it does; tokens[hidden[0] : hidden[1]] left out."""
    found, n = [np.zeros(0, np.int32)], 0
    for spelling in spellings:
        low, high = find_range(library.segment, spelling, len(spelling))
        places = library.segment.order[low : high : max((high - low) // max_places, 1)]
        is_shown = (places < hidden[0]) | (places >= hidden[1])
        found.append(places[is_shown])
        n += high - low - int(np.count_nonzero(~is_shown))
    return np.concatenate(found), n


def _keys(half: _Half, places: Tokens) -> Keys:
    """The windows that hold each place, two for most; places in dead files left out."""
    library = half.library
    file_idx = np.searchsorted(library.starts, places, side="right") - 1
    is_alive = library.weights[file_idx] != DEAD
    places, file_idx = places[is_alive], file_idx[is_alive]
    bucket = (places - library.starts[file_idx]) // BUCKET_TOKENS
    keys = half.n_before + half.buckets[file_idx] + bucket
    return np.concatenate((keys, keys[bucket > 0] - 1))


def _best(hits: Sequence[Keys], values: npt.NDArray[np.float64]) -> list[tuple[int, float]]:
    """The windows for which the terms found in them add up to most: (key, score)."""
    n_terms = len(hits)
    pairs = np.concatenate(
        [keys * n_terms + i for i, keys in enumerate(hits)] or [np.zeros(0, np.int64)]
    )
    if len(pairs) == 0:
        return []
    pairs, n_hits = np.unique(pairs, return_counts=True)
    worth = values[pairs % n_terms] * n_hits * (1 + _SATURATION) / (n_hits + _SATURATION)
    keys, firsts = np.unique(pairs // n_terms, return_index=True)
    scores = np.add.reduceat(worth, firsts)
    best = np.lexsort((keys, -scores))[:MAX_WINDOWS]
    return list(zip(keys[best].tolist(), scores[best].tolist(), strict=True))


def _window(store: NamedStore, halves: tuple[_Half, _Half], key: int, score: float) -> Window:
    is_delta = key >= halves[1].n_before
    half = halves[is_delta]
    bucket = key - half.n_before
    file_idx = int(np.searchsorted(half.buckets, bucket, side="right")) - 1
    file_start, file_end = half.library.starts[file_idx : file_idx + 2].tolist()
    start = file_start + (bucket - int(half.buckets[file_idx])) * BUCKET_TOKENS
    stop = min(start + WINDOW_TOKENS, file_end - 1)
    path = store.path(is_delta, file_idx)
    return Window(path, is_delta, file_idx, file_start, file_end - 1, start, stop, score)
