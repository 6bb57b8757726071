from hypothesis import given
from hypothesis import strategies as st

from goose_lsp.request import Point
from goose_lsp.text.document import Document
from goose_lsp.text.notebook import Cell, CellKind, join_cells


def code(text: str, language: str = "python") -> Cell:
    uri = f"vscode-notebook-cell:/w/load.ipynb#{hash(text)}"
    return Cell(CellKind.CODE, Document(uri, 3, language, text))


def markup(text: str) -> Cell:
    return Cell(
        CellKind.MARKUP, Document("vscode-notebook-cell:/w/load.ipynb#m", 1, "markdown", text)
    )


def check(cells: list[Cell], joined: str, cursor: Point | None = None) -> None:
    """The active cell is the one that holds a `<|>`."""
    active_idx = next(i for i, cell in enumerate(cells) if "<|>" in cell.document.text)
    cell = cells[active_idx]
    before, _, after = cell.document.text.partition("<|>")
    document = Document(cell.document.uri, 3, cell.document.language, before + after)
    inside = Document("", 1, "", before)
    place = Point(inside.n_lines - 1, len(inside.lines[-1]))
    cells = [*cells[:active_idx], Cell(cell.kind, document), *cells[active_idx + 1 :]]
    found = join_cells(cells, active_idx, place)
    head = found.document.text_before(found.cursor, 10_000)
    assert f"{head}<|>{found.document.text_after(found.cursor, 10_000)}" == joined


def test_earlier_cells_stand_before_later_ones_after_and_text_is_commented() -> None:
    check(
        [markup("# Load"), code("df = load()"), code("df.<|>"), code("plot(df)")],
        "# # Load\n\ndf = load()\n\ndf.<|>\n\nplot(df)",
    )


def test_a_cell_that_ends_in_a_line_end_gets_no_second_border() -> None:
    check([code("a\n"), code("b<|>\n"), code("c\n\n")], "a\n\nb<|>\n\n\nc\n\n")


def test_empty_cells_are_left_out_but_for_the_active_one() -> None:
    check([code(""), code("a"), markup(" \n"), code("<|>"), code("\n")], "a\n\n<|>")


def test_the_active_cell_may_be_the_first_or_the_only_one() -> None:
    check([code("a<|>"), code("b")], "a<|>\n\nb")
    check([code("a\nb<|>c")], "a\nb<|>c")


def test_code_of_another_language_is_commented() -> None:
    check([code("SELECT 1\nFROM t", "sql"), code("x<|>")], "# SELECT 1\n# FROM t\n\nx<|>")
    check([code("ls", "shellscript"), code("x<|>", "rust")], "// ls\n\nx<|>")


def test_around_a_text_cell_code_stands_in_fences_and_text_as_it_is() -> None:
    check(
        [markup("# Title\n"), code("x = 1\n"), markup("It is <|>"), code("")],
        "# Title\n\n```python\nx = 1\n```\n\nIt is <|>",
    )


def test_line_ends_of_cells_stay_as_they_are() -> None:
    check([code("a\r\nb"), code("<|>")], "a\r\nb\n\n<|>")


def test_the_joined_document_is_the_notebooks() -> None:
    joined = join_cells([code("a"), code("b")], 1, Point(0, 1))
    assert joined.document.uri == "vscode-notebook-cell:/w/load.ipynb"
    assert (joined.document.version, joined.document.language) == (3, "python")


def test_joining_changes_no_cell() -> None:
    cells = [code("a"), code("b")]
    join_cells(cells, 0, Point(0, 0))
    assert [cell.document.text for cell in cells] == ["a", "b"]


texts = st.lists(st.sampled_from([*"ab #", "\n", "\r\n"]), max_size=20)


@given(st.lists(texts, min_size=1, max_size=6), st.data())
def test_whatever_the_cells_hold_the_active_one_stands_whole_around_the_cursor(
    cells: list[list[str]], data: st.DataObject
) -> None:
    active_idx = data.draw(st.integers(0, len(cells) - 1))
    n_before = data.draw(st.integers(0, len(cells[active_idx])))
    before = "".join(cells[active_idx][:n_before])
    after = "".join(cells[active_idx][n_before:])
    inside = Document("", 1, "", before)
    place = Point(inside.n_lines - 1, len(inside.lines[-1]))
    joined = join_cells([code("".join(pieces)) for pieces in cells], active_idx, place)
    assert joined.document.contains(joined.cursor)
    assert joined.document.text_before(joined.cursor, 1000).endswith(before)
    assert joined.document.text_after(joined.cursor, 1000).startswith(after)
    rebuilt = Document("", 1, "", joined.document.text)
    assert rebuilt.lines == joined.document.lines
