"""Where a statement or a block ends, found by its tokens while it is being decoded.

The text is judged at a few points only: at each line's end and when the next line's first word is
known. What is found at a point depends on the text before it alone, so that looking late finds what
looking early would have. Each new point costs a parse of what is new (0.1 to 0.3 ms), other text nothing.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

from goose_lsp.text.syntax.parsing import Parse, extend
from goose_lsp.text.syntax.scope import Opener, Scope, owner_line
from goose_lsp.text.syntax.tokens import Role, Token, line_indent, tokens

# A line end, or a line's beginning up to the end of its first word or sign.
_POINT = re.compile(
    r"""(?: (?P<end>\n) | ^ )
    (?P<first> [ \t]* (?:
        [)\]}]  |  \w+ (?=\W)  |  < [^\n>]* (?: > | (?=\n) )
        |  [^\w\s)\]}<] (?: [^\n]{4} (?=[^\n]) | [^\n]{0,4} (?=\n) )
    ) )?""",
    re.VERBOSE,
)
CELL_MARKER = re.compile(r"[ \t]*(?:#|//|--) ?%%")  # of percent-format scripts

# Words that go on with the statement above, whatever it ended with.
_TAILS = frozenset(
    "else elif elsif elseif catch except finally rescue ensure then do".split()  # noqa: SIM905
)
_GOES_ON_AT_START = frozenset(
    "{ . ?. && || ? : | = == => -> + << and or where".split()  # noqa: SIM905
)
_GOES_ON_AT_END = frozenset(
    ", = := += -= => -> + - * / % && || | ? : . == != <= >= and or not else".split()  # noqa: SIM905
)
# A line that begins so may have another line, whatever it ends with.
_OPENS_STATEMENT = re.compile(
    rb"[ \t]*(?:[@{}]|(?:if|elif|else|elsif|for|foreach|while|do|try|except|catch|finally|with|async|def|class"
    rb"|match|case|switch|default)\b)"
)
_LEAVES = re.compile(rb"[ \t]*(?:return|raise|break|continue)\b")
_HAS_TAIL = re.compile(rb"[ \t]*(?:if|elif|for|while|try|except|async[ \t]+for)\b")
_BLOCK_CLOSERS = frozenset(("}", "</", "end", "until", "fi", "esac", "done"))
_BEFORE_DATA = frozenset("= := ( [ , : return ? || && {".split())  # noqa: SIM905 - "{" after these


class Unit(Enum):
    """What is completed."""

    STATEMENT = "statement"  # one, with the blocks that it opens
    BLOCK = "block"  # statements up to the end of the innermost block


@dataclass(slots=True)
class BlockEnding:
    """Has one owner: it remembers how far the text has been judged."""

    scope: Scope
    unit: Unit
    is_blank: bool  # nothing but blanks before the cursor on its line
    may_go_on: bool = True  # an `else` may follow the indented block: none stands below
    is_single_line: bool = field(default=False, init=False)
    _judged: str = field(default="", init=False)  # the longest text that was still open

    def end(self, text: str) -> int | None:
        """Where `text` must be cut, None while it may go on. Ask for text + LF once the model has ended."""
        judged = len(self._judged) if text.startswith(self._judged) else 0
        for point in self._points(text):
            if point <= judged:
                continue
            found = extend(self.scope.parse, self.scope.offset, text[:point])
            cut = None if found is None else _Reading(self, found).cut()
            if cut is not None:
                return cut
            self._judged = text[:point]
        return None

    def _points(self, text: str) -> Iterator[int]:
        for match in _POINT.finditer(text):
            if match["end"]:
                yield match.end("end")
            if match["first"] and (match["end"] or self.is_blank):
                yield match.end("first")


class _Reading:
    """One walk over the tokens of a text. Offsets count in the parse's data, where the cursor is `origin`."""

    def __init__(self, ending: BlockEnding, parse: Parse) -> None:
        scope = ending.scope
        self.ending, self.data, self.origin = ending, parse.data, scope.offset
        self.is_indented = scope.grammar.is_indented
        self.tokens = tokens(parse, scope.offset)  # the first may begin before the cursor
        self.unit = ending.unit
        self.enclosing: list[Opener] = list(scope.openers)
        self.opened: list[Token] = []  # by the text
        self.opened_block = False  # the outermost of `opened` is a block, not a list or an object
        # Of the cursor's line with the blanks that the text adds, then of the statement completed.
        self.indent = line_indent(self.data, self.origin)
        self.base: int | None = None  # of the block's lines; known with its first
        self.closed: tuple[int, int] | None = None  # the line of what it closed, and where it did
        self.last_type = scope.last_type
        self.last_end: int | None = None  # of the last token but comments; None before the first
        hard = [opener for opener in scope.openers if not opener.is_soft]
        self.is_top = not hard and self.indent == 0
        self.holds_definitions = ending.unit is Unit.BLOCK and (self.is_top or scope.is_container)
        self.n_statements = 0
        self.statement_cut = 0  # where the text ends without its last statement
        self.has_compound = False  # the last statement has a block of lines of its own

    def cut(self) -> int | None:
        """How much of the text belongs to the completion; None if all of it may."""
        previous_end = self.origin
        for token in self.tokens:
            begins_line = self.data.find(b"\n", previous_end, token.start) >= 0
            is_first = self.ending.is_blank and token is self.tokens[0]
            found = self._line(token) if begins_line or is_first else None
            if found is None:
                found = self._token(token)
            if found is not None:
                return max(found - self.origin, 0)
            previous_end = token.end
        is_over = self._is_simple_statement() or self._leaves_block()
        return self._line_end() - self.origin if is_over else None

    def _leaves_block(self) -> bool:
        """The last line, at its end, is one that nothing of its indented block can follow: `return` and the like."""
        if not self.is_indented or self.unit is not Unit.BLOCK or self.last_end is None:
            return False
        if self.opened or self.closed or any(not opener.is_soft for opener in self.enclosing):
            return False
        start = self.data.rfind(b"\n", 0, self.last_end) + 1
        if not _LEAVES.match(self.data, start) or line_indent(self.data, start) != self.base:
            return False
        behind = self.data[self.last_end :]
        if b"\n" not in behind or b"\\" in behind or self.last_type in _GOES_ON_AT_END:
            return False
        owner = owner_line(self.data, self.origin)
        has_tail = owner is not None and _HAS_TAIL.match(self.data, owner)
        return not (has_tail and self.ending.may_go_on)

    def _is_simple_statement(self) -> bool:
        """One line, now at its end, that nothing on the next could go on with: that one need not be seen."""
        if self.unit is not Unit.STATEMENT or self.opened or self.closed or self.last_end is None:
            return False
        if any(not opener.is_soft for opener in self.enclosing) and self.is_indented:
            return False
        begin = self.tokens[0].start if self.ending.is_blank else self.origin
        start = self.data.rfind(b"\n", 0, begin) + 1
        behind = self.data[self.last_end :]
        if b"\n" in self.data[start : self.last_end] or b"\n" not in behind or b"\\" in behind:
            return False
        if _OPENS_STATEMENT.match(self.data, start):
            return False
        ends = self.last_type not in _GOES_ON_AT_END if self.is_indented else self.last_type == ";"
        return ends and self.last_end > self.origin

    def _token(self, token: Token) -> int | None:
        if token.role is Role.COMMENT:
            return None
        if token.role is Role.CLOSE:
            found = self._close(token)
            if found is not None:
                return found
        elif token.role is Role.OPEN:
            if not self.opened:
                self.opened_block = self._is_block(token)
            self.opened.append(token)
        if self.last_end is None:
            self._begin(token)
        self.last_end, self.last_type = token.end, token.type
        return None

    def _begin(self, token: Token) -> None:
        """The first token of the text tells how the block's lines are indented."""
        is_beside = self.data.find(b"\n", self.origin, token.start) < 0
        indent = _indent_before(self.data, self.origin)
        is_placed = is_beside and self.ending.is_blank and indent > 0
        self.base = indent if is_placed else line_indent(self.data, token.start)
        self.n_statements = 1

    def _is_block(self, token: Token) -> bool:
        if self.is_indented or token.closer not in _BLOCK_CLOSERS:
            return False
        return token.type != "{" or self.last_type not in _BEFORE_DATA

    def _close(self, token: Token) -> int | None:
        """Pair a closer with what it closes; a cut where it leaves the completion's block."""
        for i in range(len(self.opened) - 1, -1, -1):
            if self.opened[i].closer == token.closer:
                del self.opened[i:]
                return None
        if self.ending.scope.grammar.name == "bash" and token.type == ")":
            return None  # of a pattern: `case x in a) ...`
        while self.enclosing and self.enclosing[-1].is_soft:
            if self.enclosing.pop().closer == token.closer:
                return None  # the text writes what follows the cursor anyway
        return self._close_block(token)

    def _close_block(self, token: Token) -> int | None:
        """The closer of a block that does not stand below belongs to the completion, others do not."""
        opener = self.enclosing[-1] if self.enclosing else None
        if opener is None or opener.closer != token.closer or opener.is_closed_below:
            return self._before(token)
        if self.closed is not None and not self._is_beside_closed(opener, token):
            return self._before(token)
        self.enclosing.pop()
        self.opened.clear()
        self.closed = (opener.line, token.end)
        self.indent, self.unit = opener.indent, Unit.STATEMENT
        return None

    def _is_beside_closed(self, opener: Opener, token: Token) -> bool:
        """Whether what the text has closed was opened, or is closed, on the same line."""
        assert self.closed is not None
        line, end = self.closed
        return opener.line == line or self.data.find(b"\n", end, token.start) < 0

    def _line(self, token: Token) -> int | None:
        """Judge the line that begins with the token."""
        if token.role is Role.COMMENT and CELL_MARKER.match(self._beginning(token)):
            return self._before(token)
        if self.last_end is None or token.role is Role.CLOSE:
            return None
        if self.opened:
            return self._compound() if self.opened_block else None
        if b"\\" in self.data[self.last_end : token.start]:
            return None  # the line end is escaped
        return self._indented_line(token) if self.is_indented else self._bracketed_line(token)

    def _bracketed_line(self, token: Token) -> int | None:
        goes_on = token.type in _TAILS or (
            self.last_type not in (";", "}")
            and not (self.closed and self.last_type == ",")
            and (token.type in _GOES_ON_AT_START or self.last_type in _GOES_ON_AT_END)
        )
        if self.unit is Unit.STATEMENT:
            return None if goes_on else self._line_end()
        if self.base and line_indent(self.data, token.start) < self.base:
            return None if self._may_stand_out(token) else self._before(token)
        return None if goes_on else self._next_statement(token)

    def _may_stand_out(self, token: Token) -> bool:
        """A preprocessor's line, or the `else` of a block that the text is still to close."""
        is_open = bool(self.enclosing) and not self.enclosing[-1].is_closed_below
        return self.data.startswith(b"#", token.start) or (token.type in _TAILS and is_open)

    def _indented_line(self, token: Token) -> int | None:
        if any(not opener.is_soft for opener in self.enclosing):
            return None  # lines within brackets are no statements
        indent = line_indent(self.data, token.start)
        if self.unit is Unit.BLOCK:
            assert self.base is not None
            if indent < self.base:
                return None if self._goes_on(token, indent) else self._before(token)
            return self._compound() if indent > self.base else self._next_statement(token)
        if indent > self.indent or self._goes_on(token, indent):
            return None
        return self._line_end()

    def _goes_on(self, token: Token, indent: int) -> bool:
        """An `else` of the statement whose block this is: from here on that statement is completed."""
        if token.type not in _TAILS or not self.ending.may_go_on:
            return False
        if self.unit is Unit.BLOCK:
            owner = owner_line(self.data, self.origin)
            if owner is None or line_indent(self.data, owner) != indent:
                return False
            self.unit, self.indent = Unit.STATEMENT, indent
        return indent == self.indent

    def _compound(self) -> int | None:
        """The statement has lines of its own: among definitions it ends what stands before it."""
        self.has_compound = True
        return self.statement_cut if self.holds_definitions and self.n_statements > 1 else None

    def _next_statement(self, token: Token) -> int | None:
        if not self.holds_definitions or self.unit is not Unit.BLOCK or token.type in _TAILS:
            return None
        assert self.last_end is not None
        is_apart = re.search(rb"\n[ \t]*\n", self.data[self.last_end : token.start])
        if self.has_compound or (self.is_top and is_apart):
            return self._line_end()
        if token.role is not Role.COMMENT and not self._is_decorated():
            self.n_statements += 1
            self.statement_cut = self._line_end()
        return None

    def _is_decorated(self) -> bool:
        """The line before is a decorator or an attribute of what comes now."""
        assert self.last_end is not None
        line = self.data[self.data.rfind(b"\n", 0, self.last_end) + 1 : self.last_end].lstrip()
        return line.startswith((b"@", b"#[", b"template"))

    def _beginning(self, token: Token) -> str:
        return self.data[token.start : token.start + 8].decode("ascii")

    def _before(self, token: Token) -> int:
        return len(self.data[: token.start].rstrip())

    def _line_end(self) -> int:
        """The end of the line, blanks left out, that holds the last token."""
        end = self.data.find(b"\n", self.last_end)
        return len(self.data[: len(self.data) if end < 0 else end].rstrip())


def _indent_before(data: bytes, offset: int) -> int:
    """The width of the blanks that begin the line of `offset`, as far as they stand before it."""
    start = data.rfind(b"\n", 0, offset) + 1
    return line_indent(data[start:offset], 0)
