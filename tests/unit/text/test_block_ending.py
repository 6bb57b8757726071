import ast
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from goose_lsp.request import Trigger
from goose_lsp.text import block_ending
from goose_lsp.text.block_ending import BlockEnding, Unit
from goose_lsp.text.endings import choose_ending
from goose_lsp.text.syntax import parsing
from goose_lsp.text.syntax.scope import scope_at
from tests.marked import CURSOR, at_cursor
from tests.samples import PROGRAMS, program

SOURCES = sorted(Path(block_ending.__file__).parents[1].rglob("*.py"))


def ending_at(marked: str, language: str) -> BlockEnding:
    ending = choose_ending(*at_cursor(marked, language), Trigger.AUTOMATIC)
    assert isinstance(ending, BlockEnding)
    return ending


def first_end(ending: BlockEnding, text: str) -> int | None:
    """What asking after every character finds, as decoding one after another would."""
    ends = (ending.end(text[:n]) for n in range(len(text) + 1))
    return next((end for end in ends if end is not None), None)


def check(language: str, marked: str, text: str, kept: str) -> None:
    """The end is found whole and step by step."""
    assert text[: ending_at(marked, language).end(text + "\n")] == kept
    assert text[: first_end(ending_at(marked, language), text + "\n")] == kept


FUNCTION = "def f(a):\n    <|>"
LOOP = "for i in a:\n    if i:\n        <|>"


@pytest.mark.parametrize(
    ("marked", "text", "kept"),
    [
        (FUNCTION, "x = 1\n    return x\ny = 2", "x = 1\n    return x"),
        (FUNCTION, "x = 1\n\n    return x\n\n\ny = 2", "x = 1\n\n    return x"),
        (FUNCTION, "x = [\n1,\n]\n    return x\ny", "x = [\n1,\n]\n    return x"),
        (FUNCTION, 'x = """\ny\n"""\n    return x\nz', 'x = """\ny\n"""\n    return x'),
        (FUNCTION, "x = 1 + \\\n1\n    y\nz", "x = 1 + \\\n1\n    y"),
        (FUNCTION, "x = 1\n# b\ny", "x = 1"),
        (FUNCTION, "x = 1\n    # b\ny", "x = 1\n    # b"),
        (FUNCTION, "def g():\n        x\n    return g\ny", "def g():\n        x\n    return g"),
        (FUNCTION, "\n    x\ny", "\n    x"),
        (FUNCTION, "return x\n\n    y", "return x"),
        (FUNCTION, "return x, \\\n    y\nz", "return x, \\\n    y"),
        (FUNCTION, "if a:\n        return x\n    y\nz", "if a:\n        return x\n    y"),
        (LOOP, "return x\n    else:\n        y\nz", "return x\n    else:\n        y"),
        (LOOP + "\n    else:\n        pass", "return x\n        y", "return x"),
        ("def f():\n<|>", "    x\n    y\nz", "    x\n    y"),
        ("def f():<|>", "\n    x\n\n    y\nz", "\n    x\n\n    y"),
        ("x = <|>", "1\ny = 2", "1"),
        ("x = va<|>", "lue\ny = 2", "lue"),
        ("def f():\n<|>", "    x\n\n    if y:\n        z\nw", "    x\n\n    if y:\n        z"),
        ("x = f(<|>)", "a, b\ny = 2", "a, b"),
        ("x = f(<|>", "a,\n      b)\ny = 2", "a,\n      b)"),
        ("x = [\n    1,\n    <|>\n]\n", "2,\n    3,\n]\ny", "2,\n    3,"),
        ("x = 1\n\n<|>\n\ny", "a = 1\nb = 2\n\nc = 3", "a = 1\nb = 2"),
        ("<|>", "def f():\n    x\n\n    y\n\n\ndef g()", "def f():\n    x\n\n    y"),
        ("<|>", "x = 1\n@a\n@b\ndef f():\n    x\ny", "x = 1"),
        ("<|>", "@a\n@b\ndef f():\n    x\ny", "@a\n@b\ndef f():\n    x"),
        ("<|>", "if a:\n    x\nelse:\n    y\nz", "if a:\n    x\nelse:\n    y"),
        ("class A:\n    <|>", "x: int\n    def f(self):\n        y\n", "x: int"),
        ("class A:\n    <|>", "def f(self):\n        y\n    z = 1\n", "def f(self):\n        y"),
        ("if a:\n    <|>", "x\nelse:\n    y\nz", "x\nelse:\n    y"),
        ("if a:\n    <|>\nelse:\n    y\n", "x\nelse:\n    z", "x"),
        ("if a:\n    <|>\n\nz\n", "x\nelse:\n    z", "x"),
        (LOOP, "x\n    elif b:\n        y\n    z\n", "x\n    elif b:\n        y"),
        (FUNCTION, "x = 1\n# %% next\n", "x = 1"),
        ("<|>", "# %% next\nx", ""),
        ("x = 1<|>\n", "\ny = 2\nz = 3", "\ny = 2"),
    ],
)
def test_where_python_ends(marked: str, text: str, kept: str) -> None:
    check("python", marked, text, kept)


