"""Completing past a menu entry that the user has selected but not yet accepted.

The editor shows such an item only if it has the entry's range and begins with the entry's text.
"""

from dataclasses import dataclass, replace

from lsprotocol import types as lsp

from goose_lsp.ipc.uri import selection_of
from goose_lsp.lsp.convert import Encoding, to_point
from goose_lsp.request import Completion, Edit, Point, Reason
from goose_lsp.text.document import Document


@dataclass(frozen=True, slots=True)
class Selection:
    """A menu entry: `text` would replace start..end."""

    start: Point
    end: Point
    text: str

    @property
    def cursor(self) -> Point:
        """Where the cursor stands once the entry is accepted."""
        *lines_before, last = self.text.split("\n")
        column = len(last) if lines_before else self.start.column + len(last)
        return Point(self.start.line + len(lines_before), column)

    def with_entry(self, accepted: Document, completion: Completion) -> Completion:
        """The completion of the accepted text, as one that begins with the entry itself.

        Empty if it would change the entry or what follows it.
        """
        nothing = replace(completion, text="", start=self.start, end=self.end)
        if not completion.text:
            return nothing
        is_after_start = self.start <= completion.start <= self.cursor == completion.end
        if is_after_start and completion.start.line == self.start.line:
            kept = accepted.line_text(self.start.line)[self.start.column : completion.start.column]
            text = kept + completion.text
            if text.startswith(self.text):
                return replace(completion, text=text, start=self.start, end=self.end)
        return replace(nothing, reason=Reason.NOTHING_TO_ADD)


def select(
    document: Document, selected: lsp.SelectedCompletionInfo, encoding: Encoding
) -> Selection:
    start = to_point(document, selected.range.start, encoding)
    end = to_point(document, selected.range.end, encoding)
    return Selection(start, end, selected.text)


def as_if_selected(document: Document, selection: Selection, number: int) -> Document:
    """A copy, under a uri of its own, with the entry accepted."""
    accepted = document.snapshot()
    accepted.uri = selection_of(document.uri, number)
    accepted.apply(Edit(selection.start, selection.end, selection.text))
    return accepted
