"""Between the editor's places and ours: the only module that knows position encodings.

An editor counts a line in UTF-8 bytes, UTF-16 units or code points, as agreed at initialize. A column
inside a character means its start; a column past the end means the end. Some clients count code
points whatever was agreed, so nothing here raises for a column.
"""

import re
from collections.abc import Sequence
from enum import StrEnum

from lsprotocol import types as lsp

from goose_lsp.request import Completion, Edit, Point
from goose_lsp.text.document import Document


class Encoding(StrEnum):
    UTF8 = "utf-8"
    UTF16 = "utf-16"
    UTF32 = "utf-32"


ACCEPT_COMMAND, REJECT_COMMAND = "goose-lsp.accept", "goose-lsp.reject"
_LAST_IN_THE_LIST = "\U0010ffff"
_MAX_LABEL_CHARS = 80


def choose_encoding(offered: Sequence[str] | None) -> Encoding:
    """The first of the client's offers that we know; silence means UTF-16."""
    known = [Encoding(name) for name in offered or () if name in list(Encoding)]
    return known[0] if known else Encoding.UTF16


def to_column(line: str, units: int, encoding: Encoding) -> int:
    if encoding is Encoding.UTF32 or line[: max(units, 0)].isascii():
        return min(max(units, 0), len(line))
    n_units = 0
    for column, character in enumerate(line):
        n_units += to_units(character, encoding)
        if n_units > units:
            return column
    return len(line)


def to_units(text: str, encoding: Encoding) -> int:
    """How many units a text spans; a lone surrogate is 1 UTF-16 unit or 3 UTF-8 bytes."""
    if encoding is Encoding.UTF32 or text.isascii():
        return len(text)
    if encoding is Encoding.UTF8:
        return len(text.encode("utf-8", "surrogatepass"))
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def to_point(document: Document, position: lsp.Position, encoding: Encoding) -> Point:
    """The place in the document that is nearest to `position`."""
    if not 0 <= position.line < document.n_lines:
        return document.clamp(Point(position.line, 0))
    line = document.line_text(position.line)
    return Point(position.line, to_column(line, position.character, encoding))


def to_position(document: Document, point: Point, encoding: Encoding) -> lsp.Position:
    before = document.lines[point.line][: point.column]
    return lsp.Position(point.line, to_units(before, encoding))


def to_range(document: Document, start: Point, end: Point, encoding: Encoding) -> lsp.Range:
    return lsp.Range(to_position(document, start, encoding), to_position(document, end, encoding))


def apply_changes(
    document: Document,
    changes: Sequence[lsp.TextDocumentContentChangeEvent],
    encoding: Encoding,
) -> list[Edit]:
    """Apply what the editor reports, each change to the result of the one before; the same as edits."""
    edits = []
    for change in changes:
        edit = _to_edit(document, change, encoding)
        document.apply(edit)
        edits.append(edit)
    return edits


def _to_edit(
    document: Document, change: lsp.TextDocumentContentChangeEvent, encoding: Encoding
) -> Edit:
    if isinstance(change, lsp.TextDocumentContentChangeWholeDocument):
        return Edit(Point(0, 0), document.clamp(Point(document.n_lines, 0)), change.text)
    start = to_point(document, change.range.start, encoding)
    end = to_point(document, change.range.end, encoding)
    return Edit(start, end, change.text)


def to_inline_list(
    document: Document, completion: Completion, encoding: Encoding
) -> lsp.InlineCompletionList:
    """At most one item. It always has a range: without one some editors use a later cursor.

    Its command, which editors run once they have inserted it, tells us that it was accepted.
    """
    if not completion.text:
        return lsp.InlineCompletionList(items=[])
    item = lsp.InlineCompletionItem(
        insert_text=completion.text,
        range=to_range(document, completion.start, completion.end, encoding),
        command=_accept(document, completion),
    )
    return lsp.InlineCompletionList(items=[item])


def _accept(document: Document, completion: Completion) -> lsp.Command:
    return lsp.Command("Accepted", ACCEPT_COMMAND, arguments=[document.uri, completion.text])


def to_completion_list(
    document: Document, completion: Completion, point: Point, encoding: Encoding
) -> lsp.CompletionList:
    """The same offer for a menu, at most one item, placed after those of other servers.

    Menus filter by the text between the edit's start and the cursor, so the edit takes in the word
    before the cursor.
    """
    if not completion.text:
        return lsp.CompletionList(is_incomplete=True, items=[])
    line = document.line_text(point.line)
    word = _word_before(line, point.column)
    start = min(completion.start, Point(point.line, point.column - len(word)))
    new_text = line[start.column : completion.start.column] + completion.text
    first_line = new_text.partition("\n")[0]
    item = lsp.CompletionItem(
        label=first_line.strip()[:_MAX_LABEL_CHARS] or "↵",
        kind=lsp.CompletionItemKind.Text,
        detail="goose-lsp",
        sort_text=_LAST_IN_THE_LIST,
        filter_text=first_line if first_line.startswith(word) else word,
        insert_text_format=lsp.InsertTextFormat.PlainText,
        insert_text_mode=lsp.InsertTextMode.AsIs,
        text_edit=lsp.TextEdit(to_range(document, start, completion.end, encoding), new_text),
        command=_accept(document, completion),
    )
    return lsp.CompletionList(is_incomplete=True, items=[item])


def _word_before(line: str, column: int) -> str:
    match = re.search(r"\w*\Z", line[:column])
    return match[0] if match else ""
