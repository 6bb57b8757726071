"""The text around a cursor that decides what may stand there: its top-level constructs, bounded."""

import re

MIN_BEFORE, MAX_BEFORE = 2_000, 8_000  # characters
MIN_AFTER, MAX_AFTER = 500, 6_000
LOOK_BACK = 100_000  # what is worth giving: quotes are counted that far, to know strings from code

# A line at the left margin after a blank one begins something of its own, unless it only closes.
_START = re.compile(r"\n[ \t]*\n(?=[^\s)\]}])")


def around(before: str, after: str) -> tuple[str, str]:
    """The ends of both that matter, LF line ends; cut where a top-level construct begins if one does.

    A window inside a very long construct lacks the openers or the closers that lie outside it.
    """
    return _end_of(_with_lf(before)), _beginning_of(_with_lf(after[:MAX_AFTER]))


def _end_of(before: str) -> str:
    low, high = max(len(before) - MAX_BEFORE, 0), max(len(before) - MIN_BEFORE, 0)
    starts = [match.end() for match in _START.finditer(before, low, high)]
    for start in reversed(starts):
        if not _ends_inside_text(before[:start]):
            return before[start:]
    return before[low:].partition("\n")[2] if low else before


def _ends_inside_text(text: str) -> bool:
    """Whether it ends in a long string or comment, as far as counting tells."""
    is_in_string = text.count('"""') % 2 or text.count("'''") % 2
    return bool(is_in_string) or text.count("/*") > text.count("*/")


def _beginning_of(after: str) -> str:
    start = _START.search(after, MIN_AFTER)
    return after if start is None else after[: start.end()]


def _with_lf(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")