BODY = "function f() {\n  <|>\n}\n"
OPEN = "function f() {\n  if (a) {\n    <|>"


@pytest.mark.parametrize(
    ("marked", "text", "kept"),
    [
        (BODY, "a();\n  b();\n}\nc();", "a();\n  b();"),
        (
            BODY,
            "if (a) {\n    b();\n  } else {\n    c();\n  }\n}\n",
            "if (a) {\n    b();\n  } else {\n    c();\n  }",
        ),
        (BODY, "let s = '}';\n  t(`}\n}`);\n}", "let s = '}';\n  t(`}\n}`);"),
        (BODY, "/* }\n} */ a();\n}", "/* }\n} */ a();"),
        (BODY, "a();\nb();", "a();"),  # a dedent leaves the block as well
        (BODY, "}", ""),
        (OPEN, "b();\n  }\n  c();\n}", "b();\n  }"),  # its closer is missing below
        (OPEN, "b();\n  } else {\n    c();\n  }\n  d();", "b();\n  } else {\n    c();\n  }"),
        (OPEN, "b();\n  }\n}", "b();\n  }"),
        ("f(() => {\n  <|>", "a();\n});\nb();", "a();\n});"),
        ("let a =<|>", " 1;\nlet b = 2;", " 1;"),
        ("let a = b<|>", "\n  .c()\n  .d();\ne();", "\n  .c()\n  .d();"),
        ("let a = b +<|>", "\n  c;\nd;", "\n  c;"),
        ("let a = b<|>", ".map((c) => {\n  d;\n});\ne", ".map((c) => {\n  d;\n});"),
        ("for<|>\n\n", " (;;) {\n  a();\n}\nb();", " (;;) {\n  a();\n}"),
        ("function f(<|>)\n\n", "a) {\n  b();\n}\nc();", "a) {\n  b();\n}"),
        ("f(a, <|>)", "b);\nc();", "b);"),
        ("<|>", "let a = 1;\nlet b = 2;\n\nlet c;", "let a = 1;\nlet b = 2;"),
        ("<|>", "let a = {\n  b: 1,\n};\nlet c = 2;\n\nd", "let a = {\n  b: 1,\n};\nlet c = 2;"),
        ("<|>", "let a = 1;\nfunction f() {\n  b;\n}", "let a = 1;"),
        ("<|>", "function f() {\n\n  b;\n}\nlet a;", "function f() {\n\n  b;\n}"),
        ("class A {\n  <|>\n}\n", "a = 1;\n  b() {\n    c;\n  }", "a = 1;"),
        ("class A {\n  <|>\n}\n", "b() {\n    c;\n  }\n\n  d() {", "b() {\n    c;\n  }"),
        (BODY, "a();\n  // %% next\n  b();", "a();"),
    ],
)
def test_where_javascript_ends(marked: str, text: str, kept: str) -> None:
    check("javascript", marked, text, kept)


@pytest.mark.parametrize(
    ("language", "marked", "text", "kept"),
    [
        (
            "json",
            '{\n  "a": {\n    <|>\n  }\n}',
            '"b": 1,\n    "c": [\n      2\n    ]\n  },\n  "d"',
            '"b": 1,\n    "c": [\n      2\n    ]',
        ),
        (
            "html",
            "<ul>\n  <|>\n</ul>\n",
            "<li>a</li>\n  <li>b</li>\n</ul>\n<p>",
            "<li>a</li>\n  <li>b</li>",
        ),
        ("html", "<ul>\n  <|>", "<li>a</li>\n</ul>\n<p>", "<li>a</li>\n</ul>"),
        ("css", "h4<|>\n\n", " {\n  a: b;\n}\nh5 {", " {\n  a: b;\n}"),
        (
            "c",
            "int f() {\n    <|>\n}\n",
            "#ifdef A\n    a();\n#endif\n    b();\n}",
            "#ifdef A\n    a();\n#endif\n    b();",
        ),
        ("lua", "if a then\n  <|>", "b()\nelse\n  c()\nend\nd()", "b()\nelse\n  c()\nend"),
        (
            "ruby",
            "def f\n  <|>\nend\n",
            "a if b\n  c do\n    d\n  end\nend\ne",
            "a if b\n  c do\n    d\n  end",
        ),
        (
            "shellscript",
            "f() {\n  <|>\n}\n",
            "case $a in\n    b) c ;;\n  esac\n}",
            "case $a in\n    b) c ;;\n  esac",
        ),
        ("go", "func f() {\n\t<|>\n}\n", "a := 1\n\tb(a)\n}\n\nfunc g", "a := 1\n\tb(a)"),
        (
            "rust",
            "impl A {\n    <|>\n}\n",
            "#[a]\n    fn f() {\n        1\n    }\n    fn g",
            "#[a]\n    fn f() {\n        1\n    }",
        ),
    ],
)
def test_where_other_languages_end(language: str, marked: str, text: str, kept: str) -> None:
    check(language, marked, text, kept)


