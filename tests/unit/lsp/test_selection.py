"""Completing past a selected menu entry."""

from lsprotocol import types as lsp

from goose_lsp.lsp.convert import Encoding
from goose_lsp.lsp.selection import Selection, as_if_selected, select
from goose_lsp.request import Completion, Point, Reason
from goose_lsp.text.document import Document

LOG = Selection(Point(0, 7), Point(0, 8), ".log")


def console() -> Document:
    return Document("file:///a.js", 4, "javascript", "console.")


def check(start: int, end: int, text: str, wanted: str) -> None:
    """The daemon's text for start..end of `console.log`, and what the editor gets for `.`."""
    accepted = as_if_selected(console(), LOG, 0)
    completion = Completion(text, Point(0, start), Point(0, end), Reason.OK)
    offered = LOG.with_entry(accepted, completion)
    assert (offered.text, offered.start, offered.end) == (wanted, LOG.start, LOG.end)
    assert (offered.reason is Reason.OK) == bool(wanted)


def test_a_selection_is_read_in_the_agreed_unit() -> None:
    held = Document("file:///a", 1, "", "🥸.")
    info = lsp.SelectedCompletionInfo(lsp.Range(lsp.Position(0, 2), lsp.Position(0, 3)), ".x")
    assert select(held, info, Encoding.UTF16) == Selection(Point(0, 1), Point(0, 2), ".x")


def test_the_copy_has_the_entry_accepted_and_the_original_has_not() -> None:
    original = console()
    accepted = as_if_selected(original, LOG, 3)
    assert (accepted.text, original.text) == ("console.log", "console.")
    assert accepted.uri != original.uri
    assert accepted.contains(LOG.cursor)


def test_the_cursor_of_an_entry_with_several_lines_is_on_its_last() -> None:
    assert Selection(Point(2, 3), Point(2, 4), "a\nbc").cursor == Point(3, 2)


def test_the_item_begins_with_the_entry() -> None:
    check(11, 11, '("hi")', '.log("hi")')
    check(8, 11, "logger", ".logger")


def test_a_completion_that_changes_the_entry_is_not_offered() -> None:
    check(8, 11, "warn()", "")


def test_a_completion_that_reaches_past_the_selection_is_not_offered() -> None:
    check(11, 12, "()", "")
    check(6, 11, "e.log()", "")


def test_nothing_stays_nothing_with_its_reason() -> None:
    completion = Completion("", Point(0, 11), Point(0, 11), Reason.MODEL_LOADING)
    assert LOG.with_entry(console(), completion).reason is Reason.MODEL_LOADING
