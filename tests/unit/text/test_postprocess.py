import pytest
from hypothesis import given
from hypothesis import strategies as st

from goose_lsp.text.endings import EndRule
from goose_lsp.text.postprocess import shown_text

TOP = EndRule(indent=0, is_single_line=False)
BLOCK = EndRule(indent=4, is_single_line=False)
SINGLE = EndRule(indent=4, is_single_line=True)


@pytest.mark.parametrize(
    ("rule", "text", "shown"),
    [
        (SINGLE, "a, b\n    c", "a, b"),
        (SINGLE, "\nmore", ""),
        (BLOCK, "a\n    b\n  c\n", "a\n    b"),
        (BLOCK, "a\n\n    b\nc", "a\n\n    b"),
        (BLOCK, "a\n\n\nc", "a"),
        (BLOCK, "\n    a\n    b\nc", "\n    a\n    b"),
        (TOP, "a\nb\n\nc", "a\nb"),
        (TOP, "\n\na\n\nb", "\n\na"),
    ],
)
def test_text_is_cut_where_the_block_ends(rule: EndRule, text: str, shown: str) -> None:
    assert shown_text(text, "", rule, is_whole=True) == shown
    assert shown_text(text, "", rule, is_whole=False) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\n    b\n    c(", "a\n    b"),
        ("a\n    b\n", "a\n    b"),
        ("a\n    b\n   ", "a\n    b"),
        ("a(", "a("),
        ("\n    a(", "\n    a("),
    ],
)
def test_an_unfinished_last_line_is_dropped_when_whole_lines_precede(text: str, shown: str) -> None:
    assert shown_text(text, "", BLOCK, is_whole=False) == shown


def test_a_text_the_model_ended_itself_keeps_its_last_line() -> None:
    assert shown_text("a\n    b", "", BLOCK, is_whole=True) == "a\n    b"


@pytest.mark.parametrize(
    ("text", "shown"), [(" y + 1", "y + 1"), ("y", ""), ("", ""), ("  y", " y"), ("\ty", "")]
)
def test_held_back_blanks_must_come_back_or_nothing_is_shown(text: str, shown: str) -> None:
    assert shown_text(text, " ", BLOCK, is_whole=True) == shown


rules = st.builds(EndRule, st.integers(0, 4), st.booleans())
codes = st.text(st.sampled_from("a\n "), max_size=24)


@given(rules, codes, st.booleans())
def test_what_is_shown_begins_the_text_and_ends_in_no_blank(
    rule: EndRule, text: str, is_whole: bool
) -> None:
    shown = shown_text(text, "", rule, is_whole=is_whole)
    assert text.startswith(shown)
    assert shown == shown.rstrip()
    assert not rule.is_single_line or "\n" not in shown
