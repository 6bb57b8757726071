from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goose_lsp.engine import gguf_file
from goose_lsp.index.retokenise import Retokeniser
from goose_lsp.tokenizer import Tokenizer
from tests.fakes import embedded_model
from tests.vocabularies import (
    PRE_TOKENIZERS,
    joining_tokenizer,
    marked_tokenizer,
    sentencepiece_tokenizer,
    trained_tokenizer,
)

LINES = st.lists(
    st.sampled_from([
        "def f(a):", "    return a a  a", "", "  ", "\t", "x = 'é😀'", "# 12 345", "a\u2028b", "\\n", "a" * 40, ")", "}  ",
        "    \t  a", "zz9 a", "it's a's 'll", "\r", "日本 語",
    ]),
    max_size=12,
)  # fmt: skip
TEXT = LINES.map("\n".join)
ASCII = TEXT.map(lambda text: text.encode("ascii", "ignore").decode())


def check(tokenizer: Tokenizer, old: str, start: int, end: int, put: str) -> None:
    """The tokens after an edit are those of the whole text."""
    retokeniser = Retokeniser(tokenizer)
    new = old[:start] + put + old[max(start, end) :]
    found = retokeniser.updated(old, retokeniser.tokens(old), new)
    assert found.tolist() == tokenizer.encode(new)


PLACES = st.integers(0, 80)


@given(TEXT, PLACES, PLACES, TEXT)
def test_after_an_edit_the_tokens_are_those_of_the_whole_text(
    old: str, start: int, end: int, put: str
) -> None:
    for tokenizer in (marked_tokenizer([]), joining_tokenizer()):
        check(tokenizer, old, start, end, put)


@pytest.mark.parametrize("pre", [*PRE_TOKENIZERS, "none"])
@given(old=TEXT, start=PLACES, end=PLACES, put=TEXT)
def test_so_they_are_however_words_are_split_and_merged(
    pre: str, old: str, start: int, end: int, put: str
) -> None:
    check(trained_tokenizer(pre), old, start, end, put)


def test_a_vocabulary_with_tokens_across_words_is_asked_for_the_whole_text() -> None:
    # `def ` is one token where a name follows, `def` and a blank are two here.
    tokenizer = trained_tokenizer("none")
    old = "x\nd ef f"
    check(tokenizer, old, 3, 4, "")
    check(tokenizer, "#f n", 0, 1, "de")


@pytest.mark.parametrize("put", ["\ud83d", "é", "日", "\U0001f600"])
def test_halves_of_characters_keep_the_places_of_tokens_right(put: str) -> None:
    old = "a \ud83d b 日本 c é d\nword after\n"
    for place in range(len(old)):
        check(joining_tokenizer(), old, place, place, put)
        check(joining_tokenizer(), old, place, place + 1, put)


@given(ASCII, PLACES, PLACES, ASCII)
def test_a_vocabulary_whose_lengths_do_not_add_up_is_asked_for_the_whole_text(
    old: str, start: int, end: int, put: str
) -> None:
    check(sentencepiece_tokenizer(), old, start, end, put)


@pytest.fixture(scope="module")
def real() -> Tokenizer:
    return gguf_file.open_model(embedded_model())[1]


@pytest.mark.model
@given(old=TEXT, start=PLACES, end=PLACES, put=TEXT)
def test_so_they_are_with_a_real_vocabulary(
    real: Tokenizer, old: str, start: int, end: int, put: str
) -> None:
    check(real, old, start, end, put)


@pytest.mark.model
def test_typing_through_a_real_file_keeps_its_tokens_right(real: Tokenizer) -> None:
    text = Path(__file__).read_text("utf-8")
    retokeniser = Retokeniser(real)
    typed = "\n    value = compute(items[0], 'it''s')  # done\n"
    tokens = retokeniser.tokens(text)
    for place in (0, 7, 500, len(text) - 3, len(text)):
        for i in range(len(typed)):
            before, text = text, text[: place + i] + typed[i] + text[place + i :]
            tokens = retokeniser.updated(before, tokens, text)
        assert tokens.tolist() == real.encode(text)
