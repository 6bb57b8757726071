"""One line of a `.gitignore` as a regular expression that agrees with git's own matcher to the byte.

Libraries for this differ from git in character classes, escapes and blanks, and their expressions can take for ever
on a hostile pattern. Names and patterns are spelled one character a byte (latin-1), since git compares bytes.
"""

import re
import string
from typing import NamedTuple


class Pattern(NamedTuple):
    """What a line says of an entry, of whose name (without slash at its end) all must match."""

    expression: str
    ignores: bool  # False takes back what an earlier line says
    is_for_folders: bool  # and for nothing else
    is_anchored: (
        bool  # asks for the path from the ignore file's folder on, not for the entry's name alone
    )


# Nothing but these stands between wildcards, so that what lies before the last one never needs another try.
_STAR, _DEEP = r"[^/]*", r"(?:[^/]*/)*"
_NOTHING = "(?!)"
_PLAIN = re.compile(r"[^*?\[\\]*")
_STARS = re.compile(r"\*+")
# Of a set: a named class, or a character, or a range of them.
_ITEM = re.compile(r"\[:([^\]]*):\]|\\?(.)(?:-(?!\])\\?(.))?", re.DOTALL)
_VISIBLE = string.digits + string.ascii_letters + string.punctuation
_CLASSES = {
    "alnum": string.digits + string.ascii_letters,
    "alpha": string.ascii_letters,
    "blank": " \t",
    "cntrl": "".join(map(chr, (*range(32), 127))),
    "digit": string.digits,
    "graph": _VISIBLE,
    "lower": string.ascii_lowercase,
    "print": _VISIBLE + " ",
    "punct": string.punctuation,
    "space": " \t\n\r",  # git's own idea of it
    "upper": string.ascii_uppercase,
    "xdigit": string.hexdigits,
}


def parse_pattern(line: str) -> Pattern | None:
    """A line without its line feed; None for a comment and for what can match nothing."""
    if line.startswith("#"):
        return None
    line = _trimmed(line.removesuffix("\r").partition("\0")[0])
    ignores = not line.startswith("!")
    pattern = line if ignores else line[1:]
    is_for_folders = pattern.endswith("/")
    pattern = pattern.removesuffix("/")
    is_anchored = "/" in pattern
    expression = _expression(pattern.removeprefix("/"))
    return Pattern(expression, ignores, is_for_folders, is_anchored) if expression else None


def _trimmed(line: str) -> str:
    """Without blanks at its end, unless the first of them is escaped."""
    rest = line.rstrip(" ")
    n_backslashes = len(rest) - len(rest.rstrip("\\"))
    return rest + " " if n_backslashes % 2 and len(rest) < len(line) else rest


def _expression(pattern: str) -> str | None:
    # git compares what comes before the first wildcard by itself, so that "a**" begins with "**" after it.
    plain = _PLAIN.match(pattern)
    n_plain = plain.end() if plain else 0
    pieces = _pieces(pattern[n_plain:])
    if pieces is None:
        return None
    spans = [_chain(_split(span, _STAR), _STAR) for span in _split(pieces, _DEEP)]
    return re.escape(pattern[:n_plain]) + _chain(spans, _DEEP)


def _split(pieces: list[str], gap: str) -> list[list[str]]:
    spans: list[list[str]] = [[]]
    for piece in pieces:
        if piece == gap:
            spans.append([])
        else:
            spans[-1].append(piece)
    return spans


def _chain(spans: list[list[str]] | list[str], gap: str) -> str:
    """The spans with gaps between them.

    Where a span is found first it may stay, since the next gap takes whatever a later place would leave: atomic
    groups make the time a product of lengths instead of a power of the number of gaps.
    """
    first, *inner = ("".join(span) for span in spans)
    if not inner:
        return first
    return first + "".join(f"(?>{gap}?{span})" for span in inner[:-1]) + gap + inner[-1]


def _pieces(pattern: str) -> list[str] | None:
    """Gaps and expressions of one character each; None where the pattern is broken."""
    pieces: list[str] = []
    i = 0
    while i < len(pattern):
        if stars := _STARS.match(pattern, i):
            gaps, i = _gaps(pattern, i, stars.end())
            pieces += gaps
        elif pattern[i] == "[":
            found = _set(pattern, i + 1)
            if found is None:
                return None
            piece, i = found
            pieces.append(piece)
        elif pattern[i] == "?":
            pieces.append("[^/]")
            i += 1
        else:
            i += pattern[i] == "\\"
            if i == len(pattern):
                return None
            pieces.append(re.escape(pattern[i]))
            i += 1
    return pieces


def _gaps(pattern: str, start: int, end: int) -> tuple[list[str], int]:
    """What the stars at [start, end) stand for, and where to go on."""
    is_deep = end - start > 1 and (start == 0 or pattern[start - 1] == "/")
    if is_deep and pattern.startswith("/", end):
        return [_DEEP], end + 1
    if is_deep and (end == len(pattern) or pattern.startswith("\\/", end)):
        return [_DEEP, _STAR], end
    return [_STAR], end


def _set(pattern: str, start: int) -> tuple[str, int] | None:
    """The set whose bracket opened before `start`, and where to go on; None where it does not close."""
    is_negated = pattern[start : start + 1] in {"!", "^"}
    i = start + is_negated
    members: set[str] = set()
    while item := _ITEM.match(pattern, i):
        i = item.end()
        kind, first, last = item.groups()
        if kind is None:
            # The first is a member even of a range that runs backwards.
            members.update(first, map(chr, range(ord(first), ord(last or first) + 1)))
        elif kind in _CLASSES:
            members.update(_CLASSES[kind])
        else:
            return None
        if pattern.startswith("]", i):
            return _one_of(members, is_negated=is_negated), i + 1
    return None


def _one_of(members: set[str], *, is_negated: bool) -> str:
    """A slash is in no set."""
    members = members | {"/"} if is_negated else members - {"/"}
    if not members:
        return _NOTHING
    listed = "".join(f"\\x{ord(member):02x}" for member in sorted(members))
    return f"[^{listed}]" if is_negated else f"[{listed}]"
