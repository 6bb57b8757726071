"""Which of the windows found are shown: names in common count, and so does whether the current file imports a file,
lies near it, or it was edited here lately. Windows that overlap become one."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from goose_lsp.index.imports import Imports
from goose_lsp.index.windows import BUCKET_TOKENS, WINDOW_TOKENS, Window

Place = tuple[str, int]  # path and 0-based line

# Windows that score less than this share of the best one are not worth their tokens.
_MIN_SHARE = 0.3
_MAX_CHOSEN = 8
# A window begins and ends anywhere in a line: room for the parts of lines that are cut off.
_MARGIN_TOKENS = BUCKET_TOKENS // 4
_MAX_MERGED_TOKENS = 2 * WINDOW_TOKENS
# What a window gains, as a share of its score.
_IMPORTED, _NEAR, _EDITED = 1.0, 0.25, 0.5
_NEAR_LINES = 24


class Viewpoint(NamedTuple):
    """Where the user is and what makes other files more or less likely to matter there."""

    path: str
    imports: Imports
    recent: tuple[Place, ...]


def rank(
    windows: Iterable[Window], viewpoint: Viewpoint, line_of: Callable[[Window], int]
) -> list[Window]:
    """Few windows, best first, none overlapping another; `line_of` gives the line in which one begins."""
    gained = [w._replace(score=w.score * _gain(w, viewpoint, line_of)) for w in windows]
    gained.sort(key=lambda window: -window.score)
    least = gained[0].score * _MIN_SHARE if gained else 0.0
    chosen: list[Window] = []
    for window in gained:
        if window.score >= least and len(chosen) < _MAX_CHOSEN:
            _take(chosen, _widened(window))
    return chosen


def _gain(window: Window, viewpoint: Viewpoint, line_of: Callable[[Window], int]) -> float:
    gain = 1 + _NEAR * _nearness(viewpoint.path, window.path)
    if viewpoint.imports.covers(window.path):
        gain += _IMPORTED
    if any(path == window.path for path, _ in viewpoint.recent):
        first = line_of(window)
        lines = range(first - _NEAR_LINES, first + 2 * _NEAR_LINES)
        if any(path == window.path and line in lines for path, line in viewpoint.recent):
            gain += _EDITED
    return gain


def _nearness(path: str, other: str) -> float:
    """1 in the same folder, less with every step from folder to folder."""
    folders, others = path.split("/")[:-1], other.split("/")[:-1]
    n_common = 0
    for one, two in zip(folders, others, strict=False):
        if one != two:
            break
        n_common += 1
    return 1 / (1 + len(folders) + len(others) - 2 * n_common)


def _widened(window: Window) -> Window:
    return window._replace(
        start=max(window.file_start, window.start - _MARGIN_TOKENS),
        stop=min(window.file_stop, window.stop + _MARGIN_TOKENS),
    )


def _take(chosen: list[Window], window: Window) -> None:
    """Add a window; one that touches another extends it, or is left out where that would grow too long."""
    touching = [i for i, other in enumerate(chosen) if _touch(window, other)]
    if not touching:
        chosen.append(window)
        return
    first = chosen[touching[0]]
    union = first._replace(start=min(first.start, window.start), stop=max(first.stop, window.stop))
    if len(touching) == 1 and union.stop - union.start <= _MAX_MERGED_TOKENS:
        chosen[touching[0]] = union


def _touch(one: Window, other: Window) -> bool:
    """Whether two windows of one file share tokens."""
    is_same_file = (one.is_delta, one.file_start) == (other.is_delta, other.file_start)
    return is_same_file and one.start < other.stop and other.start < one.stop
