"""A notebook's cells as one text, so that a cell's border hides nothing from the model.

Every cell is a document of its own to the editor, and completions are shown and checked in it alone;
the joined text is for the prompt. Scripts with `# %%` lines are ordinary text and need none of this.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from goose_lsp.request import Point
from goose_lsp.text.comment import comment_block
from goose_lsp.text.document import Document, split_lines


class CellKind(StrEnum):
    CODE = "code"
    MARKUP = "markup"


@dataclass(frozen=True, slots=True)
class Cell:
    kind: CellKind
    document: Document


class Joined(NamedTuple):
    """`cursor` is the place in `document` of the cursor in its cell."""

    document: Document
    cursor: Point


def join_cells(cells: Sequence[Cell], active_idx: int, cursor: Point) -> Joined:
    """The cells in order with a blank line between, in the language of the active one.

    What is not in that language becomes comments, around text a fenced block of code; empty cells are
    left out. Shares the lines of cells that stay as they are. The uri is the notebook's, so that what
    is kept for a next prompt holds in its other cells too.
    """
    active = cells[active_idx].document
    lines: list[str] = []
    first_line = 0
    for i, cell in enumerate(cells):
        told = active.lines if i == active_idx else _told(cell, cells[active_idx])
        if i != active_idx and not any(line.strip() for line in told):
            continue
        if lines:
            lines[-1] = _ended(lines[-1])
            lines.append("\n")
        if i == active_idx:
            first_line = len(lines)
        lines += told
    if lines[-1].endswith(("\n", "\r")):
        lines.append("")
    document = Document(active.uri.partition("#")[0], active.version, active.language, "")
    document.lines = lines
    return Joined(document, Point(first_line + cursor.line, cursor.column))


def _told(cell: Cell, active: Cell) -> list[str]:
    """A cell's lines as they may stand in the active cell's language; without an empty last line."""
    language, document = active.document.language, cell.document
    if document.language == language:
        lines = list(document.lines)
    elif active.kind is CellKind.MARKUP:
        text = document.text.rstrip("\r\n")
        lines = split_lines(f"```{document.language}\n{text}\n```" if text.strip() else "")
    else:
        lines = split_lines(comment_block(document.text, language) if document.text.strip() else "")
    if lines[-1] == "":
        lines.pop()
    return lines


def _ended(line: str) -> str:
    return line if line.endswith(("\n", "\r")) else f"{line}\n"
