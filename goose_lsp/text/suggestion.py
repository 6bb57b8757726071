"""Whether a text offered a moment ago still fits where the cursor is now, and what is left of it. Pure.

It fits if what stood around the cursor is unchanged, except that a beginning of the text has been typed
before the cursor and that closing marks, which editors put in, stand behind it. Only a few hundred
characters on either side are compared, so the cost depends on the text and not on the document.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from goose_lsp.request import Completion, Point
from goose_lsp.text.document import Document
from goose_lsp.text.rules.around import Around, look_around, with_lf
from goose_lsp.text.rules.following import without_following_lines
from goose_lsp.text.rules.rest_of_line import join_rest

# An edit farther away does not make a suggestion wrong.
MAX_BEFORE, MAX_AFTER = 512, 256
_MAX_TYPED = 256  # more is another place
_MAX_CLOSERS = 64
_CLOSERS = re.compile(rf"[\s)\]}}>\"'`;,]{{0,{_MAX_CLOSERS}}}")
# Where they are blanks alone, the cursor's line may move to column 0 and be the same line still.
_INDENTED_LANGUAGES = frozenset(
    {
        "python",
        "yaml",
        "dockercompose",
        "haskell",
        "fsharp",
        "nim",
        "makefile",
        "coffeescript",
        "pug",
    }
)


@dataclass(frozen=True, slots=True)
class Typed:
    """What has come to a place since: before the cursor, and closing marks behind it."""

    text: str
    closers: str


@dataclass(frozen=True, slots=True)
class Place:
    """What stands around a cursor, line ends as LF."""

    before: str
    after: str
    column: int
    has_start: bool  # nothing stands before `before`
    has_end: bool

    @classmethod
    def at(cls, document: Document, cursor: Point, n_replaced: int = 0) -> "Place":
        """The place without the `n_replaced` characters behind the cursor, which are about to go."""
        before = document.text_before(cursor, MAX_BEFORE)
        after = document.text_after(cursor, n_replaced + MAX_AFTER)
        return cls(
            with_lf(before),
            with_lf(after[n_replaced:]),
            cursor.column,
            has_start=len(before) < MAX_BEFORE,
            has_end=len(after) < n_replaced + MAX_AFTER,
        )

    def typed_since(self, document: Document, cursor: Point, expected: str) -> Typed | None:
        """What has been typed here; None if anything else has changed near by.

        Text of several lines is recognised only if it begins like `expected`.
        """
        closers = self._closers_since(document, cursor)
        if closers is None:
            return None
        max_typed = max(len(expected), _MAX_TYPED)
        limit = MAX_BEFORE + 2 * max_typed  # a line end may be CRLF
        raw = document.text_before(cursor, limit)
        now, is_whole = with_lf(raw), len(raw) < limit
        for n_typed in self._lengths(cursor.column, expected):
            start = len(now) - n_typed - len(self.before)
            if (
                n_typed > max_typed
                or start < 0
                or (self.has_start and not (start == 0 and is_whole))
            ):
                continue
            if now.startswith(self.before, start):
                return Typed(now[len(now) - n_typed :], closers)
        return None

    def _lengths(self, column: int, expected: str) -> Iterator[int]:
        """How many characters may have been typed: on the same line, or to a later line of `expected`."""
        if column >= self.column:
            yield column - self.column
        line_end = expected.find("\n")
        while line_end >= 0:
            yield line_end + 1 + column
            line_end = expected.find("\n", line_end + 1)

    def _closers_since(self, document: Document, cursor: Point) -> str | None:
        limit = MAX_AFTER + 2 * _MAX_CLOSERS
        raw = document.text_after(cursor, limit)
        now, is_whole = with_lf(raw), len(raw) < limit
        found = _CLOSERS.match(now)
        for n in range(found.end() + 1 if found else 1):
            is_end = is_whole and n + len(self.after) == len(now)
            if now.startswith(self.after, n) and (is_end or not self.has_end):
                return now[:n]
        return None


@dataclass(frozen=True, slots=True)
class Remainder:
    """What is left of a suggestion: `text` stands for the first `n_replaced` characters behind the cursor."""

    text: str  # "": all of it has been typed
    n_replaced: int
    n_typed: int


@dataclass(frozen=True, slots=True)
class Suggestion:
    text: str  # LF
    place: Place
    replaced: str  # behind the cursor

    @classmethod
    def of(cls, document: Document, cursor: Point, completion: Completion) -> "Suggestion | None":
        """The completion made for this cursor; None if there is no text or it begins elsewhere."""
        if not completion.text or completion.start != cursor:
            return None
        n_replaced = completion.end.column - cursor.column
        replaced = document.lines[cursor.line][cursor.column : completion.end.column]
        return cls(completion.text, Place.at(document, cursor, n_replaced), replaced)

    def remainder(self, document: Document, cursor: Point) -> Remainder | None:
        """What is left to offer at the cursor, which lies in the document; None if it does not fit.

        What was typed must agree with the text to the letter, blanks included: other blanks than the
        suggested ones are another indentation or another style, and a new request knows more.
        """
        typed = self.place.typed_since(document, cursor, self.text)
        if typed is None and self._may_move(document):
            typed = self._at_margin.typed_since(document, cursor, self.text)
        if typed is None or not self.text.startswith(typed.text):
            return None
        left = self.text[len(typed.text) :]
        around = look_around(document, cursor, document.language, None)
        text, n_replaced = _joined(left, typed.closers, self.replaced, around)
        return Remainder(text, n_replaced, len(typed.text))

    def _may_move(self, document: Document) -> bool:
        """Whether the line may lose all of its indentation: it is one line, and blanks mean nothing."""
        is_one_line = "\n" not in self.text
        return is_one_line and document.language.lower() not in _INDENTED_LANGUAGES

    @property
    def _at_margin(self) -> Place:
        before = self.place.before.rstrip(" \t")
        is_blank_line = not before or before.endswith("\n")
        return replace(self.place, before=before, column=0) if is_blank_line else self.place


def _joined(left: str, closers: str, replaced: str, around: Around) -> tuple[str, int]:
    """The rest of a suggestion among the closing marks that are there now, and how many it replaces."""
    if closers == replaced or ("\n" not in closers and left.endswith(closers)):
        n_replaced = len(closers)
    else:
        if "\n" in closers:
            left = without_following_lines(left, around).rstrip()
        joined = join_rest(left, around)
        left, n_replaced = joined.text, joined.n_replaced
    is_there = left.strip() == around.after[:n_replaced].strip()
    return ("", 0) if is_there else (left, n_replaced)
