import pytest

from goose_lsp.text.rules.blanks import fit_first_line, without_trailing_blanks
from tests.marked import around_cursor


def check_first(marked: str, raw: str, fitted: str) -> None:
    assert fit_first_line(raw, around_cursor(marked)) == fitted


@pytest.mark.parametrize(
    ("marked", "raw", "fitted"),
    [
        ("y = <|>", " 1 + 2", "1 + 2"),
        ("y =\t<|>", "  1", "1"),
        ("g(<|>)", " a", "a"),
        ("t[<|>]", "\t0", "0"),
        ("return<|>", " y", " y"),
        ("y =<|>", " 1", " 1"),
        ("o = {<|>}", " a: 1 ", " a: 1 "),
        ("y = <|>", "\n  1", "\n  1"),
        ("y = <|>", "  \n  1", "\n  1"),
    ],
)
def test_blanks_are_not_doubled_across_the_cursor(marked: str, raw: str, fitted: str) -> None:
    check_first(marked, raw, fitted)


@pytest.mark.parametrize(
    ("marked", "raw", "fitted"),
    [
        ("def g():\n    <|>", "    return 2", "return 2"),
        ("def g():\n<|>", "    return 2", "    return 2"),
        ("void g() {\n\t\t<|>\n\t}", "\t\th()\n\t\ti()", "h()\n\t\ti()"),
        ("if a:\n    b()\ndef g():\n  <|>", "  return 2", "  return 2"),
        ("if a:\n    b()\n  <|>", "    c()", "c()"),
        ("  <|>", " x = 1;\n  y = 2;", "x = 1;\n  y = 2;"),
    ],
)
def test_a_line_is_not_indented_twice(marked: str, raw: str, fitted: str) -> None:
    check_first(marked, raw, fitted)


@pytest.mark.parametrize(
    ("marked", "text", "trimmed"),
    [
        ("x<|>", "y  ", "y"),
        ("x<|>", "y\n\n  ", "y"),
        ("f(<|>b)", "a, ", "a, "),
        ("f(<|> b)", "a, ", "a,"),
        ("f(<|>)", "a ", "a"),
        ('print("<|>")', "Hello ", "Hello "),
        ("<|>b", "a\n", "a"),
    ],
)
def test_trailing_blanks_stay_only_before_a_word(marked: str, text: str, trimmed: str) -> None:
    assert without_trailing_blanks(text, around_cursor(marked)) == trimmed
