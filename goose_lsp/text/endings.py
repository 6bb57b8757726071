"""Where a completion ends: at its line, with its statement, or with the block around the cursor."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from goose_lsp.request import Point, Trigger
from goose_lsp.text.block_ending import CELL_MARKER, BlockEnding, Unit
from goose_lsp.text.document import Document
from goose_lsp.text.syntax.grammars import grammar_of
from goose_lsp.text.syntax.scope import Scope, owner_line, scope_at
from goose_lsp.text.syntax.tokens import Role, line_indent
from goose_lsp.text.syntax.window import LOOK_BACK, MAX_AFTER

_MAX_LINE_CHARS = 5_000  # longer lines are data or minified: no grammar is asked
_MAX_LINES_BELOW = 100  # so many empty lines are passed over

_CLOSERS = re.compile(r"[\s)\]}>\"'`;,:]*")
_CLOSES = re.compile(r"[)\]}]|</|(?:end|fi|esac|done|until|catch|ensure|except|finally|rescue)\b")
_TAILS = re.compile(r"(?:elif|else|elseif|elsif|except|finally)\b")


class Ending(Protocol):
    """Has one owner, who asks after each decode step with the text so far, from the cursor on."""

    @property
    def is_single_line(self) -> bool: ...

    def end(self, text: str) -> int | None:
        """Where `text` must be cut, None while it may go on.

        A cut once found stays for longer texts. When the model has ended by itself, ask once more for
        the text with an LF after it: its last line counts only then.
        """


@dataclass(frozen=True, slots=True)
class EndRule:
    """The rule for text without a grammar: lines and their indentation decide."""

    indent: int  # characters of indentation of the cursor's line
    is_single_line: bool
    may_wrap: bool = (
        False  # a single line goes on while it leaves a list or a call open: none follows it
    )

    @classmethod
    def at(cls, line_before: str, line_after: str) -> "EndRule":
        return cls(_n_blanks(line_before), bool(line_after.strip()))

    def end(self, text: str) -> int | None:
        """The first line always belongs to the completion. After it a block ends before a line indented
        less than the cursor's, unless that closes a bracket of the text's own, before a cell's marker,
        and at the top level also at a blank line.
        """
        line_end = text.find("\n", len(text) - len(text.lstrip()) if not self.is_single_line else 0)
        if line_end < 0:
            return None
        if self.is_single_line:
            return self._wrapped_end(text, line_end) if self.may_wrap else line_end
        start = line_end + 1
        while start < len(text):
            next_end = text.find("\n", start)
            line = text[start:] if next_end < 0 else text[start:next_end]
            if self._is_outside(line, text[:start]):
                return line_end
            if next_end < 0:
                return None
            if line.strip(" \t"):
                line_end = next_end
            elif self.indent == 0:
                return line_end
            start = next_end + 1
        return None

    def _wrapped_end(self, text: str, line_end: int) -> int | None:
        while line_end >= 0 and _leaves_open(text[:line_end], "([", ")]"):
            line_end = text.find("\n", line_end + 1)
        return line_end if line_end >= 0 else None

    def _is_outside(self, line: str, text_before: str) -> bool:
        content = line.lstrip(" \t")
        if not content or _n_blanks(line) >= self.indent:
            return CELL_MARKER.match(line) is not None
        return content[0] not in ")]}" or not _leaves_open(text_before)


def _n_blanks(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


def _leaves_open(text: str, openers: str = "([{", closers: str = ")]}") -> bool:
    """Whether it has more opening brackets than closing ones, those of strings counted like others."""
    return sum(map(text.count, openers)) > sum(map(text.count, closers))


@dataclass(frozen=True, slots=True)
class _Place:
    """What the rules ask about a cursor."""

    trigger: Trigger
    before: str  # on the cursor's line
    after: str
    below: str  # the next line
    next_content: str  # the next line that is not empty; "" if there is none
    role: Role  # of a string or comment that the cursor is in

    @property
    def is_invoked(self) -> bool:
        return self.trigger is Trigger.INVOKED

    @property
    def is_followed(self) -> bool:
        return _CLOSERS.fullmatch(self.after) is None

    @property
    def is_blank(self) -> bool:
        return not self.before.strip()

    @property
    def opens_block(self) -> bool:
        return not self.after.strip() and self.before.rstrip().endswith("{")

    def is_in_block(self, line: str) -> bool:
        """Whether a line further down belongs to the cursor's block, or to one that its line opens."""
        content = line.strip()
        return bool(content) and not _CLOSES.match(content) and not self._is_outside(line)

    def _is_outside(self, line: str) -> bool:
        indent, own = _width(line), _width(self.before)
        return indent < own or (indent == own and _TAILS.match(line.lstrip()) is not None)


