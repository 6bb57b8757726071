import pytest

from goose_lsp.request import Point
from goose_lsp.text.document import Document
from goose_lsp.text.rules.around import MAX_CHARS, indent_of, look_around, with_lf
from tests.marked import around_cursor


def test_the_line_is_cut_at_the_cursor_and_others_stand_whole() -> None:
    around = around_cursor("a\r\n  b<|>c\r\nd\re")
    assert (around.lines_before, around.before) == (["a"], "  b")
    assert (around.after, around.lines_after) == ("c", ["d", "e"])


def test_the_first_and_the_last_line_have_nothing_beyond_them() -> None:
    around = around_cursor("<|>")
    assert (around.before, around.after) == ("", "")
    assert around.lines_before == around.lines_after == []


@pytest.mark.parametrize("end", ["\f", "\x0b", "\x1c", "\x85", "\u2028"])
def test_only_line_ends_of_editors_end_a_line(end: str) -> None:
    assert around_cursor(f"a{end}b<|>c{end}d").before == f"a{end}b"
    assert around_cursor(f"a{end}b<|>c{end}d").after == f"c{end}d"


def test_what_is_looked_at_does_not_grow_with_the_document() -> None:
    document = Document("file:///long", 1, "", ("x" * 99 + "\n") * 10_000)
    around = look_around(document, Point(5000, 50), "", None)
    assert len(around.text_before) == len(around.text_after) == MAX_CHARS


@pytest.mark.parametrize(
    ("marked", "is_in_prose"),
    [
        ('"""Does.\n<|>', True),
        ('"""Does."""\n<|>', False),
        ("'''Does.\n<|>\n'''", True),
        ("/* one\n<|>", True),
        ("/* one */\n<|>", False),
        ("x = 1\n<|>", False),
    ],
)
def test_docstrings_and_block_comments_are_prose(marked: str, is_in_prose: bool) -> None:
    assert around_cursor(marked).is_in_prose == is_in_prose


def test_all_kinds_of_line_ends_become_lf() -> None:
    assert with_lf("a\r\nb\rc\n\r\n\r\rd") == "a\nb\nc\n\n\n\nd"


def test_an_indent_is_of_blanks_and_tabs() -> None:
    assert indent_of(" \t x ") == " \t "
    assert indent_of("x") == indent_of("") == ""
    assert indent_of("\n  x") == ""
