import pytest

from goose_lsp.text.rules.following import without_following_lines
from tests.marked import around_cursor


def check(marked: str, raw: str, shown: str) -> None:
    assert without_following_lines(raw, around_cursor(marked)) == shown


LOOP = "def mean(a):\n    <|>\n    for b in a:\n        n += b\n    return n\n"


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("n = 0\n    for b in a:\n        n += b\n    return n", "n = 0"),
        ("n = 0\n\n    for b in a:\n        n += b", "n = 0\n"),
        ("n = 0\n    for b in a:\n        n +", "n = 0"),
        ("n = 0\n  for b in a:", "n = 0"),
        ("for b in a:\n        n += b\n    return n", ""),
        ("for b in a:", ""),
        ("n = 0\n    for b in a:\n        n -= b", "n = 0\n    for b in a:\n        n -= b"),
        ("n = 0\n    return n", "n = 0\n    return n"),
        ("n = 0\n    for b", "n = 0\n    for b"),
    ],
)
def test_lines_that_directly_follow_are_not_written_again(raw: str, shown: str) -> None:
    check(LOOP, raw, shown)


def test_a_text_that_goes_on_behind_the_end_of_the_document_is_cut_too() -> None:
    check("a()\n<|>\nb()\nc()\n", "x()\nb()\nc()\nd()", "x()")


def test_one_line_that_comes_again_farther_on_is_no_copy() -> None:
    marked = "it(\n  1,\n).is(2);\n<|>\nit(\n  3,\n).is(4);\n"
    check(marked, "it(\n  5,\n).is(6);", "it(\n  5,\n).is(6);")


def test_text_behind_a_word_on_its_line_is_no_line() -> None:
    check("x = <|>\ny", "y", "y")
    check("x = <|>\ny", "1\ny", "1")


@pytest.mark.parametrize(
    ("marked", "raw", "shown"),
    [
        ("if (a) {<|>\n} else {\n  b();\n}\n", "\n  c();\n}", "\n  c();"),
        ("{\n  f(() => {<|>\n\n  })\n})", "a()\n  })\n}", "a()"),
        ("a [\n\t<|>\n];", "1,\n\t2\n]", "1,\n\t2"),
        ("class A {\n\tf(<|>\n\n\t}\n\n}", "a) {\n\t\tb;\n\t}\n\n\n}", "a) {\n\t\tb;"),
        ("class A {\n\tf(<|>\n\t}\n}", "a) {\n\t\tb;\n\t};", "a) {\n\t\tb;"),
    ],
)
def test_closing_lines_that_the_file_has_are_cut(marked: str, raw: str, shown: str) -> None:
    check(marked, raw, shown)


@pytest.mark.parametrize(
    ("marked", "raw"),
    [
        ("if (a) {\n    <|>\n", "b()\n}"),
        ("f() {\n  if (a) {\n    <|>\n}", "b();\n  }"),
        ("f() {\n  for (;;) {\n    a()\n<|>\n}", "  }"),
        (".a {\n  .b<|>\n  }\n}", "-c {\n    d: e;\n}"),
    ],
)
def test_closing_lines_that_the_file_lacks_stay(marked: str, raw: str) -> None:
    check(marked, raw, raw)


@pytest.mark.parametrize(
    ("marked", "raw"),
    [
        ("fn f() {\n    g();\n    <|>\n}\n", "}"),
        ("fn f() {\n    g();\n    <|>\n}\n", "\n}"),
        ("    if (a) {\n        <|>\n    }", "}"),
        ("f() {\n    for (;;) {\n    }\n<|>\n}\n", "}\n"),
    ],
)
def test_a_lone_closer_that_stands_already_is_not_offered(marked: str, raw: str) -> None:
    check(marked, raw, "")


@pytest.mark.parametrize(
    ("marked", "raw"),
    [
        ("f(a) {\n  if (a.b) {\n    return;\n  <|>\n}\n", "}"),
        ("f() {\n  g();\n  <|>", "}"),
        ("def f\n  if a\n    b\n  <|>\nend", "end"),
    ],
)
def test_a_lone_closer_that_is_missing_is_offered(marked: str, raw: str) -> None:
    check(marked, raw, raw)


@pytest.mark.parametrize(
    ("marked", "raw", "shown"),
    [
        ("a = {\n  f() {\n    <|>\n  },\n  g() {\n  }\n}", "b\n  },\n  h() ", "b"),
        ("class A {\n  f() {\n    <|>\n  }\n}", "b()\n  }\n\n  g() {\n    c()\n  }", "b()"),
        ("f {\n<|>\n}", "if a {\n  b\n}\nc()", "if a {\n  b\n}\nc()"),
    ],
)
def test_a_line_that_closes_the_cursors_block_as_the_file_does_ends_the_text(
    marked: str, raw: str, shown: str
) -> None:
    check(marked, raw, shown)
