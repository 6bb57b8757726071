"""Parses of bounded size and time, and their extension by text that comes in piece by piece.

Grammars read bytes; here a character is always one byte, so that offsets are characters: what is not
ASCII becomes a letter or a blank. That hides an odd character outside strings from the parser.
"""

import logging
import re
import time
from dataclasses import dataclass

from tree_sitter import Parser, Point, Tree

from goose_lsp.text.syntax.grammars import GRAMMARS, Grammar, load_language

log = logging.getLogger(__name__)

MAX_CHARS = 100_000
PARSE_LIMIT_S = 0.05  # of processor time; 100,000 characters take 20 ms, degenerate text more
_CHUNK_BYTES = 4096
_ODD_BLANK = re.compile(r"[^\S\x00-\x7f]|[\x00\x0b\x0c\x1c-\x1f]")
_ODD_CHARACTER = re.compile(r"[^\x00-\x7f]")
_timed_out: set[str] = set()  # grammars whose first time-out has been logged


@dataclass(frozen=True, slots=True)
class Parse:
    """`data` holds one byte for each character, LF line ends. Nodes' byte offsets are characters."""

    tree: Tree
    data: bytes
    grammar: Grammar


def parse(text: str, grammar: str) -> Parse | None:
    """None: no such grammar, over `MAX_CHARS` characters, or not done after `PARSE_LIMIT_S`."""
    if len(text) > MAX_CHARS:
        return None
    data = as_bytes(text)
    tree = _parse(data, grammar, None)
    return None if tree is None else Parse(tree, data, GRAMMARS[grammar])


def extend(base: Parse, offset: int, text: str) -> Parse | None:
    """The parse of base's first `offset` characters and then `text`, at a cost in what is new."""
    data = base.data[:offset] + as_bytes(text)
    tree = base.tree.copy()
    start = _point(base.data[:offset])
    tree.edit(offset, len(base.data), len(data), start, _point(base.data), _point(data))
    extended = _parse(data, base.grammar.name, tree)
    return None if extended is None else Parse(extended, data, base.grammar)


def as_bytes(text: str) -> bytes:
    """One byte for each character; every line end is LF, a CRLF a blank and LF."""
    text = text.replace("\r\n", " \n").replace("\r", "\n")
    text = _ODD_BLANK.sub(" ", text)
    return _ODD_CHARACTER.sub("x", text).encode("ascii")


def _parse(data: bytes, name: str, old: Tree | None) -> Tree | None:
    language = load_language(name) if name in GRAMMARS else None
    if language is None or len(data) > MAX_CHARS:
        return None
    deadline = time.thread_time() + PARSE_LIMIT_S

    def read(offset: int, point: Point) -> bytes:
        del point
        return data[offset : offset + _CHUNK_BYTES]

    def is_late(offset: int, has_error: bool) -> bool:
        del offset, has_error
        return time.thread_time() > deadline

    parser = Parser(language)
    try:
        if old is None:
            return parser.parse(read, encoding="utf8", progress_callback=is_late)
        return parser.parse(read, old, "utf8", is_late)
    except ValueError:  # the only sign of a parse that was stopped
        if name not in _timed_out:
            _timed_out.add(name)
            log.warning("parsing %s took over %d ms; going on without", name, PARSE_LIMIT_S * 1e3)
        return None


def _point(data: bytes) -> Point:
    return Point(data.count(b"\n"), len(data) - data.rfind(b"\n") - 1)
