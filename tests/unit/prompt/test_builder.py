from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import pre_tokenizers

from goose_lsp.prompt.builder import ANCHOR_LINES, Prompt, build_prompt
from goose_lsp.request import Point
from goose_lsp.text.document import Document
from goose_lsp.tokenizer import Tokenizer
from tests.tiny import byte_tokenizer

BYTES = byte_tokenizer()
LINE = "x = f(y)\n"


def joining_tokenizer() -> Tokenizer:
    """One token a byte, but ` a` is one."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    return Tokenizer.from_bpe([*alphabet, "Ġa"], ["Ġ a"], [], "default")


def prompt_at_end(text: str, budget: int = 1000, tokenizer: Tokenizer = BYTES) -> Prompt:
    document = Document("file:///a.py", 1, "python", text)
    last = document.n_lines - 1
    return build_prompt(document, Point(last, len(document.lines[last])), tokenizer, budget)


def numbered(n_lines: int) -> str:
    return "".join(f"line {i:03}\n" for i in range(n_lines))


def test_a_short_document_is_taken_whole_up_to_the_cursor() -> None:
    document = Document("file:///a.py", 1, "python", "one\ntwo\nthree\n")
    prompt = build_prompt(document, Point(1, 2), BYTES, 100)
    assert BYTES.decode(prompt.token_ids) == "one\ntw"
    assert prompt.held_back == ""


@pytest.mark.parametrize("line_end", ["\r\n", "\r"])
def test_line_ends_of_any_kind_reach_the_model_as_lf(line_end: str) -> None:
    prompt = prompt_at_end(line_end.join(["one", "", "two"]))
    assert BYTES.decode(prompt.token_ids) == "one\n\ntwo"


def test_an_empty_document_still_gives_the_model_something_to_continue() -> None:
    assert BYTES.decode(prompt_at_end("").token_ids) == "\n"


@settings(deadline=None)
@given(st.lists(st.text("ab \té\U0001f600", max_size=40), max_size=80), st.integers(1, 400))
def test_a_prompt_is_the_end_of_the_text_and_never_exceeds_its_budget(
    lines: list[str], budget: int
) -> None:
    text = "\n".join(lines)
    token_ids = prompt_at_end(text, budget).token_ids
    assert 0 < len(token_ids) <= budget
    whole = BYTES.encode(text) or BYTES.encode("\n")
    assert token_ids == whole[-len(token_ids) :]


@pytest.mark.parametrize("tokenizer", [BYTES, joining_tokenizer()])
def test_a_line_of_a_megabyte_is_bounded(tokenizer: Tokenizer) -> None:
    assert len(prompt_at_end("ab " * 350_000, 200, tokenizer).token_ids) <= 200


def test_a_window_starts_at_an_anchor_line() -> None:
    lines = [f"line {i:03}" for i in range(200)]
    text = BYTES.decode(prompt_at_end("\n".join(lines), 700).token_ids)
    first = int(text[5:8])
    assert text.startswith("line ")
    assert first > 0
    assert first % ANCHOR_LINES == 0


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 199), st.integers((ANCHOR_LINES + 1) * len(LINE) + 16, 3000))
def test_typing_on_a_line_changes_only_the_tail_of_the_prompt(n_lines: int, budget: int) -> None:
    """But for the one time the text outgrows its budget and the window moves to the next anchor."""
    typed = "if a < b:"
    prompts = [prompt_at_end(LINE * n_lines + typed[:n], budget).token_ids for n in range(1, 10)]
    n_moves = sum(after[: len(before)] != before for before, after in pairwise(prompts))
    assert n_moves <= 1


def test_a_window_stays_put_over_the_lines_after_its_anchor() -> None:
    prompts = [prompt_at_end(numbered(n), 700).token_ids for n in range(129, 141)]
    assert len({tuple(token_ids[:8]) for token_ids in prompts}) == 1


@pytest.mark.parametrize(
    ("text", "kept", "held_back"),
    [("x = ", "x =", " "), ("x =  ", "x = ", " "), ("x =", "x =", ""), ("\n", "\n", "")],
)
def test_a_blank_that_the_vocabulary_joins_with_a_word_is_held_back(
    text: str, kept: str, held_back: str
) -> None:
    tokenizer = joining_tokenizer()
    prompt = prompt_at_end(text, tokenizer=tokenizer)
    assert tokenizer.decode(prompt.token_ids) == kept
    assert prompt.held_back == held_back


@given(st.text("ab= \n", min_size=1))
def test_a_vocabulary_of_bytes_holds_nothing_back(text: str) -> None:
    prompt = prompt_at_end(text)
    assert prompt.held_back == ""
    assert BYTES.decode(prompt.token_ids) == text


@settings(deadline=None)
@given(st.text("ab= \n", min_size=1))
def test_what_is_held_back_and_the_prompt_make_up_the_text(text: str) -> None:
    tokenizer = joining_tokenizer()
    prompt = prompt_at_end(text, tokenizer=tokenizer)
    kept = text.removesuffix(prompt.held_back)
    assert tokenizer.decode(prompt.token_ids) == (kept or "\n")
