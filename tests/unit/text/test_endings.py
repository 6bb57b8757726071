import pytest
from hypothesis import given
from hypothesis import strategies as st

from goose_lsp.text.endings import EndRule

TOP = EndRule(indent=0, is_single_line=False)
BLOCK = EndRule(indent=4, is_single_line=False)
SINGLE = EndRule(indent=4, is_single_line=True)


@pytest.mark.parametrize(
    ("before", "after", "rule"),
    [
        ("", "", TOP),
        ("    x", "", BLOCK),
        ("    x", "  \t", BLOCK),
        ("    f(", ")", SINGLE),
        ("\t\tx", "", EndRule(2, is_single_line=False)),
    ],
)
def test_the_rule_follows_from_the_text_around_the_cursor(
    before: str, after: str, rule: EndRule
) -> None:
    assert EndRule.at(before, after) == rule


@pytest.mark.parametrize(
    ("rule", "text"),
    [(TOP, "a"), (TOP, "a\nb\n"), (BLOCK, "a\n    b\n  "), (SINGLE, "a"), (TOP, " \n\n")],
)
def test_an_open_text_may_go_on(rule: EndRule, text: str) -> None:
    assert rule.end(text) is None


rules = st.builds(EndRule, st.integers(0, 4), st.booleans())
codes = st.text(st.sampled_from("a\n "), max_size=24)


@given(rules, codes, codes)
def test_an_end_once_seen_stays_where_it_is(rule: EndRule, text: str, more: str) -> None:
    """Steps may commit several tokens: looking late must cut where looking early would have."""
    end = rule.end(text)
    if end is not None:
        assert rule.end(text + more) == end
