import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goose_lsp.text.syntax import parsing
from goose_lsp.text.syntax.gate import count_errors
from goose_lsp.text.syntax.parsing import MAX_CHARS, Parse, as_bytes, extend, parse
from tests.samples import PROGRAMS, program

ODD = [
    "",
    "\0",
    "x = '\0'\r\ny = 1\rz = 2\n",
    "x = 'é 😀 \u2028 \ud800'\n",
    "\ufeffx = 1\n",
    "\x0c\x1d\x85x",
    "\t\tx\n        y\n",
    "(" * 5000,
    "{" * 25 + "}" * 25,
    '"' * 999,
]


def parsed(text: str, grammar: str) -> Parse:
    found = parse(text, grammar)
    assert found is not None
    return found


@pytest.mark.parametrize("grammar", PROGRAMS)
def test_the_samples_of_every_grammar_hold_no_error(grammar: str) -> None:
    assert count_errors(parsed("".join(program(grammar)), grammar)) == 0


@pytest.mark.parametrize("grammar", PROGRAMS)
@pytest.mark.parametrize("text", ODD)
def test_odd_text_is_parsed_like_any_other(grammar: str, text: str) -> None:
    assert len(parsed(text, grammar).data) == len(text)


@given(st.text())
def test_a_character_is_one_byte(text: str) -> None:
    assert len(as_bytes(text)) == len(text)


def test_every_line_end_counts_and_odd_blanks_are_blanks() -> None:
    assert as_bytes("a\r\nb\rc\nd\u2028e\u00a0f\x0cé😀") == b"a \nb\nc\nd e f xx"


def test_an_unknown_grammar_parses_nothing() -> None:
    assert parse("x", "klingon") is None


def test_text_over_the_limit_is_not_parsed() -> None:
    assert parse("x" * (MAX_CHARS + 1), "python") is None
    assert parse("x" * 5_000_000, "javascript") is None
    whole = parsed("x = 1", "python")
    assert extend(whole, 5, "x" * MAX_CHARS) is None


def test_a_parse_that_takes_too_long_is_given_up_and_said_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(parsing, "PARSE_LIMIT_S", -1.0)
    monkeypatch.setattr(parsing, "_timed_out", set())
    text = "x = [1, (2, 3)]\n" * 2000
    with caplog.at_level(logging.WARNING):
        assert parse(text, "python") is None
        assert parse(text, "python") is None
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "x = " not in caplog.text
    monkeypatch.undo()
    assert parse(text, "python") is not None


@pytest.mark.parametrize("grammar", PROGRAMS)
def test_an_extended_parse_is_that_of_the_whole_text(grammar: str) -> None:
    before, body, after = program(grammar)
    base = parsed(before + after, grammar)
    extended = extend(base, len(before), body + after)
    assert extended is not None
    fresh = parsed(before + body + after, grammar)
    assert extended.data == fresh.data
    assert str(extended.tree.root_node) == str(fresh.tree.root_node)
    assert base.tree.root_node.end_byte == len(before + after)  # the base may be extended again
