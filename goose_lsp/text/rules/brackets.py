"""Counting brackets and quotes without a grammar, for any language and for texts that are not finished."""

import re
from dataclasses import dataclass, field

_PAIRS = {")": "(", "]": "[", "}": "{", ">": "<"}
# A quoted text that ends on its line, `=>` and `->` are skipped; a quote left over stands alone.
_MARK = re.compile(
    r'"(?:\\.|[^"\\\n])*"'
    r"|'(?:\\.|[^'\\\n])*'"
    r"|`(?:\\.|[^`\\])*`"
    r"|[=-]>"
    r"|[\"'`()\[\]{}<>]"
)
# A closer looks for its opener below so many others, which keeps the count linear in hostile texts.
_MAX_SKIPPED = 8
_ONLY_CLOSING = re.compile(r"[\s)\]}>;,]*[)\]}>][\s)\]}>;,]*|\s*</[\w.:-]*>?\s*")
# Words that close a block in Ruby, Lua, Bash and the like.
_CLOSING_WORDS = frozenset({"end", "fi", "done", "esac", "endif", "endfunction", "endwhile"})


@dataclass(slots=True)
class Unmatched:
    """What has no partner within a text."""

    openers: list[tuple[str, int]] = field(default_factory=list)  # and where, outermost first
    closers: list[tuple[str, int]] = field(default_factory=list)  # and where
    n_quotes: int = 0


def unmatched(text: str, *, with_angles: bool = False) -> Unmatched:
    """Angle brackets are mostly comparisons; `with_angles` counts them as brackets.

    A closer whose opener lies deeper leaves those above it unmatched; they no longer count.
    """
    found = Unmatched()
    for match in _MARK.finditer(text):
        mark, place = match[0], match.start()
        if len(mark) > 1 or (mark in "<>" and not with_angles):
            continue
        if mark in "\"'`":
            found.n_quotes += 1
        elif mark in _PAIRS:
            _close(found, mark, place)
        else:
            found.openers.append((mark, place))
    return found


def _close(found: Unmatched, closer: str, place: int) -> None:
    openers = found.openers
    for depth in range(len(openers) - 1, max(len(openers) - _MAX_SKIPPED, 0) - 1, -1):
        if openers[depth][0] == _PAIRS[closer]:
            del openers[depth:]
            return
    found.closers.append((closer, place))


def is_only_closing(text: str) -> bool:
    """Whether nothing but brackets, tags or words that close something stands in it."""
    return _ONLY_CLOSING.fullmatch(text) is not None or text.strip() in _CLOSING_WORDS
