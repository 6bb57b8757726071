import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goose_lsp.prompt.opening import Opened
from goose_lsp.prompt.window import (
    ANCHOR_LINES,
    fit_after,
    open_window,
    text_behind,
    text_between,
)
from goose_lsp.request import Point
from goose_lsp.text.document import Document

line_ends = st.sampled_from(["\n", "\r\n", "\r"])
texts = st.lists(st.tuples(st.text("ab\té\U0001f600", max_size=40), line_ends), max_size=90)


def document_of(text: str) -> Document:
    return Document("file:///a.py", 1, "python", text)


def end_of(document: Document) -> Point:
    return Point(document.n_lines - 1, len(document.lines[-1]))


def characters(text: str) -> Opened:
    """A vocabulary of code points."""
    return Opened([ord(character) for character in text], "")


def start_for(
    document: Document, budget: int, previous: Point | None = None, cursor: Point | None = None
) -> Point:
    cursor = cursor or end_of(document)
    start, opened = open_window(document, cursor, characters, budget, previous)
    assert opened == characters(text_between(document, start, cursor))
    assert len(opened.token_ids) <= budget
    return start


@given(texts)
def test_text_between_two_points_has_lf_line_ends(lines: list[tuple[str, str]]) -> None:
    document = document_of("".join(text + end for text, end in lines))
    whole = text_between(document, Point(0, 0), end_of(document))
    assert whole == "\n".join(document.line_text(i) for i in range(document.n_lines))


def test_text_on_one_line_is_cut_at_both_points() -> None:
    assert text_between(document_of("abcdef\r\n"), Point(0, 1), Point(0, 3)) == "bc"


@settings(deadline=None)
@given(texts, st.integers(1, 2000), st.integers(0, 90))
def test_a_window_fits_its_budget_whatever_the_text_and_the_previous_start(
    lines: list[tuple[str, str]], budget: int, previous_line: int
) -> None:
    start_for(
        document_of("".join(text + end for text, end in lines)), budget, Point(previous_line, 0)
    )


def test_a_document_that_fits_is_taken_from_its_start() -> None:
    assert start_for(document_of("line\n" * 200), 1000) == Point(0, 0)


def test_a_window_that_does_not_reach_the_documents_start_begins_at_an_anchor() -> None:
    start = start_for(document_of("line\n" * 1000), 1000)
    assert start.column == 0
    assert start.line > 0
    assert start.line % ANCHOR_LINES[0] == 0


def test_a_window_is_kept_while_what_is_typed_fits() -> None:
    start = start_for(document_of("line\n" * 1000), 1000)
    n_kept = next(
        n for n in range(200) if start_for(document_of("line\n" * (1000 + n)), 1000, start) != start
    )
    assert n_kept >= 40  # a fifth of the budget


def test_going_up_inside_a_window_keeps_its_start() -> None:
    document = document_of("line\n" * 1000)
    start = start_for(document, 1000)
    cursor = Point(start.line + 60, 0)
    assert start_for(document, 1000, start, cursor) == start


def test_a_window_that_leaves_little_before_the_cursor_is_given_up() -> None:
    document = document_of("line\n" * 1000)
    assert start_for(document, 1000, Point(990, 0)) < Point(900, 0)
    assert start_for(document, 1000, Point(5, 0), Point(3, 0)) == Point(0, 0)


@settings(deadline=None)
@given(texts, st.integers(8, 2000))
def test_a_window_takes_about_half_of_its_budget_where_there_is_so_much_text(
    lines: list[tuple[str, str]], budget: int
) -> None:
    document = document_of("".join(text + end for text, end in lines))
    whole = text_between(document, Point(0, 0), end_of(document))
    text = text_between(document, start_for(document, budget), end_of(document))
    assert len(text) >= min(len(whole), budget // 4)


@pytest.mark.parametrize(
    ("text", "budget", "start"),
    [
        ("short\n" + "x" * 10_000, 2000, Point(1, 8704)),
        ("short\n" + "x" * 10_000, 300, Point(1, 9792)),
        ("short\n" + "x" * 10_000, 3, Point(1, 9998)),
        ("x" * 10_000 + "\nshort\n", 2000, Point(0, 8704)),
    ],
)
def test_a_line_longer_than_the_budget_is_cut_at_a_round_column(
    text: str, budget: int, start: Point
) -> None:
    assert start_for(document_of(text), budget) == start


def test_typing_into_a_line_of_megabytes_keeps_the_window() -> None:
    cursor = Point(0, 2_000_000)
    start = start_for(document_of("x" * 5_000_000), 2000, None, cursor)
    assert start.column > 2_000_000 - 2000
    for n in range(1, 20):
        further = Point(0, cursor.column + n)
        assert start_for(document_of("x" * 5_000_000), 2000, start, further) == start


@given(texts, st.integers(0, 200))
def test_what_fits_after_the_cursor_is_whole_lines_where_one_fits(
    lines: list[tuple[str, str]], budget: int
) -> None:
    text = "".join(f"{text}\n" for text, _ in lines)
    fitting, token_ids = fit_after(text, lambda part: list(part.encode()), budget)
    assert text.startswith(fitting)
    assert bytes(token_ids).decode() == fitting  # no code point is split
    assert len(token_ids) <= budget
    if fitting != text:
        assert fitting.endswith("\n") or "\n" not in fitting


@given(texts, st.integers(0, 300))
def test_the_text_behind_the_cursor_never_ends_inside_a_line_end(
    lines: list[tuple[str, str]], max_chars: int
) -> None:
    document = document_of("".join(text + end for text, end in lines))
    whole = text_between(document, Point(0, 0), end_of(document))
    assert whole.startswith(text_behind(document, Point(0, 0), max_chars))
