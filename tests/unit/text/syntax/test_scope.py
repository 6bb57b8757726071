import pytest

from goose_lsp.text.syntax.scope import Scope, scope_at
from goose_lsp.text.syntax.tokens import Role
from tests.marked import CURSOR
from tests.samples import PROGRAMS, program


def scope(marked: str, grammar: str) -> Scope:
    before, after = marked.split(CURSOR)
    found = scope_at(before, after, grammar)
    assert found is not None
    return found


def check(marked: str, grammar: str, openers: str) -> None:
    """`openers`, innermost last: the closers, after each "=" soft, "v" closed below or "?" missing."""
    states = {(True, False): "=", (False, True): "v", (False, False): "?"}
    found = (
        o.closer + states[o.is_soft, o.is_closed_below] for o in scope(marked, grammar).openers
    )
    assert " ".join(found) == openers


@pytest.mark.parametrize(
    ("grammar", "marked", "openers"),
    [
        ("python", "x = f(a, [<|>", ")? ]?"),
        ("python", "x = f(a, [<|>])", ")= ]="),
        ("python", "x = f(\n    <|>\n)\n", ")v"),
        ("javascript", "f(() => {\n  <|>\n});\n", ")v }v"),
        ("javascript", "if (a) {\n  if (b) {\n    <|>\n}\n", "}v }?"),  # by indentation
        ("javascript", "if (a) {\nif (b) {\n<|>\n}\n", "}? }v"),  # where there is none
        ("c", "int f(<|>) {\n}\n", ")="),
        ("c", "int f() {\n  <|>\n\nint g() {\n}\n", "}?"),
        ("ruby", "def f\n  x.each do |a|\n    <|>\n  end\nend\n", "endv endv"),
        ("lua", "if a then\n  <|>\nend\n", "endv"),
        ("bash", "for a in b; do\n  <|>\n", "done?"),
        ("html", "<div>\n  <br>\n  <|>\n</div>\n", "</v"),
        ("tsx", "const a = (\n  <p>\n    <|>\n  </p>\n);\n", ")v </v"),
    ],
)
def test_what_is_open_at_the_cursor_and_where_it_closes(
    grammar: str, marked: str, openers: str
) -> None:
    check(marked, grammar, openers)


@pytest.mark.parametrize(
    ("grammar", "marked", "role"),
    [
        ("python", 'x = "a<|>"', Role.STRING),
        ("python", 'x = "a<|>', Role.STRING),
        ("python", 'x = <|>"a"', Role.OTHER),
        ("python", 'x = "a"<|>', Role.OTHER),
        ("python", 'def f():\n    """Doc.\n\n    <|>\n    """\n', Role.STRING),
        ("python", "x = 1  # a<|>", Role.COMMENT),
        ("python", "# a\n<|>", Role.OTHER),
        ("javascript", "let url = `http://<|>`", Role.STRING),
        ("javascript", "/* a <|>*/", Role.COMMENT),
        ("javascript", "/* a */<|>", Role.OTHER),
        ("c", "int a = b; <|>", Role.OTHER),
        ("html", "<!-- a <|>-->", Role.COMMENT),
    ],
)
def test_whether_the_cursor_is_in_a_string_or_a_comment(
    grammar: str, marked: str, role: Role
) -> None:
    assert scope(marked, grammar).role is role


@pytest.mark.parametrize(
    ("grammar", "marked", "is_container"),
    [
        ("python", "class A:\n    <|>\n", True),
        ("python", "class A:\n    def f(self):\n        <|>\n", False),
        ("python", "if a:\n    <|>", False),
        ("java", "class A {\n    <|>\n}\n", True),
        ("java", "class A\n{\n    <|>\n}\n", True),
        ("java", "class A {\n  void f() {\n    <|>\n  }\n}\n", False),
        ("rust", "impl A for B {\n    <|>\n}\n", True),
        ("ruby", "class A\n  <|>\nend\n", True),
        ("ruby", "class A\n  def f\n    <|>\n  end\nend\n", False),
    ],
)
def test_whether_the_block_holds_definitions(grammar: str, marked: str, is_container: bool) -> None:
    assert scope(marked, grammar).is_container is is_container


@pytest.mark.parametrize("grammar", PROGRAMS)
def test_every_block_of_a_whole_program_is_closed_below(grammar: str) -> None:
    before, _, after = program(grammar)
    found = scope_at(before, after, grammar)
    assert found is not None
    assert all(opener.is_closed_below for opener in found.openers)
    unclosed = scope_at(before, "", grammar)
    assert unclosed is not None
    assert len(unclosed.openers) == len(found.openers)
    assert not any(opener.is_closed_below for opener in unclosed.openers)


def test_without_a_grammar_or_a_parse_there_is_no_scope() -> None:
    assert scope_at("x", "", "klingon") is None
