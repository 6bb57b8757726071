"""What is open at a cursor: the blocks, brackets, string or comment that it stands in."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from goose_lsp.text.syntax.grammars import Grammar
from goose_lsp.text.syntax.parsing import Parse, parse
from goose_lsp.text.syntax.tokens import Role, Token, is_first_on_line, line_indent, tokens
from goose_lsp.text.syntax.window import around

# What holds definitions rather than statements.
_CONTAINERS = frozenset(
    "class enum extern impl interface mod module namespace object record struct trait".split()  # noqa: SIM905 - a column of strings reads worse
)


@dataclass(frozen=True, slots=True)
class Opener:
    """An opener before the cursor whose closer does not stand before the cursor."""

    closer: str
    start: int
    line: int  # where its line begins
    indent: int  # of its line
    is_container: bool = False
    is_soft: bool = False  # its closer follows the cursor on the line
    is_closed_below: bool = False  # its closer stands on a later line


@dataclass(frozen=True, slots=True)
class Scope:
    parse: Parse  # of the text around the cursor
    offset: int  # the cursor in parse.data
    openers: tuple[Opener, ...]  # innermost last
    role: Role  # STRING or COMMENT where the cursor is inside one
    last_type: str  # of the token before the cursor
    is_container: bool  # the innermost block holds definitions

    @property
    def grammar(self) -> Grammar:
        return self.parse.grammar


def scope_at(before: str, after: str, grammar: str) -> Scope | None:
    """None where there is no grammar or no parse. Costs one parse of the text around the cursor."""
    text_before, text_after = around(before, after)
    whole = parse(text_before + text_after, grammar)
    if whole is None:
        return None
    offset = len(text_before)
    everything = tokens(whole)
    earlier = [token for token in everything if token.end <= offset]
    later = [token for token in everything if token.start >= offset]
    openers = open_at_end(earlier, whole.data)
    openers = _matched(openers, later, offset, whole.data)
    return Scope(
        whole,
        offset,
        tuple(openers),
        _role_at(everything, offset, whole.data),
        earlier[-1].type if earlier else "",
        _is_in_container(openers, earlier, offset, whole),
    )


def open_at_end(earlier: Iterable[Token], data: bytes) -> list[Opener]:
    """The openers among the tokens that no token closes, outermost first."""
    openers: list[Opener] = []
    line, words, words_above = -1, set[str](), set[str]()
    for token in earlier:
        start = data.rfind(b"\n", 0, token.start) + 1
        if start != line:
            line, words, words_above = start, set(), words
        if token.role is Role.OPEN:
            # A brace may stand alone below what it opens.
            is_alone = token.type == "{" and is_first_on_line(data, token.start)
            is_container = not _CONTAINERS.isdisjoint(
                {token.type, *words_above} if is_alone else {token.type, *words}
            )
            indent = line_indent(data, token.start)
            openers.append(Opener(token.closer, token.start, line, indent, is_container))
        elif token.role is Role.CLOSE:
            _close(openers, token.closer)
        words.add(token.type)
    return openers


def _close(openers: list[Opener], closer: str) -> None:
    """Drop the innermost opener that it closes, and what is left open in there."""
    for i in range(len(openers) - 1, -1, -1):
        if openers[i].closer == closer:
            del openers[i:]
            return


def _matched(
    openers: list[Opener], later: Iterable[Token], offset: int, data: bytes
) -> list[Opener]:
    """The openers, each with where it is closed. Indentation tells which one lacks its closer."""
    matched = list(openers)
    i, inner = len(openers) - 1, list[str]()
    for token in later:
        if i < 0:
            break
        if token.role is Role.OPEN:
            inner.append(token.closer)
        elif token.role is Role.CLOSE:
            if inner:
                if token.closer in inner:
                    while inner.pop() != token.closer:
                        pass
                continue
            i = _closed_one(openers, i, token, data)
            if i < 0:
                break
            is_soft = data.find(b"\n", offset, token.start) < 0
            matched[i] = replace(openers[i], is_soft=is_soft, is_closed_below=not is_soft)
            i -= 1
    return matched


def _closed_one(openers: list[Opener], i: int, token: Token, data: bytes) -> int:
    """Which of openers[: i + 1] the token closes; -1 if none of them."""
    indent = line_indent(data, token.start) if is_first_on_line(data, token.start) else None
    for j in range(i, -1, -1):
        is_outside = indent is not None and indent < openers[j].indent
        if openers[j].closer == token.closer and not is_outside:
            return j
    # Where no indentation fits, the innermost of its kind is meant.
    return next((j for j in range(i, -1, -1) if openers[j].closer == token.closer), -1)


def _role_at(everything: Iterable[Token], offset: int, data: bytes) -> Role:
    for token in everything:
        if token.role in (Role.STRING, Role.COMMENT) and token.start < offset <= token.end:
            is_behind = offset == token.end and _is_finished(token, data[token.start : offset])
            return Role.OTHER if is_behind else token.role
    return Role.OTHER


_QUOTE = re.compile(rb"[A-Za-z]{0,3}(\"\"\"|'''|[\"'`])")


def _is_finished(token: Token, text: bytes) -> bool:
    """Whether what is written right behind the string or comment lies outside it."""
    if token.role is Role.COMMENT:
        return text.endswith((b"*/", b"-->", b"]]"))
    quote = _QUOTE.match(text)
    return quote is None or text.endswith(quote[1], quote.end())


def _is_in_container(
    openers: list[Opener], earlier: list[Token], offset: int, whole: Parse
) -> bool:
    if not whole.grammar.is_indented:
        hard = [opener for opener in openers if not opener.is_soft]
        return bool(hard) and hard[-1].is_container
    line = owner_line(whole.data, offset)
    return any(
        token.type in _CONTAINERS
        for token in earlier
        if line is not None and token.start >= line and token.end <= _end_of_line(whole.data, line)
    )


def owner_line(data: bytes, offset: int) -> int | None:
    """Where the nearest line above the cursor's begins that is indented less; None if there is none."""
    start = data.rfind(b"\n", 0, offset) + 1
    indent = line_indent(data[:offset], offset) or 1  # an empty line may stand for any block
    while start > 0:
        start = data.rfind(b"\n", 0, start - 1) + 1
        line = data[start : _end_of_line(data, start)]
        if line.strip() and line_indent(data, start) < indent:
            return start
    return None


def _end_of_line(data: bytes, start: int) -> int:
    end = data.find(b"\n", start)
    return len(data) if end < 0 else end
