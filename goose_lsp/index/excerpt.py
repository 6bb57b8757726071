"""From a stretch of another file's text to the lines of it that are worth showing. Pure text rules."""

import re
from collections.abc import Callable, Sequence, Set

from goose_lsp.tokenizer import REPLACEMENT

# Shorter lines, brackets and the like, do not make a text a copy.
_MIN_TELLING_CHARS = 4
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def whole_lines(text: str, *, is_from_start: bool, is_to_end: bool) -> list[str]:
    """The lines of a stretch that begins and ends anywhere, unless it reaches a border of its file.

    Control characters other than the tab are left out.
    """
    lines = _CONTROL.sub("", text).split("\n")
    if not is_from_start:
        lines = lines[1:]
    if not is_to_end or lines[-1:] == [""]:
        lines = lines[:-1]
    return lines


def unknown_lines(lines: Sequence[str], known: Set[str]) -> list[str]:
    """Without known and blank lines at either end; nothing at all where most lines are known.

    `known` holds lines without the blanks around them. A line is known wherever it stands: indented copies are copies.
    """
    kept = [line.strip() for line in lines]
    telling = [line for line in kept if len(line) >= _MIN_TELLING_CHARS]
    if 2 * sum(line in known for line in telling) >= len(telling):
        return []
    fresh = [i for i, line in enumerate(kept) if line and line not in known]
    return list(lines[fresh[0] : fresh[-1] + 1])


def fit(
    path: str, lines: Sequence[str], budget: int, n_tokens: Callable[[str], int]
) -> tuple[str, int]:
    """The first of the lines, as many as cost at most `budget` tokens with the path above them, and their cost."""
    while lines:
        text = "".join(line + "\n" for line in lines)
        cost = n_tokens(f"{path}\n{text}")
        if cost <= budget:
            return text, cost
        lines = lines[: min(len(lines) - 1, len(lines) * max(budget, 0) // cost)]
    return "", 0


def shown_path(path: str) -> str:
    """A path on one line; what no terminal would show is replaced."""
    return "".join(c if c.isprintable() else REPLACEMENT for c in path)
