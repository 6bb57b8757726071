"""Windows of a document around a cursor: where they start, where they end, their text with LF line ends."""

from collections.abc import Callable

from goose_lsp.prompt.opening import Opened
from goose_lsp.request import Point
from goose_lsp.text.document import Document

# Windows start at the first line or at multiples of the largest of these that leaves them half of
# what would fit: windows of neighbouring places then start alike and share what is cached.
ANCHOR_LINES = (32, 8, 1)
# The same inside a line that is too long by itself, in characters.
ANCHOR_COLUMNS = (512, 64, 1)
# Code has more than two and rarely over five characters a token; bounds what is encoded for nothing.
MAX_CHARS_PER_TOKEN = 5
# A window that has to move leaves this share of its budget to be typed into before the next move.
FRESH_SHARE = 0.75
# A window that starts too close to the cursor is left for an earlier one.
MIN_SHARE = 0.25

Open = Callable[[str], Opened]


def text_between(document: Document, start: Point, end: Point) -> str:
    """The text with LF line ends; both points lie inside the document, `start` not after `end`."""
    first, last = document.lines[start.line], document.lines[end.line]
    if start.line == end.line:
        return first[start.column : end.column]
    middle = document.lines[start.line + 1 : end.line]
    return _lf("".join([first[start.column :], *middle, last[: end.column]]))


def open_window(
    document: Document, cursor: Point, open_text: Open, budget: int, previous: Point | None
) -> tuple[Point, Opened]:
    """Where a window of at most `budget` tokens before the cursor starts, and its tokens.

    A previous start is kept while it serves; else the document's start where all fits; else an
    anchor that leaves room to type.
    """
    if previous is not None and document.contains(previous) and previous <= cursor:
        opened = open_text(text_between(document, previous, cursor))
        is_poor = previous > Point(0, 0) and len(opened.token_ids) < budget * MIN_SHARE
        if len(opened.token_ids) <= budget and not is_poor:
            return previous, opened
    max_chars = budget * MAX_CHARS_PER_TOKEN
    while True:
        start = _anchor(document, cursor, max_chars)
        text = text_between(document, start, cursor)
        opened = open_text(text)
        n_tokens = len(opened.token_ids)
        if n_tokens <= budget:
            return start, opened
        # Shrinks at least by a quarter, so that the loop ends whatever the text.
        max_chars = min(int(len(text) * FRESH_SHARE * budget / n_tokens), max_chars * 3 // 4)


def _anchor(document: Document, cursor: Point, max_chars: int) -> Point:
    """The roundest point from which at most `max_chars` and at least half as many characters lead to the cursor."""
    line, n_chars = cursor.line, cursor.column
    while line > 0 and n_chars + len(document.lines[line - 1]) <= max_chars:
        line -= 1
        n_chars += len(document.lines[line])
    if line == 0 and n_chars <= max_chars:
        return Point(0, 0)
    # The earliest point of all lies in a line that is cut by the limit: the cursor's or one before.
    cut_line = line if n_chars > max_chars else line - 1
    cut_column = _n_chars(document, Point(cut_line, 0), cursor) - max_chars
    anchors = [Point(_round_up(line, step), 0) for step in ANCHOR_LINES]
    anchors += [Point(cut_line, _round_up(cut_column, step)) for step in ANCHOR_COLUMNS]
    for anchor in anchors:
        if document.contains(anchor) and anchor <= cursor:
            n_left = _n_chars(document, anchor, cursor)
            if max_chars // 2 <= n_left <= max_chars:
                return anchor
    return document.clamp(anchors[-1])


def _n_chars(document: Document, start: Point, end: Point) -> int:
    n_chars = sum(map(len, document.lines[start.line : end.line]))
    return n_chars - start.column + end.column


def fit_after(text: str, encode: Callable[[str], list[int]], budget: int) -> tuple[str, list[int]]:
    """The start of `text` that fits, whole lines where possible, and its tokens."""
    token_ids = encode(text)
    while len(token_ids) > budget:
        text = text[: len(text) * budget // len(token_ids)]
        whole_lines = text[: text.rfind("\n") + 1]
        text = whole_lines or text
        token_ids = encode(text)
    return text, token_ids


def text_behind(document: Document, cursor: Point, max_chars: int) -> str:
    """At most the next `max_chars` characters after the cursor."""
    return _lf(document.text_after(cursor, max_chars))


def _round_up(n: int, step: int) -> int:
    return -(-n // step) * step


def _lf(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")
