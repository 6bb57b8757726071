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

# A window is two buckets, about 12 lines of code; the next window begins one bucket later.
BUCKET_TOKENS = 64
WINDOW_TOKENS = 2 * BUCKET_TOKENS
MAX_WINDOWS = 32
# Places read of one name, spread evenly over all there are.
_MAX_PLACES = 256
_MAX_DELTA_PLACES = 1024
# A second occurrence in a window adds less than the first.
_SATURATION = 1.2
# A name that stands in every window or more often tells nothing.
_MIN_IDF = float(np.log(2))

Tokens = npt.NDArray[np.int32]
Keys = npt.NDArray[np.int64]
Values = npt.NDArray[np.float64]  # [terms]


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


class _Places(NamedTuple):
    """Where terms stand in one half of a store, evenly thinned out where one stands often."""

    positions: Tokens  # [P]
    term_idx: Keys  # [P]
    frequency: Keys  # [terms]: how often each stands there


def find_windows(store: NamedStore, terms: Sequence[Term], current: str) -> list[Window]:
    """The best windows of living files other than `current`, best first, equal ones in order of place.

    They may overlap. The current file does not even count as part of the workspace: nothing that the user types there
    changes what is found elsewhere.
    """
    (base, delta, _), hidden = store.view, store.span(current)
    in_base = _places(base, terms, _MAX_PLACES)
    in_delta = _without(_places(delta, terms, _MAX_DELTA_PLACES), *hidden)
    n_tokens = len(base.segment.tokens) + len(delta.segment.tokens) - (hidden[1] - hidden[0])
    frequency = np.maximum(in_base.frequency + in_delta.frequency, 1)
    idf = np.log1p(n_tokens / WINDOW_TOKENS / frequency)
    values = np.where(idf >= _MIN_IDF, idf * [term.weight for term in terms], 0.0)
    buckets = _first_buckets(base), _first_buckets(delta)
    pairs = [_pairs(base, in_base, buckets[0], values), _pairs(delta, in_delta, buckets[1], values)]
    pairs[1] += buckets[0][-1] * len(terms)
    best = [_window(store, buckets, *found) for found in _best(np.concatenate(pairs), values)]
    newer = store.delta_files()
    return [w for w in best if w.path != current and (w.is_delta or w.path not in newer)]


def _places(library: Library, terms: Sequence[Term], max_places: int) -> _Places:
    found, frequency = [np.zeros(0, np.int32)], np.zeros(len(terms), np.int64)
    of_term = [0]
    for i, term in enumerate(terms):
        for spelling in term.spellings if len(library.segment.order) else ():
            low, high = find_range(library.segment, spelling, len(spelling))
            found.append(library.segment.order[low : high : (high - low) // max_places + 1])
            of_term.append(i)
            frequency[i] += high - low
    term_idx = np.repeat(np.array(of_term, np.int64), [len(places) for places in found])
    return _Places(np.concatenate(found), term_idx, frequency)


def _without(places: _Places, start: int, stop: int) -> _Places:
    is_shown = (places.positions < start) | (places.positions >= stop)
    n_hidden = np.bincount(places.term_idx[~is_shown], minlength=len(places.frequency))
    return _Places(
        places.positions[is_shown], places.term_idx[is_shown], places.frequency - n_hidden
    )


def _first_buckets(library: Library) -> Keys:
    """[F + 1]. A file of n tokens has at most n // BUCKET_TOKENS + 1 buckets, so no two files share one."""
    return library.starts // BUCKET_TOKENS + np.arange(len(library.starts), dtype=np.int64)


def _pairs(library: Library, places: _Places, buckets: Keys, values: Values) -> Keys:
    """window * terms + term for all places in living files of terms that are worth something.

    A window has the number of its first bucket, and most places lie in two windows.
    """
    file_idx = np.searchsorted(library.starts, places.positions, side="right") - 1
    counts = (library.weights[file_idx] != DEAD) & (values[places.term_idx] > 0)
    file_idx = file_idx[counts]
    bucket = (places.positions[counts] - library.starts[file_idx]) // BUCKET_TOKENS
    pairs = (buckets[file_idx] + bucket) * len(values) + places.term_idx[counts]
    return np.concatenate((pairs, pairs[bucket > 0] - len(values)))


def _best(pairs: Keys, values: Values) -> list[tuple[int, float]]:
    """The windows whose terms add up to most, and to how much."""
    if len(pairs) == 0:
        return []
    pairs = np.sort(pairs)
    firsts = _run_starts(pairs)
    n_hits = np.diff(firsts, append=len(pairs))
    windows, term_idx = np.divmod(pairs[firsts], len(values))
    worth = values[term_idx] * n_hits * (1 + _SATURATION) / (n_hits + _SATURATION)
    firsts = _run_starts(windows)
    windows, scores = windows[firsts], np.add.reduceat(worth, firsts)
    best = np.lexsort((windows, -scores))[:MAX_WINDOWS]
    return list(zip(windows[best].tolist(), scores[best].tolist(), strict=True))


def _run_starts(ascending: Keys) -> Keys:
    """Where each run of equal numbers begins."""
    return np.flatnonzero(np.diff(ascending, prepend=-1))


def _window(store: NamedStore, buckets: tuple[Keys, Keys], window: int, score: float) -> Window:
    is_delta = window >= int(buckets[0][-1])
    bucket = window - int(buckets[0][-1]) * is_delta
    file_idx = int(np.searchsorted(buckets[is_delta], bucket, side="right")) - 1
    file_start, file_end = store.half(is_delta).starts[file_idx : file_idx + 2].tolist()
    start = file_start + (bucket - int(buckets[is_delta][file_idx])) * BUCKET_TOKENS
    stop = min(start + WINDOW_TOKENS, file_end - 1)
    path = store.path(is_delta, file_idx)
    return Window(path, is_delta, file_idx, file_start, file_end - 1, start, stop, score)
