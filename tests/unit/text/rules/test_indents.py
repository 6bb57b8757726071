import pytest

from goose_lsp.text.rules.indents import expected_indent, in_unit, indent_unit, without_slips
from tests.marked import around_cursor

TWO = "if (a) {\n  if (b) {\n    <|>\n"
TABS = "func f() {\n\tif a {\n\t\t<|>\n\t}\n}\n"


def check(marked: str, raw: str, shown: str, unit: str | None = None, language: str = "") -> None:
    assert in_unit(raw, around_cursor(marked, language, unit)) == shown


@pytest.mark.parametrize(
    ("marked", "unit"),
    [
        (TWO, "  "),
        (TABS, "\t"),
        ("a:\n   b\n<|>", "   "),
        ("<|>\nf(\n    a,\n        b)\n", "    "),
        ("a = f(x,\n      y)\n<|>", None),
        ("{\n <|>\n}", None),
        ("", None),
    ],
)
def test_the_unit_is_the_commonest_step_near_the_cursor(marked: str, unit: str | None) -> None:
    assert indent_unit(around_cursor(marked or "<|>")) == unit


def test_the_editors_unit_counts_more_than_the_files() -> None:
    assert indent_unit(around_cursor(TWO, indent_unit="\t")) == "\t"


@pytest.mark.parametrize(
    ("marked", "indent"),
    [
        ("if a:\n    b()\nif c:\n<|>", "    "),
        ("if a:\n    b()\n\n<|>", "    "),
        ("if a:\n<|>", None),
        ("<|>", None),
        (TABS, "\t\t"),
    ],
)
def test_the_line_above_says_what_indent_is_expected(marked: str, indent: str | None) -> None:
    assert expected_indent(around_cursor(marked)) == indent


@pytest.mark.parametrize(
    ("marked", "raw", "shown"),
    [
        # Counted from column 0.
        (TWO, "go();\n        more();", "go();\n    more();"),
        (TWO, "go(() => {\n            x;\n        });", "go(() => {\n      x;\n    });"),
        (TABS, "g()\n        h()", "g()\n\t\th()"),
        ("if (a) {\n    b;\n    <|>\n", "c {\n\t\td;\n\t}", "c {\n        d;\n    }"),
        # Counted from the cursor's line.
        ("if (a) {\n    b;\n    <|>\n", "c {\n      d;\n    }", "c {\n        d;\n    }"),
    ],
)
def test_other_steps_become_the_files(marked: str, raw: str, shown: str) -> None:
    check(marked, raw, shown)


@pytest.mark.parametrize(
    ("raw", "unit", "shown"),
    [
        ("\tf()\n\t\tg()\n\th()", "  ", "  f()\n    g()\n  h()"),
        ("  f()\n    g()\n  h()", "\t", "\tf()\n\t\tg()\n\th()"),
        ("  f()\n    g()\n  h()", "    ", "    f()\n        g()\n    h()"),
        ("\n  f()\n\n    g()\n", "    ", "\n    f()\n\n        g()\n"),
    ],
)
def test_in_column_0_the_first_line_is_indented_like_the_others(
    raw: str, unit: str, shown: str
) -> None:
    check("<|>", raw, shown, unit)


def test_a_block_behind_its_head_takes_the_editors_unit() -> None:
    raw = "\n  y = 1\n  while y:\n    y = z(y)\n  return y"
    shown = "\n    y = 1\n    while y:\n        y = z(y)\n    return y"
    check("def f():<|>", raw, shown, "    ", "python")


@pytest.mark.parametrize(
    ("marked", "raw"),
    [
        (TWO, "go();\n    more();"),
        (TWO, "go(a,\n       b);"),  # aligned
        (TWO, "/**\n     * Says.\n     */"),
        (TABS, "g()\n\t\th()"),
        ("  return (\n<|>\n  );\n", "<b>\n      {c}\n    </b>"),
        ("a {\n  b {\n    .c<|>\n  }\n}", " {\n    d;\n    e;\n}"),
        ('def f():\n    """Says.\n    <|>', "x\n  y"),
        ("if (a) {\n \t <|>", "b;\n        c;"),
    ],
)
def test_what_makes_sense_or_none_at_all_stays(marked: str, raw: str) -> None:
    check(marked, raw, raw)


@pytest.mark.parametrize(
    ("marked", "raw", "shown"),
    [
        ("if (a) {\n    <|>\n}", "b();\n     c();", "b();\n    c();"),
        ("if (a) {\n    <|>\n}", "b();\n   c();", "b();\n    c();"),
        ("{\n  <|>\n}", '"b": 1,\n   "c": 2,\n   "d": 3', '"b": 1,\n  "c": 2,\n  "d": 3'),
        ("  <|>", "if a:\n   b\n     c\n  d", "if a:\n  b\n    c\n  d"),
        ("    <|>", "f(a,\n     b)", "f(a,\n     b)"),
        ("  <|>", "/*\n   * b\n   */", "/*\n   * b\n   */"),
        (" <|>", "b\nc", "b\nc"),
        ("x<|>", "b\n c", "b\n c"),
        ("<|>", "b\n c", "b\n c"),
    ],
)
def test_a_line_off_by_one_column_is_put_right(marked: str, raw: str, shown: str) -> None:
    assert without_slips(raw, around_cursor(marked)) == shown
