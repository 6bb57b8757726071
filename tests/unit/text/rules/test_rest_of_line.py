import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from goose_lsp.text.rules.rest_of_line import join_rest
from tests.marked import around_cursor


def check(marked: str, raw: str, line: str) -> None:
    """`line` is the document with the suggestion in it."""
    around = around_cursor(marked)
    joined = join_rest(raw, around)
    assert around.text_before + joined.text + around.text_after[joined.n_replaced :] == line


@pytest.mark.parametrize(
    ("marked", "raw", "line"),
    [
        ("| more or <|>ual | 1 |", "equal | 1 |", "| more or equal | 1 |"),
        ("x = <|>g(1);", "await g(1);", "x = await g(1);"),
        ("log(<|>text);", "error, text);", "log(error, text);"),
        ("f = (a: {b:<|> }) => {", " bool }) => {", "f = (a: {b: bool }) => {"),
        ("sum(<|> b)", "a, ", "sum(a, b)"),
        ("a = b<|>;", " + c;", "a = b + c;"),
        ("a = b<|>;", " + c", "a = b + c;"),
        ("log(<|>text);", "error, ", "log(error, text);"),
    ],
)
def test_the_end_of_the_text_is_not_repeated(marked: str, raw: str, line: str) -> None:
    check(marked, raw, line)


@pytest.mark.parametrize(
    ("marked", "raw", "line"),
    [
        ("print(<|>)", "len(a))", "print(len(a))"),
        ("print(<|>)", "len(a)", "print(len(a))"),
        ("print(<|>)", "a(), ", "print(a(), )"),
        ("for (k = 0; k < n; <|>)", "k++) {", "for (k = 0; k < n; k++) {"),
        ('x = f("<|>")', 'name")', 'x = f("name")'),
        ('x = f("<|>")', "name", 'x = f("name")'),
        ('x = f("<|>")', 'a" + "b', 'x = f("a" + "b")'),
        ('a.put("<|>")', 'b".into(), c);', 'a.put("b".into(), c);'),
        ("max(min(<|>))", "a, b), c);", "max(min(a, b), c);"),
        ("Vec<<|>>", "u8> = Vec::new();", "Vec<u8> = Vec::new();"),
        ("f(<|>) {}", "a) {", "f(a) {}"),
        ('<|>");', 'g("b", {});', 'g("b", {});'),
        ("<A <|>/>", "b={c} />", "<A b={c} />"),
        ("f(<|>);", "a); g();", "f(a); g();"),
        ("if (<|>) {", "a > 0) { return; }", "if (a > 0) { return; }"),
        ("f(<|>, b)", "a", "f(a, b)"),
        ("f(a<|>, b)", ", c", "f(a, c, b)"),
    ],
)
def test_closers_that_the_text_brings_are_taken_over(marked: str, raw: str, line: str) -> None:
    check(marked, raw, line)


@pytest.mark.parametrize(
    ("marked", "raw", "line"),
    [
        ("if(<|>) { a(); }", "i < n) b++; }", "if(i < n) { a(); }"),
        ("if (<|>) x += y;", "!found) {", "if (!found) x += y;"),
        ("f(g(<|>), b)", "a)) {", "f(g(a), b)"),
    ],
)
def test_where_code_follows_a_closer_it_has_the_text_ends_before_it(
    marked: str, raw: str, line: str
) -> None:
    check(marked, raw, line)


@pytest.mark.parametrize(
    ("marked", "raw", "line"),
    [
        ("f(a,\n  g(<|>))", "x(), y)", "f(a,\n  g(x(), y))"),
        ("f(\n  <|>)", "g(x)", "f(\n  g(x))"),
        ("# a smile :(\nprint(<|>)", "len(a))", "# a smile :(\nprint(len(a))"),
    ],
)
def test_brackets_of_earlier_lines_keep_their_closers(marked: str, raw: str, line: str) -> None:
    check(marked, raw, line)


@pytest.mark.parametrize(
    ("marked", "raw", "line"),
    [
        ("on(d, (e) => {<|>})", "\n  log(e);\n});", "on(d, (e) => {\n  log(e);\n});"),
        ("hello(<|>)\n", ") {\n  log(1);\n}", "hello() {\n  log(1);\n}\n"),
        ("on(() => {<|>});\n", "\n  log(e);\n", "on(() => {\n  log(e);\n});\n"),
    ],
)
def test_several_lines_replace_the_line_to_its_end(marked: str, raw: str, line: str) -> None:
    check(marked, raw, line)
    around = around_cursor(marked)
    assert join_rest(raw, around).n_replaced == len(around.after)


def test_before_other_code_on_the_line_stands_one_line_at_most() -> None:
    check("f(<|>, b)", "a,\n  c", "f(a, b)")


def test_the_text_is_cut_before_a_copy_of_the_rest_of_the_line() -> None:
    check('log(<|>, "p", )', '"Hello!", "p", p);', 'log("Hello!", "p", )')
    check("max(<|>b)", "a, b, c", "max(a, b, cb)")  # a word alone is no copy


@pytest.mark.parametrize(
    ("marked", "raw"),
    [("(<|>)", ")a)"), ("(<|>)", ")"), ("x<|> = 1", " = 1"), ('"<|>"', '"')],
)
def test_what_only_repeats_the_rest_is_nothing(marked: str, raw: str) -> None:
    assert not join_rest(raw, around_cursor(marked)).text


texts = st.text("a(){}\"'`<>;, \n", max_size=20)


@given(texts, texts, texts)
def test_what_is_replaced_stands_in_the_text_in_order(before: str, raw: str, after: str) -> None:
    """Editors show a suggestion only where it holds what it replaces. Blanks may differ."""
    assume("<|>" not in before + after)
    around = around_cursor(f"{before}<|>{after}")
    joined = join_rest(raw, around)
    assert 0 <= joined.n_replaced <= len(around.after)
    characters = iter(joined.text)
    replaced = around.after[: joined.n_replaced].replace(" ", "")
    assert not joined.text or all(c in characters for c in replaced)


def test_lines_of_any_length_and_hostile_brackets_take_little_time() -> None:
    around = around_cursor("(" * 50_000 + "<|>" + ")" * 50_000)
    assert join_rest(")" * 500, around).n_replaced <= len(around.after)
