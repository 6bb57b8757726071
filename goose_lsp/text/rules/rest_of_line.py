"""What stands behind the cursor on its line: repeated by the suggestion, taken over by it, or kept.

The rest of the line is mostly brackets that the editor put in, and the suggestion may close the same
ones. Of the ways to join them that one is right which leaves the fewest brackets without a partner; where
all leave some, code follows on the line, and ending the suggestion at its own closer leaves fewer, it ends there.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from goose_lsp.text.rules.around import Around
from goose_lsp.text.rules.brackets import Unmatched, unmatched

# Farther from the cursor no bracket of a line is looked at: minified files have lines of megabytes.
_MAX_CHARS = 400
_MAX_CLOSERS = 32
_CLOSERS = re.compile(r"[\s)\]}>\"'`]*")
_MARKS = re.compile(r"[\s)\]}>\"'`;,:/{]*")
_CLOSING_END = re.compile(r"[\s)\]}>\"'`;]*$")


@dataclass(frozen=True, slots=True)
class Joined:
    """`text` stands for the first `n_replaced` characters behind the cursor."""

    text: str
    n_replaced: int


@dataclass(frozen=True, slots=True)
class _Way:
    n_taken: int  # closers of the rest that stand in the suggestion, which replaces them
    n_overlap: int  # what follows these and is the suggestion's end

    @property
    def n_replaced(self) -> int:
        return self.n_taken + self.n_overlap


class _Line:
    """The cursor's line, and how many of its brackets and quotes have no partner with a text in it."""

    def __init__(self, around: Around) -> None:
        self._before = around.before[-_MAX_CHARS:]
        self._rest = around.after[:_MAX_CHARS]
        self._with_angles = ">" in self._rest
        # What the line closes of earlier lines it is to go on closing, no more and no less.
        self._n_outer = len(self._unmatched("", 0).closers)
        if self._n_outer:
            above = unmatched("\n".join(around.lines_before), with_angles=self._with_angles)
            self._n_outer = min(self._n_outer, len(above.openers))

    def n_lonely(self, text: str, n_replaced: int) -> int:
        found = self._unmatched(text, n_replaced)
        return abs(len(found.closers) - self._n_outer) + len(found.openers) + found.n_quotes

    def closes_too_much(self, text: str, n_replaced: int) -> bool:
        return len(self._unmatched(text, n_replaced).closers) > self._n_outer

    def _unmatched(self, text: str, n_replaced: int) -> Unmatched:
        line = self._before + text + self._rest[n_replaced:]
        return unmatched(line, with_angles=self._with_angles)


def join_rest(text: str, around: Around) -> Joined:
    """Fit the suggestion to the rest of the line; `text` is empty where it has nothing new."""
    joined = _join(text, around)
    left = around.after[joined.n_replaced :]
    if "\n" not in joined.text or not left:
        return joined
    if any(character.isalnum() for character in left):
        return _join(text.partition("\n")[0], around)  # code goes on behind it: one line at most
    # Editors show several lines only where they replace the line to its end.
    return Joined((joined.text + left).rstrip(), len(around.after))


def _join(text: str, around: Around) -> Joined:
    rest = around.after.strip()
    if not rest or not text:
        return Joined(text, 0)
    line = _Line(around)
    ways = list(_ways(text, around.after[:_MAX_CHARS]))
    n_lonely = {n: line.n_lonely(text, n) for n in {way.n_replaced for way in ways}}
    way = min(ways, key=lambda way: (n_lonely[way.n_replaced], -way.n_overlap, way.n_taken))
    cut = _place_of_closer(text, rest[0])
    if (
        cut
        and not _CLOSING_END.match(rest)
        and line.n_lonely(text[:cut], 0) < n_lonely[way.n_replaced]
    ):
        return Joined(text[:cut].rstrip(), 0)
    if text.startswith(rest) and line.closes_too_much(text, way.n_replaced):
        return Joined("", 0)
    if way.n_taken:
        return Joined(text, way.n_replaced)
    if way.n_overlap:
        return Joined(text[: -way.n_overlap], 0)
    return Joined(_cut_at_rest(text, rest), 0)


def _place_of_closer(text: str, closer: str) -> int | None:
    """Where the text closes what the rest of the line closes as well."""
    return next((place for mark, place in unmatched(text).closers if mark == closer), None)


def _ways(text: str, after: str) -> Iterator[_Way]:
    rest = after.rstrip()
    run = _CLOSERS.match(rest[:_MAX_CLOSERS])
    n_run = run.end() if run else 0
    for n in range(n_run + 1):
        if _has_in_order(text, rest[:n]):
            yield _Way(n, 0)
    for n_taken in {0, n_run}:
        for n in _overlaps(text, after[n_taken:]):
            if _has_in_order(text, after[: n_taken + n]):
                yield _Way(n_taken, n)
    if _MARKS.fullmatch(rest) and _has_in_order(text, rest):
        yield _Way(len(rest), 0)


def _overlaps(text: str, after: str) -> list[int]:
    """How long an end of the text can be that `after` begins with: the longest, and short ones.

    A shorter one is right where the longest takes a bracket too many.
    """
    found = [n for n in range(1, len(after) + 1) if text.endswith(after[:n])]
    return [n for n in found[:-1] if n <= _MAX_CLOSERS] + found[-1:]


def _has_in_order(text: str, characters: str) -> bool:
    """Whether all but the blanks of `characters` stand in the text, with anything between them."""
    place = -1
    for character in characters:
        if not character.isspace():
            place = text.find(character, place + 1)
            if place < 0:
                return False
    return True


def _cut_at_rest(text: str, rest: str) -> str:
    """Cut before a copy of the rest of the line, whatever the suggestion then goes on with.

    A copy is more than a word: words come again.
    """
    core = _CLOSING_END.sub("", rest)
    is_phrase = any(c.isalnum() for c in core) and any(not c.isalnum() and c != "_" for c in core)
    return text.partition(core)[0] if is_phrase else text
