from lsprotocol import types as lsp

from goose_lsp.lsp.notebooks import CellId, Notebooks, in_cell
from goose_lsp.request import Completion, Point, Reason
from goose_lsp.text.document import Document
from goose_lsp.text.notebook import CellKind

BOOK = "file:///a.ipynb"
CODE, MARKUP = lsp.NotebookCellKind.Code, lsp.NotebookCellKind.Markup


def cell(uri: str, kind: lsp.NotebookCellKind = CODE) -> lsp.NotebookCell:
    return lsp.NotebookCell(kind, uri)


def notebooks(*uris: str) -> Notebooks:
    some = Notebooks()
    some.open(BOOK, map(cell, uris))
    return some


def order(some: Notebooks, uri: str) -> list[str]:
    place = some.place_of(uri)
    assert place is not None
    return [cell.uri for cell in place.cells]


def test_cells_come_and_go_in_their_places() -> None:
    some = notebooks("a", "b", "c")
    some.splice(BOOK, lsp.NotebookCellArrayChange(1, 1, [cell("x"), cell("y")]))
    assert order(some, "x") == ["a", "x", "y", "c"]
    some.splice(BOOK, lsp.NotebookCellArrayChange(0, 2))
    assert order(some, "c") == ["y", "c"]
    some.splice(BOOK, lsp.NotebookCellArrayChange(99, 3, [cell("z")]))
    assert order(some, "c") == ["y", "c", "z"]
    assert some.place_of("a") is None


def test_a_notebook_that_is_not_open_is_no_error() -> None:
    some = notebooks("a")
    some.splice("file:///other", lsp.NotebookCellArrayChange(0, 1))
    some.update("file:///other", [cell("a", MARKUP)])
    some.close("file:///other")
    some.close(BOOK)
    assert some.place_of("a") is None


def test_a_cell_may_become_text() -> None:
    some = notebooks("a", "b")
    some.update(BOOK, [cell("a", MARKUP)])
    place = some.place_of("b")
    assert place
    assert place.cells == (CellId(CellKind.MARKUP, "a"), CellId(CellKind.CODE, "b"))


def test_the_cells_are_one_text_and_places_lead_back() -> None:
    some = notebooks("a", "gone", "b")
    documents = {
        uri: Document(uri, 1, "python", text) for uri, text in (("a", "x = 1"), ("b", "y"))
    }
    place = some.place_of("b")
    assert place
    joined = place.joined(documents, Point(0, 1))
    assert (joined.document.uri, joined.document.text) == (BOOK, "x = 1\n\ny")
    made = Completion("z", Point(2, 1), Point(2, 1), Reason.OK)
    back = in_cell(made, joined, Point(0, 1))
    assert (back.start, back.end) == (Point(0, 1), Point(0, 1))
