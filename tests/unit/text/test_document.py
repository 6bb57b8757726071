"""`Document` against a model that keeps one string and splits all of it again after every edit."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goose_lsp.request import Edit, Point
from goose_lsp.text.document import Document, split_lines

TEXT = st.lists(
    st.sampled_from(
        [*"ab\n\r\f", "\r\n", "\u2028", "\x85", "é", "🥸", "\ud83e", "\udd78"],
    ),
    max_size=12,
).map("".join)
POINT = st.builds(Point, st.integers(-1, 9), st.integers(-1, 9))
EDITS = st.lists(st.builds(Edit, POINT, POINT, TEXT), max_size=6)


class NaiveDocument:
    """One plain string; every question splits it anew."""

    def __init__(self, text: str) -> None:
        self.text = join(text)

    @property
    def lines(self) -> list[str]:
        parts = re.split(r"(\r\n|\r|\n)", self.text)
        return ["".join(parts[i : i + 2]) for i in range(0, len(parts), 2)]

    def offset(self, point: Point) -> int:
        if point.line < 0:
            return 0
        if point.line >= len(self.lines):
            return len(self.text)
        content = re.sub(r"[\r\n]+$", "", self.lines[point.line])
        before = sum(len(line) for line in self.lines[: point.line])
        return before + min(max(point.column, 0), len(content))

    def apply(self, edit: Edit) -> None:
        start, end = sorted((self.offset(edit.start), self.offset(edit.end)))
        self.text = join(self.text[:start] + edit.text + self.text[end:])


def join(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def document(text: str) -> Document:
    return Document("file:///a.py", 1, "python", text)


def check(before: str, edit: Edit, after: list[str]) -> None:
    edited = document(before)
    edited.apply(edit)
    assert edited.lines == after


def insert(line: int, column: int, text: str) -> Edit:
    return Edit(Point(line, column), Point(line, column), text)


def delete(line: int, column: int, end_line: int, end_column: int) -> Edit:
    return Edit(Point(line, column), Point(end_line, end_column), "")


@given(TEXT, EDITS)
def test_edits_do_what_they_do_to_one_plain_string(text: str, edits: list[Edit]) -> None:
    fast, slow = document(text), NaiveDocument(text)
    for edit in edits:
        fast.apply(edit)
        slow.apply(edit)
        assert fast.lines == slow.lines


@given(TEXT, POINT, st.integers(0, 12))
def test_the_text_around_a_point_is_a_slice_of_the_whole(text: str, point: Point, n: int) -> None:
    fast, slow = document(text), NaiveDocument(text)
    offset = slow.offset(point)
    assert fast.text_before(point, n) == slow.text[max(offset - n, 0) : offset]
    assert fast.text_after(point, n) == slow.text[offset : offset + n]


@given(TEXT, POINT)
def test_a_clamped_point_lies_inside_and_a_point_inside_stays(text: str, point: Point) -> None:
    clamped = document(text).clamp(point)
    assert document(text).contains(clamped)
    assert document(text).contains(point) == (clamped == point)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", [""]),
        ("a", ["a"]),
        ("a\n", ["a\n", ""]),
        ("a\rb\r", ["a\r", "b\r", ""]),
        ("a\r\n\rb", ["a\r\n", "\r", "b"]),
    ],
)
def test_lines_keep_their_ends_and_the_last_line_has_none(text: str, lines: list[str]) -> None:
    assert document(text).lines == lines
    assert document(text).text == text
    assert document(text).n_lines == len(lines)


@pytest.mark.parametrize("odd", ["\f", "\v", "\x1c", "\x85", "\u2028", "\u2029"])
def test_other_separators_are_ordinary_characters(odd: str) -> None:
    check(f"a = 1{odd}b = 2\nc = 3\n", insert(1, 0, "X"), [f"a = 1{odd}b = 2\n", "Xc = 3\n", ""])


def test_a_carriage_return_and_a_line_feed_that_meet_become_one_line_end() -> None:
    check("a\rb\nc", delete(1, 0, 1, 1), ["a\r\n", "c"])
    check("a\rb", insert(1, 0, "\n"), ["a\r\n", "b"])
    check("a\nb", insert(0, 1, "\r"), ["a\r\n", "b"])


def test_a_line_end_that_is_deleted_joins_its_lines() -> None:
    check("a\r\nb\nc", delete(0, 1, 1, 0), ["ab\n", "c"])


def test_a_range_that_runs_backwards_is_turned_around() -> None:
    check("abc", Edit(Point(0, 2), Point(0, 1), "X"), ["aXc"])


def test_surrogate_halves_that_meet_become_one_character() -> None:
    check("x\ud83e", insert(0, 2, "\udd78"), ["x🥸"])
    check("\ud83ea\udd78", delete(0, 1, 0, 2), ["🥸"])
    assert document("\ud83e\udd78").lines == ["🥸"]


def test_a_snapshot_keeps_its_text_while_the_document_moves_on() -> None:
    edited = document("a\nb")
    snapshot = edited.snapshot()
    edited.apply(insert(0, 0, "X\n"))
    edited.version = 2
    assert (snapshot.text, snapshot.version) == ("a\nb", 1)
    assert edited.text == "X\na\nb"


def test_an_edit_leaves_the_other_lines_untouched() -> None:
    edited = document("".join(f"line {i}\n" for i in range(100)))
    kept = [id(line) for line in edited.lines]
    edited.apply(insert(50, 0, "X"))
    assert [id(line) for line in edited.lines[:50]] == kept[:50]
    assert [id(line) for line in edited.lines[51:]] == kept[51:]


def test_a_line_text_has_no_line_end() -> None:
    assert [document("a\r\nb\rc").line_text(i) for i in range(3)] == ["a", "b", "c"]


def test_splitting_loses_nothing() -> None:
    assert "".join(split_lines("a\r\r\n\nb")) == "a\r\r\n\nb"
