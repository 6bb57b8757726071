"""Where a text that was stopped before its end can be cut so that what is shown is complete."""

import re

from goose_lsp.text.rules.brackets import unmatched

_CLOSER = re.compile(r"[)\]}]")
# What a line that is to be followed by others of its statement ends with.
_GOES_ON = (":", ",", "\\", "=")
_LINE_END = re.compile(r"(?<=\S)[ \t]*\n")


def whole_lines(text: str) -> str:
    """Up to its last line end at which it has closed all it has opened; where there is none, to its last line end.

    A text of one line ends behind the last bracket that closed all it had opened, if anything is open at its end and
    there is such a bracket.
    """
    ends = _ends(text)
    if not ends and not _is_closed(text):
        ends = [match.end() for match in _CLOSER.finditer(text) if _is_closed(text[: match.end()])]
    closed = (end for end in reversed(ends) if _is_closed(text[:end]))
    return text[: next(closed, ends[-1] if ends else len(text))]


def is_whole_so_far(text: str) -> bool:
    """Whether its last line end is one to stop at."""
    ends = _ends(text)
    return bool(ends) and _is_closed(text[: ends[-1]])


def _ends(text: str) -> list[int]:
    return [match.start() for match in _LINE_END.finditer(text)]


def _is_closed(text: str) -> bool:
    found = unmatched(text)
    return not text.endswith(_GOES_ON) and not found.openers and not found.n_quotes
