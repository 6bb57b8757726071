from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goose_lsp.text.syntax import gate
from goose_lsp.text.syntax.gate import adds_errors, count_errors
from goose_lsp.text.syntax.parsing import parse
from tests.marked import CURSOR
from tests.samples import PROGRAMS, program

SOURCES = sorted(Path(gate.__file__).parents[2].rglob("*.py"))


def check(grammar: str, marked: str, text: str, good: str | None) -> None:
    """`good` is what is left of the text; None: all of it."""
    before, after = marked.split(CURSOR)
    n_good = adds_errors(before, text, after, grammar)
    assert (None if n_good is None else text[:n_good]) == good


@pytest.mark.parametrize(
    ("grammar", "marked", "text", "good"),
    [
        ("python", "x = <|>\n", "1 + 2", None),
        ("python", "x = <|>\n", "1 + )", ""),
        ("python", "def f():\n    <|>\n", "return 1", None),
        ("python", "def f():\n    <|>\n", "a = 1\n    b = )2", "a = 1"),
        (
            "python",
            "def f():\n    <|>\n    return a\n",
            "a = 1\n    b = 2\n    c d e",
            "a = 1\n    b = 2",
        ),
        ("python", "<|>", "", None),
        ("python", "<|>", "  \n", None),
        ("javascript", "f(<|>);\n", "a, b", None),
        ("javascript", "f(<|>);\n", "a, b)) {{", ""),
        ("javascript", "function f() {\n  <|>\n}\n", "g();\n  h();", None),
        ("javascript", "function f() {\n  <|>\n}\n", "g();\n  }}", "g();"),
        ("json", '{"a": <|>}', "[1, 2]", None),
        ("json", '{"a": <|>}', "[1, 2,, ]", ""),
        ("html", "<ul>\n  <|>\n</ul>\n", "<li>a</li>", None),
    ],
)
def test_what_adds_errors_is_cut_back_to_the_last_good_line(
    grammar: str, marked: str, text: str, good: str | None
) -> None:
    check(grammar, marked, text, good)


@pytest.mark.parametrize(
    ("grammar", "marked", "text"),
    [
        ("python", "<|>", "def f():"),
        ("python", "<|>\n", "x = foo("),
        ("python", "def f():\n    <|>\n", "if a:"),
        ("python", "def f():\n    <|>\n", "return [a, {b:"),
        ("python", "<|>", "x = a."),
        ("python", "<|>", "x = 1 +"),
        ("javascript", "<|>", "function f() {"),
        ("javascript", "function f() {\n  <|>\n}\n", "if (a) {"),
        ("javascript", "function f() {\n  <|>\n}\n", "g(a, (b) => {\n    h();"),
        ("ruby", "def f\n  <|>\nend\n", "if a"),
        ("lua", "function f()\n  <|>\nend\n", "for i = 1, 2 do"),
    ],
)
def test_unfinished_code_is_no_error(grammar: str, marked: str, text: str) -> None:
    check(grammar, marked, text, None)


@pytest.mark.parametrize(
    ("grammar", "marked", "text"),
    [
        ("python", "def f(:\n    <|>\n", "return 1"),
        ("python", "x = 1 +<|>\ny = ]\n", " 2"),
        ("javascript", "function f( {\n  <|>\n", "return 1;"),
        ("c", "int f() {\n  int a = <|>\n", "1;"),
    ],
)
def test_errors_that_were_there_before_do_not_count(grammar: str, marked: str, text: str) -> None:
    check(grammar, marked, text, None)


def test_a_name_in_its_place_tells_which_errors_only_the_hole_makes() -> None:
    check("python", "x = <|>\ny = 1\n", ")", "")


@pytest.mark.parametrize("grammar", PROGRAMS)
@settings(max_examples=30)
@given(data=st.data())
def test_the_true_text_never_adds_an_error(grammar: str, data: st.DataObject) -> None:
    text = "".join(program(grammar))
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    assert adds_errors(text[:start], text[start:end], text[end:], grammar) is None


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(SOURCES), st.data())
def test_the_true_text_of_real_files_never_adds_an_error(path: Path, data: st.DataObject) -> None:
    text = path.read_text()
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(start + 300, len(text))))
    assert adds_errors(text[:start], text[start:end], text[end:], "python") is None


@pytest.mark.parametrize("grammar", sorted(set(PROGRAMS) - {"html", "bash"}))  # which take anything
def test_most_bodies_with_stray_closers_are_found(grammar: str) -> None:
    before, body, after = program(grammar)
    found = 0
    cuts = [i for i, char in enumerate(body) if char == "\n"]
    for cut in cuts:
        garbled = body[:cut] + " ))]" + body[cut:]
        n_good = adds_errors(before, garbled, after, grammar)
        found += n_good is not None and n_good <= cut
    assert found >= len(cuts) * 0.6


@given(
    st.text(max_size=40),
    st.text(max_size=40),
    st.text(max_size=40),
    st.sampled_from(sorted(PROGRAMS)),
)
@settings(max_examples=150, deadline=None)
def test_any_text_is_judged(before: str, text: str, after: str, grammar: str) -> None:
    n_good = adds_errors(before, text, after, grammar)
    assert n_good is None or (0 <= n_good < len(text) and (n_good == 0 or text[n_good] == "\n"))


def test_where_nothing_can_be_parsed_nothing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert adds_errors("", "x = )", "", "klingon") is None
    assert adds_errors("", ")" * 200_000, "", "python") is None


def test_out_of_time_nothing_is_good(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "GATE_LIMIT_S", -1.0)
    check("python", "def f():\n    <|>\n", "a = 1\n    b = )2", "")


def test_errors_and_missing_pieces_are_counted() -> None:
    counts = []
    for text in ("x = 1\n", "x = )\n", "f(\n"):
        whole = parse(text, "python")
        assert whole is not None
        counts.append(count_errors(whole))
    assert counts[0] == 0
    assert min(counts[1:]) > 0
