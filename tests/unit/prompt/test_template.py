from hypothesis import given
from hypothesis import strategies as st

from goose_lsp.prompt.template import Piece, Slot, encode, fill
from tests.vocabularies import sentencepiece_tokenizer

TOKENIZER = sentencepiece_tokenizer()
OPENING = 32


def test_neighbouring_texts_are_joined_and_missing_fields_are_empty() -> None:
    pieces = fill("a{one}b{none}{two}c{one}", {"one": ["1"], "two": [7]})
    assert pieces == ["a1b", 7, "c1"]


@given(st.text("{}ab\n"))
def test_braces_in_a_text_are_text(text: str) -> None:
    assert fill("{text}", {"text": [text]}) == ([text] if text else [])


def check(pieces: list[Piece], token_ids: list[int | Slot], *, is_inner: bool) -> None:
    assert encode(pieces, TOKENIZER) == (token_ids, is_inner)


def test_a_prefix_behind_a_control_token_opens_its_text_itself() -> None:
    check([1, Slot.PREFIX, 2, "b"], [1, Slot.PREFIX, 2, ord("b")], is_inner=False)
    check([Slot.PREFIX], [Slot.PREFIX], is_inner=False)


def test_text_before_a_prefix_opens_for_it() -> None:
    check([1, "b", Slot.PREFIX], [1, OPENING, ord("b"), Slot.PREFIX], is_inner=True)
    check(["b", Slot.PREFIX], [OPENING, ord("b"), Slot.PREFIX], is_inner=True)


def test_text_that_the_prefix_does_not_go_on_from_opens_nothing() -> None:
    check(["b", 1, Slot.PREFIX], [ord("b"), 1, Slot.PREFIX], is_inner=False)
    check([Slot.SUFFIX, Slot.PREFIX], [Slot.SUFFIX, Slot.PREFIX], is_inner=False)
