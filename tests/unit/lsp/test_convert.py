"""Editor positions in all three encodings, and completions as the editor wants them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types as lsp

from goose_lsp.lsp.convert import (
    Encoding,
    apply_changes,
    choose_encoding,
    to_column,
    to_completion_list,
    to_inline_list,
    to_point,
    to_position,
    to_units,
)
from goose_lsp.request import Completion, Edit, Point, Reason
from goose_lsp.text.document import Document

ENCODINGS = st.sampled_from(list(Encoding))
TEXT = st.lists(
    st.sampled_from([*"ab\n\r\f", "\r\n", "\u2028", "é", "漢", "🥸", "\ud83e", "\udd78"]),
    max_size=12,
).map("".join)
WIDE = 's = "🥸é漢"; t = '


def document(text: str) -> Document:
    return Document("file:///a.py", 1, "python", text)


def offer(text: str, start: Point, end: Point) -> Completion:
    return Completion(text, start, end, Reason.OK)


@given(TEXT, st.integers(0, 9), st.integers(0, 9), ENCODINGS)
def test_a_point_survives_the_way_to_the_editor_and_back(
    text: str, line: int, column: int, encoding: Encoding
) -> None:
    held = document(text)
    point = held.clamp(Point(line, column))
    assert to_point(held, to_position(held, point, encoding), encoding) == point


@given(TEXT, st.integers(0, 30), ENCODINGS)
def test_any_column_of_an_editor_means_a_place_in_the_text(
    text: str, units: int, encoding: Encoding
) -> None:
    held = document(text)
    for line in range(held.n_lines + 2):
        assert held.contains(to_point(held, lsp.Position(line, units), encoding))


@pytest.mark.parametrize(("encoding", "units"), [("utf-8", 21), ("utf-16", 16), ("utf-32", 15)])
def test_wide_characters_count_in_the_agreed_unit(encoding: str, units: int) -> None:
    assert to_column(WIDE, units, Encoding(encoding)) == len(WIDE)
    assert to_units(WIDE, Encoding(encoding)) == units


@pytest.mark.parametrize(
    ("encoding", "units", "column"),
    [("utf-16", 1, 0), ("utf-16", 2, 1), ("utf-8", 3, 0), ("utf-8", 5, 1), ("utf-32", 9, 2)],
)
def test_a_column_inside_a_character_or_past_the_end_is_clamped(
    encoding: str, units: int, column: int
) -> None:
    assert to_column("🥸é", units, Encoding(encoding)) == column


def test_a_lone_surrogate_is_one_unit_or_three_bytes() -> None:
    assert to_units("\ud83e", Encoding.UTF16) == 1
    assert to_units("\ud83e", Encoding.UTF8) == 3
    assert to_units("\ud83e", Encoding.UTF32) == 1


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [
        (["utf-8", "utf-16"], "utf-8"),
        (["utf-32"], "utf-32"),
        (["utf-7", "utf-32"], "utf-32"),
        (["utf-7"], "utf-16"),
        ([], "utf-16"),
        (None, "utf-16"),
        ([lsp.PositionEncodingKind.Utf8], "utf-8"),
    ],
)
def test_the_first_known_offer_wins_and_silence_means_utf_16(
    offered: list[str] | None, chosen: str
) -> None:
    assert choose_encoding(offered) == chosen


def test_each_change_applies_to_the_result_of_the_one_before() -> None:
    held = document("🥸\n")
    changes = [
        lsp.TextDocumentContentChangePartial(
            lsp.Range(lsp.Position(0, 2), lsp.Position(1, 0)), "漢x"
        ),
        lsp.TextDocumentContentChangePartial(
            lsp.Range(lsp.Position(0, 3), lsp.Position(0, 4)), "y"
        ),
    ]
    edits = apply_changes(held, changes, Encoding.UTF16)
    assert edits == [
        Edit(Point(0, 1), Point(1, 0), "漢x"),
        Edit(Point(0, 2), Point(0, 3), "y"),
    ]
    assert held.text == "🥸漢y"


def test_a_change_without_a_range_replaces_everything() -> None:
    held = document("a\nbc")
    edits = apply_changes(held, [lsp.TextDocumentContentChangeWholeDocument("d")], Encoding.UTF8)
    assert edits == [Edit(Point(0, 0), Point(1, 2), "d")]
    assert held.text == "d"


def test_an_inline_item_always_has_a_range_in_the_agreed_unit() -> None:
    held = document("🥸x")
    result = to_inline_list(held, offer("yz", Point(0, 1), Point(0, 2)), Encoding.UTF16)
    assert [item.insert_text for item in result.items] == ["yz"]
    assert result.items[0].range == lsp.Range(lsp.Position(0, 2), lsp.Position(0, 3))


def test_an_empty_completion_is_an_empty_list() -> None:
    nothing = Completion("", Point(0, 0), Point(0, 0), Reason.NOTHING_TO_ADD)
    assert to_inline_list(document(""), nothing, Encoding.UTF8).items == []
    menu = to_completion_list(document(""), nothing, Point(0, 0), Encoding.UTF8)
    assert (menu.items, menu.is_incomplete) == ([], True)


def test_a_menu_item_takes_in_the_word_before_the_cursor() -> None:
    cursor = Point(0, 6)
    result = to_completion_list(
        document("x = so"), offer("rted(y)", cursor, cursor), cursor, Encoding.UTF16
    )
    (item,) = result.items
    assert item.filter_text == "sorted(y)"
    assert item.text_edit == lsp.TextEdit(
        lsp.Range(lsp.Position(0, 4), lsp.Position(0, 6)), "sorted(y)"
    )
    assert result.is_incomplete


def test_a_menu_item_of_several_lines_is_labelled_by_its_first() -> None:
    cursor = Point(0, 2)
    result = to_completion_list(
        document("if"), offer(" x:\n    y", cursor, cursor), cursor, Encoding.UTF16
    )
    (item,) = result.items
    assert (item.label, item.filter_text) == ("if x:", "if x:")
