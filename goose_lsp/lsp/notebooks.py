"""Which cells form which notebook. Their texts are documents like others; the daemon sees them joined."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from lsprotocol import types as lsp

from goose_lsp.request import Completion, Point
from goose_lsp.text.document import Document
from goose_lsp.text.notebook import Cell, CellKind, Joined, join_cells


class CellId(NamedTuple):
    kind: CellKind
    uri: str


@dataclass(frozen=True, slots=True)
class Place:
    """Where a cell is: the idx-th of a notebook's cells."""

    notebook: str  # its uri
    cells: tuple[CellId, ...]
    idx: int

    def joined(self, documents: Mapping[str, Document], cursor: Point) -> Joined:
        """The notebook as one text, under its own uri. Cells whose text never came are left out."""
        held = [(cell, documents[cell.uri]) for cell in self.cells if cell.uri in documents]
        idx = next(i for i, (cell, _) in enumerate(held) if cell == self.cells[self.idx])
        joined = join_cells([Cell(cell.kind, document) for cell, document in held], idx, cursor)
        joined.document.uri = self.notebook
        return joined


class Notebooks:
    """Belongs to one session."""

    def __init__(self) -> None:
        self._cells: dict[str, list[CellId]] = {}

    def open(self, uri: str, cells: Iterable[lsp.NotebookCell]) -> None:
        self._cells[uri] = list(map(_cell_id, cells))

    def splice(self, uri: str, change: lsp.NotebookCellArrayChange) -> None:
        """Cells come and go. Of a notebook that is not open: nothing; places past the end mean the end."""
        if (cells := self._cells.get(uri)) is not None:
            end = change.start + change.delete_count
            cells[change.start : end] = map(_cell_id, change.cells or ())

    def update(self, uri: str, changed: Sequence[lsp.NotebookCell]) -> None:
        """Cells are of another kind now."""
        news = {cell.document: _cell_id(cell) for cell in changed}
        if (cells := self._cells.get(uri)) is not None:
            cells[:] = [news.get(cell.uri, cell) for cell in cells]

    def close(self, uri: str) -> None:
        self._cells.pop(uri, None)

    def place_of(self, uri: str) -> Place | None:
        """Of a cell, by its document's uri; None for what is no cell of an open notebook."""
        for notebook, cells in self._cells.items():
            for idx, cell in enumerate(cells):
                if cell.uri == uri:
                    return Place(notebook, tuple(cells), idx)
        return None


def in_cell(completion: Completion, joined: Joined, cursor: Point) -> Completion:
    """A completion of the joined text in the places of the cell that the cursor is in."""
    n_above = joined.cursor.line - cursor.line
    start, end = (
        Point(point.line - n_above, point.column) for point in (completion.start, completion.end)
    )
    return replace(completion, start=start, end=end)


def _cell_id(cell: lsp.NotebookCell) -> CellId:
    is_markup = cell.kind == lsp.NotebookCellKind.Markup
    return CellId(CellKind.MARKUP if is_markup else CellKind.CODE, cell.document)
