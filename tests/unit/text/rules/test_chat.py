import pytest

from goose_lsp.text.rules.chat import (
    cut_at_control_token,
    cut_at_prompt_format,
    without_fence,
    without_prose,
    without_stray_mark,
)
from tests.marked import around_cursor

EMPTY = around_cursor("<|>", "python")


@pytest.mark.parametrize(
    "control",
    [
        *("<|endoftext|>", "<|file_sep|>", "<file_sep>", "</s>", "<EOT>", "<fim_middle>"),
        *("<\uff5cend\u2581of\u2581sentence\uff5c>", "<fim-prefix>", "<|fim_pad|>"),
    ],
)
def test_a_control_token_in_plain_letters_ends_the_text(control: str) -> None:
    assert cut_at_control_token(f"x = 1{control}y", EMPTY, ()) == "x = 1"


def test_the_tokenizers_own_spellings_end_the_text_at_the_first() -> None:
    assert cut_at_control_token("a§end§b§pad§", EMPTY, ("§pad§", "§end§", "")) == "a"
    assert cut_at_control_token("a b", EMPTY, (" ", "")) == "a b"


@pytest.mark.parametrize(
    "text", ["f <| g x |> h", "a <b> c", "if a<s>b", "<s>old</s>", "x </ s>", "<p>b</p>"]
)
def test_operators_and_markup_are_no_control_tokens(text: str) -> None:
    assert cut_at_control_token(text, EMPTY, ()) == text


@pytest.mark.parametrize("control", ["<|endoftext|>", "§end§"])
def test_a_file_about_control_tokens_may_go_on_so(control: str) -> None:
    around = around_cursor(f"END = '{control}'\nENDS = [<|>]")
    assert cut_at_control_token(f"'{control}', END", around, ("§end§",)) == f"'{control}', END"


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        ("```python\nx = 1\n```", "x = 1"),
        ("```\nx = 1", "x = 1"),
        ("  ~~~py\nx = 1\n~~~\nThis sets x.", "x = 1"),
        ("Here is the code:\n\n```python\nx = 1\n```\n", "x = 1"),
        ("x = 1\n```\nThis sets x.", "x = 1"),
        ("```\nx = 1  # ```", "x = 1  # ```"),
        ("s = `a ${b}`;", "s = `a ${b}`;"),
        ("x = 1", "x = 1"),
    ],
)
def test_of_a_fenced_answer_the_inside_is_kept(raw: str, code: str) -> None:
    assert without_fence(raw, EMPTY) == code


def test_fences_belong_to_markdown_and_to_files_that_have_some() -> None:
    raw = "```python\nx = 1\n```"
    assert without_fence(raw, around_cursor("<|>", "markdown")) == raw
    assert without_fence(raw, around_cursor('s = """\n```\n```\n<|>', "python")) == raw


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        ("x = 1\n# End of file.\ny = 2", "x = 1\n"),
        ("\nHuman: Now write some other code", "\n"),
        ("x\nAssistant:", "x\n"),
        ("// Path: src/a.ts\nx", ""),
        ("# File: a.py\nx", ""),
        ("[CODE]\nx = 1\n[/CODE]\nDone.", "x = 1\n"),
        ("<CODE12>\nx = 1\n</CODE12>", "x = 1\n"),
        ("x\n[/CODE]", "x\n"),
        ("<COMPLETION>x</COMPLETION>", "x"),
    ],
)
def test_a_prompts_format_ends_the_text(raw: str, code: str) -> None:
    assert cut_at_prompt_format(raw, EMPTY) == code


@pytest.mark.parametrize(
    "raw",
    ["User: UserModel,", "# File: the one to open", "x = [CODE]", "<code>", "system: str = ''"],
)
def test_code_that_resembles_a_prompt_stays(raw: str) -> None:
    assert cut_at_prompt_format(raw, EMPTY) == raw


def test_a_file_with_such_lines_may_go_on_so() -> None:
    around = around_cursor("# File: a.py\nx\n<|>")
    assert cut_at_prompt_format("# File: a.py\ny", around) == "# File: a.py\ny"


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        ("Sure, here is the function", ""),
        ("Here is the code:\nx = 1", "x = 1"),
        ("Certainly! Look:\n\nHere's one way:\n\nx = 1", "\nx = 1"),
        ("I'm sorry, but that is not possible.", ""),
        ("x = 1\nHere is the code:", "x = 1"),
        ("sure = here", "sure = here"),
        ("\n\nx", "\n\nx"),
        ("x = 1\n\nExplanation: it is set.", "x = 1\n"),
        ("x = 1\nThis code sets x to one.", "x = 1"),
        ("x = 1\n    Note: it", "x = 1\n    Note: it"),
    ],
)
def test_prose_before_the_code_and_behind_it_is_dropped(raw: str, code: str) -> None:
    assert without_prose(raw, EMPTY) == code


@pytest.mark.parametrize(
    ("marked", "language"),
    [("<|>", "markdown"), ('"""A.\n<|>', "python"), ("/* A.\n<|>", "c"), ("# <|>", "python")],
)
def test_prose_is_welcome_where_people_write_it(marked: str, language: str) -> None:
    around = around_cursor(marked, language)
    assert without_prose("Sure, so it is.", around) == "Sure, so it is."
    assert without_stray_mark("-  it", around) == "-  it"


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        ("\u2795  x", "x"),
        ("\u2022 x", "x"),
        ("\ufeffx", "x"),
        ("\u200bx", "x"),
        ("-  x", "x"),
        (".    x", "x"),
        ("- x", "- x"),
        (".x", ".x"),
        ("    x", "    x"),
    ],
)
def test_a_stray_mark_before_the_code_is_dropped(raw: str, code: str) -> None:
    assert without_stray_mark(raw, EMPTY) == code


def test_lists_have_marks() -> None:
    assert without_stray_mark("-  x", around_cursor("<|>", "yaml")) == "-  x"