@pytest.mark.parametrize("grammar", PROGRAMS)
def test_a_body_ends_where_its_closer_stands_below(grammar: str) -> None:
    before, body, after = program(grammar)
    language = {"tsx": "typescriptreact"}.get(grammar, grammar)
    check(language, before + CURSOR + after, body + after, body)


@pytest.mark.parametrize("grammar", sorted(set(PROGRAMS) - {"python"}))
def test_a_body_without_its_closer_below_ends_with_it(grammar: str) -> None:
    before, body, after = program(grammar)
    closing = after[: after.index("\n", 1)]
    check(
        {"tsx": "typescriptreact"}.get(grammar, grammar),
        before + CURSOR,
        body + after,
        body + closing,
    )


def check_needs_no_next_line(language: str, marked: str, text: str, is_so: bool) -> None:
    assert (ending_at(marked, language).end(text + "\n") is not None) is is_so


AMID = "def f(a):\n    <|>\n\n    return a\n"


def test_a_simple_statement_ends_with_its_line() -> None:
    for text in ("return x", "x = 1  # one", "f(a)"):
        check_needs_no_next_line("python", AMID, text, True)
    for text in ("if a:", "if a: b", "x = 1 +", "x = (", "@a", "x = 1 \\", 'x = """', "# a"):
        check_needs_no_next_line("python", AMID, text, False)
    begun = "function f() {\n  a = <|>\n}\n"
    check_needs_no_next_line("javascript", begun, "b;", True)
    check_needs_no_next_line("javascript", begun, "b", False)  # `.c()` may follow
    check_needs_no_next_line("javascript", "function f() {\n  if (a) <|>\n}\n", "b;", False)


@pytest.mark.parametrize("grammar", PROGRAMS)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_an_end_once_seen_stays_where_it_is(grammar: str, data: st.DataObject) -> None:
    before, body, after = program(grammar)
    garbage = data.draw(st.text(st.sampled_from("(){}[]<>/*\"'`#\n x;:,"), max_size=16))
    start = data.draw(st.integers(0, len(body)))
    text = garbage + body[start:] + after
    unit = data.draw(st.sampled_from(Unit))
    is_blank = data.draw(st.booleans())
    scope = scope_at(before, data.draw(st.sampled_from(["", after])), grammar)
    assert scope is not None
    whole = BlockEnding(scope, unit, is_blank).end(text)
    stepwise = BlockEnding(scope, unit, is_blank)
    assert first_end(stepwise, text) == whole
    assert stepwise.end(text) == whole
    assert whole is None or (0 <= whole < len(text) and text[:whole] == text[:whole].rstrip())


def test_another_text_is_judged_afresh() -> None:
    ending = ending_at(FUNCTION, "python")
    assert ending.end("x = 1\n    y = 2\n    z = 3\n") is None
    assert ending.end("x = 1\ny = 2") == 5


def test_only_new_lines_cost_a_parse(monkeypatch: pytest.MonkeyPatch) -> None:
    n_parses = 0
    extend = parsing.extend

    def counted(base: parsing.Parse, offset: int, text: str) -> parsing.Parse | None:
        nonlocal n_parses
        n_parses += 1
        return extend(base, offset, text)

    monkeypatch.setattr(block_ending, "extend", counted)
    ending = ending_at(FUNCTION, "python")
    text = "values = [a for a in range(10)]\n    return sum(values)"
    for n in range(len(text)):
        assert ending.end(text[:n]) is None
    assert n_parses == 3  # the first word, the line's end, the second line's first word


def test_a_text_that_cannot_be_parsed_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    ending = ending_at(FUNCTION, "python")
    monkeypatch.setattr(parsing, "MAX_CHARS", 0)
    assert ending.end("x = 1\ny = 2\n") is None


def bodies(text: str) -> list[list[ast.stmt]]:
    """The bodies of functions, loops and the like that end what they belong to, on lines of their own."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.If | ast.For | ast.While | ast.With):
            is_last = not getattr(node, "orelse", [])
            if is_last and node.body[0].lineno > node.lineno:
                found.append(node.body)
    return found


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(SOURCES), st.data())
def test_the_true_rest_of_real_files_ends_with_the_block(path: Path, data: st.DataObject) -> None:
    """Python's own parser tells where the block ends."""
    text = path.read_text()
    found = bodies(text)
    assume(found)
    body = data.draw(st.sampled_from(found))
    statement = data.draw(st.sampled_from(body))
    lines = text.splitlines(keepends=True)
    start = sum(map(len, lines[: statement.lineno - 1])) + statement.col_offset
    end = sum(map(len, lines[: (body[-1].end_lineno or 0)])) - start
    rest = text[start:]
    ending = ending_at(text[:start] + CURSOR, "python")
    assume(ending.unit is Unit.BLOCK)
    cut = ending.end(rest + "\nx = 1\n")
    assert cut is not None
    left = rest[min(cut, end) : max(cut, end)].splitlines()
    assert all(not line.strip() or line.lstrip().startswith("#") for line in left)
