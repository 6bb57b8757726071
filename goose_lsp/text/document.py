"""An open document as the editor sees it: lines, each with its own line end.

Lines end at LF, CRLF or a lone CR only; a form feed, NEL or U+2028 is an ordinary character.
Columns are code points. Two surrogate halves never stand side by side: they are the one character
that an editor shows, and `Document` joins them.
"""

import re
from copy import copy
from io import StringIO

from goose_lsp.request import Edit, Point

_SPLIT_CHARACTER = re.compile("[\ud800-\udbff][\udc00-\udfff]")


class Document:
    """Mutable, with one owner; everybody else gets a `snapshot`.

    `lines` is never empty. The last line has no line end and may be "": "a\\n" has the lines
    "a\\n" and "".
    """

    __slots__ = ("language", "lines", "uri", "version")

    def __init__(self, uri: str, version: int, language: str, text: str) -> None:
        self.uri = uri
        self.version = version
        self.language = language
        self.lines = split_lines(_join_surrogates(text))

    @property
    def text(self) -> str:
        return "".join(self.lines)

    @property
    def n_lines(self) -> int:
        return len(self.lines)

    def line_text(self, line: int) -> str:
        """The line without its line end."""
        return self.lines[line].rstrip("\r\n")

    def contains(self, point: Point) -> bool:
        return 0 <= point.line < self.n_lines and 0 <= point.column <= len(
            self.line_text(point.line)
        )

    def clamp(self, point: Point) -> Point:
        """The nearest place in the text; a line after the last one means the end of the text."""
        if point.line < 0:
            return Point(0, 0)
        if point.line >= self.n_lines:
            return Point(self.n_lines - 1, len(self.lines[-1]))
        column = min(max(point.column, 0), len(self.line_text(point.line)))
        return Point(point.line, column)

    def apply(self, edit: Edit) -> None:
        """Replace edit.start..edit.end, clamped and put in order. Splits only the lines it touches."""
        start, end = sorted((self.clamp(edit.start), self.clamp(edit.end)))
        first = start.line
        head = self.lines[first][: start.column]
        tail = self.lines[end.line][end.column :]
        text = _join_surrogates(head + edit.text + tail)
        if first and text.startswith("\n") and self.lines[first - 1].endswith("\r"):
            first -= 1
            text = self.lines[first] + text
        pieces = split_lines(text)
        if end.line < self.n_lines - 1:
            pieces.pop()  # `tail` brought its line end, and the line after it is already there
        self.lines[first : end.line + 1] = pieces

    def snapshot(self) -> "Document":
        """An independent copy; the line texts themselves are shared."""
        clone = copy(self)
        clone.lines = list(self.lines)
        return clone

    def text_before(self, point: Point, max_chars: int) -> str:
        """At most the last `max_chars` characters before `point`, at a cost in what is returned."""
        point = self.clamp(point)
        pieces = [self.lines[point.line][max(point.column - max_chars, 0) : point.column]]
        n_chars, line = len(pieces[0]), point.line
        while n_chars < max_chars and line > 0:
            line -= 1
            pieces.append(self.lines[line])
            n_chars += len(self.lines[line])
        return "".join(reversed(pieces))[max(n_chars - max_chars, 0) :]

    def text_after(self, point: Point, max_chars: int) -> str:
        """At most the first `max_chars` characters after `point`, at a cost in what is returned."""
        point = self.clamp(point)
        pieces = [self.lines[point.line][point.column : point.column + max(max_chars, 0)]]
        n_chars, line = len(pieces[0]), point.line
        while n_chars < max_chars and line < self.n_lines - 1:
            line += 1
            pieces.append(self.lines[line])
            n_chars += len(self.lines[line])
        return "".join(pieces)[: max(max_chars, 0)]


def split_lines(text: str) -> list[str]:
    """The lines with their line ends; the last one has none. `str.splitlines` splits at far more."""
    lines = list(StringIO(text, newline=""))
    if not lines or lines[-1].endswith(("\r", "\n")):
        lines.append("")
    return lines


def _join_surrogates(text: str) -> str:
    return _SPLIT_CHARACTER.sub(_joined, text)


def _joined(match: re.Match[str]) -> str:
    return match[0].encode("utf-16-le", "surrogatepass").decode("utf-16-le")