# The first rule that applies decides. None: the line. README.md shows this table.
_RULES: tuple[tuple[str, Callable[[_Place], bool], Unit | None], ...] = (
    ("more than closers follow on the line", lambda p: p.is_followed, None),
    ("inside a string", lambda p: p.role is Role.STRING, None),
    ("inside a comment", lambda p: p.role is Role.COMMENT and not p.is_invoked, None),
    ("the next line is of this block", lambda p: p.is_in_block(p.below) and not p.is_invoked, None),
    ("the line opens a block with a brace", lambda p: p.opens_block, Unit.BLOCK),
    ("the line has begun", lambda p: not p.is_blank, Unit.STATEMENT),
    ("invoked by hand", lambda p: p.is_invoked, Unit.BLOCK),
    (
        "an empty line amid the block's lines",
        lambda p: bool(p.before) and p.is_in_block(p.next_content),
        Unit.STATEMENT,
    ),
    ("an empty line elsewhere", lambda p: True, Unit.BLOCK),
)


def choose_ending(document: Document, cursor: Point, trigger: Trigger) -> Ending:
    """How a completion at the cursor, which lies in the document, ends. Costs one bounded parse."""
    line = document.line_text(cursor.line)
    before, after = line[: cursor.column], line[cursor.column :]
    scope = _scope(document, cursor) if len(line) <= _MAX_LINE_CHARS else None
    below = document.line_text(cursor.line + 1) if cursor.line + 1 < document.n_lines else ""
    role = scope.role if scope else Role.OTHER
    content = _next_content(document, cursor.line)
    place = _Place(trigger, before, after, below, content, role)
    unit = next(unit for _, applies, unit in _RULES if applies(place))
    if unit is None or scope is None:
        may_wrap = (
            unit is None and not place.after.strip() and scope is not None and role is Role.OTHER
        )
        return EndRule(_n_blanks(before), unit is None, may_wrap)
    return BlockEnding(scope, unit, place.is_blank, _may_go_on(scope, place, unit))


def _scope(document: Document, cursor: Point) -> Scope | None:
    grammar = grammar_of(document.language, document.uri)
    if grammar is None:
        return None
    before = document.text_before(cursor, LOOK_BACK)
    return scope_at(before, document.text_after(cursor, MAX_AFTER), grammar)


def _next_content(document: Document, line: int) -> str:
    below = range(line + 1, min(line + 1 + _MAX_LINES_BELOW, document.n_lines))
    return next((text for n in below if (text := document.line_text(n)).strip()), "")


def _may_go_on(scope: Scope, place: _Place, unit: Unit) -> bool:
    """Whether an `else` may follow an indented block: none stands below, nor anything it would cut off."""
    if not scope.grammar.is_indented or not place.next_content:
        return True
    if _TAILS.match(place.next_content.lstrip()):
        return False
    owner = owner_line(scope.parse.data, scope.offset)
    if unit is Unit.STATEMENT or owner is None:
        return True
    return _width(place.next_content) < line_indent(scope.parse.data, owner)


def _width(line: str) -> int:
    """Of its indentation; a tab is four."""
    return len(line[: _n_blanks(line)].expandtabs(4))
