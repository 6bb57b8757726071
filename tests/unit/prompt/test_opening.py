import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import pre_tokenizers

from goose_lsp.prompt.opening import encode_open
from goose_lsp.tokenizer import Tokenizer
from tests.vocabularies import joining_tokenizer, marked_tokenizer, sentencepiece_tokenizer

JOINING = joining_tokenizer()


@pytest.mark.parametrize(
    ("text", "kept", "held_back"),
    [
        ("x = ", "x =", " "),
        ("x =  ", "x = ", " "),
        ("x =", "x =", ""),
        ("\n", "\n", ""),
        (" ", "", " "),
        ("", "", ""),
    ],
)
@pytest.mark.parametrize("tokenizer", [JOINING, sentencepiece_tokenizer()])
def test_a_blank_that_the_vocabulary_joins_with_a_word_is_held_back(
    tokenizer: Tokenizer, text: str, kept: str, held_back: str
) -> None:
    opened = encode_open(text, tokenizer, is_inner=True)
    assert tokenizer.decode(opened.token_ids) == kept
    assert opened.held_back == held_back


@given(st.text("ab= \n"))
def test_a_vocabulary_of_bytes_holds_nothing_back(text: str) -> None:
    tokenizer = marked_tokenizer([])
    opened = encode_open(text, tokenizer, is_inner=False)
    assert opened == (tokenizer.encode(text), "")


@given(st.text("ab= \n\t"))
def test_what_is_held_back_and_the_tokens_make_up_the_text(text: str) -> None:
    for tokenizer in (JOINING, sentencepiece_tokenizer()):
        opened = encode_open(text, tokenizer, is_inner=True)
        assert tokenizer.decode(opened.token_ids) + opened.held_back == text


def indenting_tokenizer() -> Tokenizer:
    """A line end and four blanks are one token, as in vocabularies made for code."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = ["Ċ Ġ", "Ġ Ġ", "ĊĠ ĠĠ"]
    return Tokenizer.from_bpe([*alphabet, "ĊĠ", "ĠĠ", "ĊĠĠĠ"], merges, [], "default")


@pytest.mark.parametrize(
    ("text", "kept", "held_back"),
    [
        ("if x:\n", "if x:", "\n"),
        ("if x:\n\n\n", "if x:\n\n\n", ""),
        ("if x: \n", "if x: \n", ""),
        ("\n", "\n", ""),
    ],
)
def test_a_line_end_that_the_vocabulary_joins_with_indentation_is_held_back(
    text: str, kept: str, held_back: str
) -> None:
    tokenizer = indenting_tokenizer()
    opened = encode_open(text, tokenizer, is_inner=False)
    assert (tokenizer.decode(opened.token_ids), opened.held_back) == (kept, held_back)
