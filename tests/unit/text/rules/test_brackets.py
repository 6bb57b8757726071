import pytest
from hypothesis import given
from hypothesis import strategies as st

from goose_lsp.text.rules.brackets import is_only_closing, unmatched


def check(text: str, openers: str, closers: str, n_quotes: int = 0) -> None:
    found = unmatched(text)
    assert "".join(bracket for bracket, _ in found.openers) == openers
    assert "".join(bracket for bracket, _ in found.closers) == closers
    assert found.n_quotes == n_quotes
    assert all(text[place] == bracket for bracket, place in found.openers + found.closers)


@pytest.mark.parametrize(
    ("text", "openers", "closers"),
    [
        ("f(a, [b], {c})", "", ""),
        ("f(a, [b", "([", ""),
        ("b]), c }", "", "])}"),
        ("} else {", "{", "}"),
        ("f(g[1)", "", ""),
        ("f(x)]", "", "]"),
        ("a < b > c", "", ""),
    ],
)
def test_brackets_find_their_partners(text: str, openers: str, closers: str) -> None:
    check(text, openers, closers)


@pytest.mark.parametrize(
    ("text", "openers", "n_quotes"),
    [
        ("f(\"(\", '[', `{`", "(", 0),
        (r'f("\"(")', "", 0),
        ('f("(', "((", 1),
        ("it's (", "(", 1),
        ("`a\n(`", "", 0),
        ('"a\n("', "(", 2),
    ],
)
def test_brackets_in_quotes_do_not_count(text: str, openers: str, n_quotes: int) -> None:
    check(text, openers, "", n_quotes)


def test_angle_brackets_count_where_asked_for_and_arrows_never() -> None:
    assert unmatched("Vec<u8> -> x => y >", with_angles=True).closers == [(">", 18)]
    assert not unmatched("Vec<u8> -> x => y >").closers


@given(st.text("()[]{}", max_size=30))
def test_balanced_text_has_nothing_unmatched(text: str) -> None:
    """Each opener is closed right behind the text, innermost first."""
    found = unmatched(text)
    ends = {"(": ")", "[": "]", "{": "}"}
    closed = text + "".join(ends[bracket] for bracket, _ in reversed(found.openers))
    assert not unmatched(closed).openers
    assert len(unmatched(closed).closers) == len(found.closers)


@pytest.mark.parametrize("text", ["}", "  });", "])", "\n}\n", "</div>", "  </a", "end", "  fi"])
def test_what_only_closes(text: str) -> None:
    assert is_only_closing(text)


@pytest.mark.parametrize("text", ["", ";", "} else {", "x)", "ending", "</a>b", "  ", "<a>"])
def test_what_does_more_than_close(text: str) -> None:
    assert not is_only_closing(text)
