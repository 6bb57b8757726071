"""Documents whose cursor is marked in their text."""

from goose_lsp.request import Point
from goose_lsp.text.document import Document
from goose_lsp.text.rules.around import Around, look_around

CURSOR = "<|>"


def at_cursor(marked: str, language: str = "") -> tuple[Document, Point]:
    before, after = marked.split(CURSOR)
    lines = Document("file:///marked", 1, language, before).lines
    document = Document("file:///marked", 1, language, before + after)
    return document, Point(len(lines) - 1, len(lines[-1]))


def around_cursor(marked: str, language: str = "", indent_unit: str | None = None) -> Around:
    return look_around(*at_cursor(marked), language, indent_unit)
