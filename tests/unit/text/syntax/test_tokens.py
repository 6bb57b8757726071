import pytest
from hypothesis import given
from hypothesis import strategies as st

from goose_lsp.text.syntax.parsing import parse
from goose_lsp.text.syntax.tokens import Role, is_first_on_line, line_indent, tokens
from tests.samples import PROGRAMS, program

MARKS = {Role.OPEN: "<", Role.CLOSE: ">", Role.STRING: '"', Role.COMMENT: "#", Role.OTHER: "."}


def check(text: str, grammar: str, roles: str) -> None:
    """`roles` has a sign for each token: < opens, > closes, " string, # comment, . any other."""
    whole = parse(text, grammar)
    assert whole is not None
    assert "".join(MARKS[token.role] for token in tokens(whole)) == roles


@pytest.mark.parametrize(
    ("grammar", "text", "roles"),
    [
        ("python", "f(a[0])  # {", ".<.<.>>#"),
        ("python", 'x = """a\n(b', '.."'),
        ("python", 'x = f"""{a} (\n b', '.."'),
        ("python", 'x = "(\ny = (1)', '.."..<.>'),
        ("javascript", "f(`a{${b}`, '(')", '.<".">'),
        ("javascript", "f(`a{\n(b", '.<"'),
        ("javascript", "f() /* a\n{b", ".<>#"),
        ("javascript", "x = <p a={1}><br/>{t}</p>", "..<...<.>.<.><.>>.."),
        ("typescript", "let x: Array<string> = a < b ? [1] : []", "............<.>.<>"),
        ("go", "x := `a{\n(b", '.."'),
        ("c", "/* a\n{ b", "#"),
        ("rust", "let a = '{'; fn f<'a>() {", "...........<><"),
        ("ruby", "x = 1 if y\nif y\nend", ".....<.>"),
        ("ruby", "while x do\ny\nend", "<...>"),
        ("ruby", "a.each do |q|\nend", "...<...>"),
        ("lua", "if a then b() elseif c then end", "<...<>...>"),
        ("lua", "x = [[a\n(b", '.."'),
        ("bash", "if [[ a ]]; then b; fi", "<<.>....>"),
        ("bash", "for a in b; do c; done", ".....<..>"),
        ("html", "<p>a<br>b<img/></p>", "<..........>.."),
        ("html", "<!-- a <p>", "#"),
        ("css", "a { b: c; } /* { */", ".<....>#"),
    ],
)
def test_tokens_have_the_roles_that_blocks_are_made_of(grammar: str, text: str, roles: str) -> None:
    check(text, grammar, roles)


@pytest.mark.parametrize("grammar", PROGRAMS)
def test_openers_and_closers_of_whole_programs_pair_up(grammar: str) -> None:
    whole = parse("".join(program(grammar)), grammar)
    assert whole is not None
    opened: list[str] = []
    for token in tokens(whole):
        if token.role is Role.OPEN:
            opened.append(token.closer)
        elif token.role is Role.CLOSE and (opened[-1], token.closer) != ("esac", ")"):
            assert opened.pop() == token.closer
    assert opened == []


@pytest.mark.parametrize("grammar", PROGRAMS)
@given(data=st.data())
def test_tokens_of_cut_and_garbled_programs_keep_their_order(
    grammar: str, data: st.DataObject
) -> None:
    text = "".join(program(grammar))
    cut = data.draw(st.integers(0, len(text)))
    garbage = data.draw(st.text(st.sampled_from("(){}[]<>/*\"'`#\n x"), max_size=12))
    whole = parse(text[:cut] + garbage, grammar)
    assert whole is not None
    found = tokens(whole)
    ends = [0] + [token.end for token in found]
    assert all(end <= token.start < token.end for end, token in zip(ends, found, strict=False))
    assert not found or found[-1].end <= len(whole.data)


def test_indentation_is_measured_in_columns() -> None:
    data = b"a\n\t x\n    \n"
    assert [line_indent(data, offset) for offset in (0, 2, 4, 6, 8)] == [0, 5, 5, 4, 4]
    assert [is_first_on_line(data, offset) for offset in (0, 1, 4, 5)] == [True, False, True, False]
