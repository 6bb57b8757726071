import pytest

from goose_lsp.prompt.anchor import LINE_END_SHARE, Anchor, anchor_point
from goose_lsp.request import Point
from goose_lsp.text.document import Document
from tests.vocabularies import joining_tokenizer, marked_tokenizer

BYTES = marked_tokenizer([])
ANCHOR = Anchor(Point(0, 0), Point(1, 2), "one\ntw", [], "")


def check_typed(text: str, cursor: Point, typed: str | None) -> None:
    assert ANCHOR.typed(Document("file:///a.py", 1, "python", text), cursor) == typed


def test_what_stands_between_anchor_and_cursor_is_what_was_typed() -> None:
    check_typed("one\ntwo three\n", Point(1, 9), "o three")
    check_typed("one\r\ntwo\r\nthree\r\n", Point(2, 5), "o\nthree")
    check_typed("one\ntw", Point(1, 2), "")


@pytest.mark.parametrize(
    ("text", "cursor"),
    [
        ("one\ntwo\n", Point(1, 1)),  # gone back
        ("one\nt", Point(1, 1)),  # deleted
        ("one", Point(0, 3)),
        ("own\ntwo\n", Point(1, 3)),  # changed elsewhere
        ("zero\none\ntwo\n", Point(2, 3)),
    ],
)
def test_an_anchor_holds_only_for_the_text_before_it(text: str, cursor: Point) -> None:
    check_typed(text, cursor, None)


@pytest.mark.parametrize(
    ("typed", "is_due"),
    [
        ("x" * 100, False),
        ("x" * 101, True),
        ("\n" + "x" * (int(100 * LINE_END_SHARE) - 1), False),
        ("\n" + "x" * int(100 * LINE_END_SHARE), True),
        ("x" * 5_000_000, True),
    ],
)
def test_a_new_anchor_is_due_after_so_many_tokens_and_sooner_on_a_further_line(
    typed: str, is_due: bool
) -> None:
    assert (ANCHOR.middle(typed, BYTES, 100) is None) is is_due


def test_blanks_that_the_prefix_held_back_begin_the_middle() -> None:
    tokenizer = joining_tokenizer()
    anchor = Anchor(Point(0, 0), Point(0, 4), "x = ", [], " ")
    untyped, typed = anchor.middle("", tokenizer, 100), anchor.middle("ab", tokenizer, 100)
    assert untyped == ([], " ")
    assert typed is not None
    assert tokenizer.decode(typed.token_ids) == " ab"
    assert typed.token_ids[0] == 256  # one token, as the model would have written it


def test_a_near_anchor_goes_to_the_start_of_the_line() -> None:
    assert anchor_point(Point(3, 7), 10, is_near=False) == Point(3, 7)
    assert anchor_point(Point(3, 7), 10, is_near=True) == Point(3, 0)
    assert anchor_point(Point(3, 11), 10, is_near=True) == Point(3, 11)
