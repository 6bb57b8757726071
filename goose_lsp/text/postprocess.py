"""What of the model's text is shown, and which piece of the line it replaces. Pure.

The pipeline and its order are here; every rule, with its reason, is in `text/rules/`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from goose_lsp.request import Point, Reason
from goose_lsp.text.document import Document
from goose_lsp.text.rules.around import Around, look_around, with_lf
from goose_lsp.text.rules.blanks import fit_first_line, without_trailing_blanks
from goose_lsp.text.rules.brackets import is_only_closing
from goose_lsp.text.rules.chat import (
    cut_at_control_token,
    cut_at_prompt_format,
    without_fence,
    without_prose,
    without_stray_mark,
)
from goose_lsp.text.rules.following import without_following_lines
from goose_lsp.text.rules.indents import in_unit, without_slips
from goose_lsp.text.rules.loops import without_looping_line, without_repeated_lines
from goose_lsp.text.rules.rest_of_line import Joined, join_rest
from goose_lsp.text.rules.whole import whole_lines

# What the syntax gate is given on either side: it looks at the blocks around the cursor alone.
MAX_GATE_CHARS = 20_000

Rule = Callable[[str, Around], str]
# (text before, suggestion, text after) -> None: fits; else how many of its characters are good.
Gate = Callable[[str, str, str], int | None]


class Ends(Protocol):
    def end(self, text: str) -> int | None:
        """Where `text` must be cut; None while it may go on."""


@dataclass(frozen=True, slots=True)
class Polishing:
    """What decides, besides the document, how a text is polished."""

    language: str
    ending: Ends
    indent_unit: str | None = None  # from the request's formattingOptions
    control_spellings: frozenset[str] = frozenset()  # of the tokenizer's special tokens
    is_whole: bool = True  # the model ended by itself or the ending cut it
    gate: Gate | None = None


@dataclass(frozen=True, slots=True)
class Shown:
    """`text`, with LF, replaces start..end on the cursor's line; "" has a reason other than OK."""

    text: str
    start: Point
    end: Point
    reason: Reason


def polish(raw: str, document: Document, cursor: Point, how: Polishing) -> Shown:
    """What may be shown of `raw`, the model's text from the cursor on. Never raises.

    Its cost depends on `raw` and on a few thousand characters around the cursor, not on the document.
    """
    cursor = document.clamp(cursor)
    around = look_around(document, cursor, how.language, how.indent_unit)
    text = with_lf(raw)
    for rule, reason in _rules(how):
        left = rule(text, around)
        if not left.strip():
            return Shown("", cursor, cursor, _reason(reason, text))
        text = left
    joined = join_rest(text, around)
    if not joined.text.strip():
        return Shown("", cursor, cursor, _reason(Reason.REPEATS_FOLLOWING, text))
    if how.gate is not None:
        joined = _gated(joined, document, cursor, around, how.gate)
        if not joined.text:
            return Shown("", cursor, cursor, Reason.BREAKS_SYNTAX)
    return Shown(joined.text, cursor, _end(cursor, joined), Reason.OK)


def _rules(how: Polishing) -> tuple[tuple[Rule, Reason], ...]:
    """In order, each with the reason of the silence where it leaves nothing.

    First what is no code, since later rules would take it for such; then how much of it, in the
    model's own columns; then the columns; last what the document has already.
    """
    control_token = partial(cut_at_control_token, spellings=how.control_spellings)
    return (
        (control_token, Reason.NOTHING_TO_ADD),
        (without_fence, Reason.NOT_CODE),
        (cut_at_prompt_format, Reason.NOT_CODE),
        (without_prose, Reason.NOT_CODE),
        (without_stray_mark, Reason.NOT_CODE),
        (partial(_cut_at_end, how=how), Reason.NOTHING_TO_ADD),
        (_without_loops, Reason.NOTHING_TO_ADD),
        (fit_first_line, Reason.NOTHING_TO_ADD),
        (without_slips, Reason.NOTHING_TO_ADD),
        (in_unit, Reason.NOTHING_TO_ADD),
        (without_following_lines, Reason.REPEATS_FOLLOWING),
        (without_trailing_blanks, Reason.NOTHING_TO_ADD),
    )


def _cut_at_end(text: str, _around: Around, how: Polishing) -> str:
    """Where the ending says; a last line that was cut short goes where whole lines precede it."""
    # A text that is whole has a last line; without the LF it might go on.
    end = how.ending.end(text + "\n" if how.is_whole else text)
    if end is not None:
        return text[:end]
    return text if how.is_whole else whole_lines(text)


def _without_loops(text: str, _around: Around) -> str:
    """What stands before a loop may have opened what the loop was to close."""
    left = without_looping_line(without_repeated_lines(text))
    return left if left == text else whole_lines(left + "\n")


def _reason(reason: Reason, text: str) -> Reason:
    """A suggestion that was cut away from a closing line on is said to be one."""
    is_closer = is_only_closing(text.strip().partition("\n")[0])
    return Reason.CLOSER_PRESENT if reason is Reason.REPEATS_FOLLOWING and is_closer else reason


def _gated(joined: Joined, document: Document, cursor: Point, around: Around, gate: Gate) -> Joined:
    """What the syntax gate lets through; its text is empty if that is nothing."""
    before = document.text_before(cursor, MAX_GATE_CHARS)
    n_good = gate(before, joined.text, document.text_after(_end(cursor, joined), MAX_GATE_CHARS))
    if n_good is None:
        return joined
    shorter = join_rest(joined.text[:n_good].rstrip(), around)
    after = document.text_after(_end(cursor, shorter), MAX_GATE_CHARS)
    if shorter.text and gate(before, shorter.text, after) is None:
        return shorter
    return Joined("", 0)


def _end(cursor: Point, joined: Joined) -> Point:
    return Point(cursor.line, cursor.column + joined.n_replaced)
