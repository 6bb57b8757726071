import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goose_lsp.request import Point, Trigger
from goose_lsp.text.block_ending import BlockEnding, Unit
from goose_lsp.text.document import Document
from goose_lsp.text.endings import EndRule, choose_ending
from tests.marked import CURSOR, at_cursor
from tests.samples import PROGRAMS, program

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


def test_a_bracket_of_the_texts_own_is_closed_at_any_indentation() -> None:
    text = "-name {\n    font-weight: bold;\n}\n\nb {"
    assert text[: BLOCK.end(text)] == "-name {\n    font-weight: bold;\n}"


def test_an_open_bracket_keeps_no_other_line_in_the_block() -> None:
    assert BLOCK.end("f(a\nb") == 3


def test_without_a_grammar_a_cells_marker_ends_the_text_as_well() -> None:
    assert TOP.end("x\n# %% next") == 1


rules = st.builds(EndRule, st.integers(0, 4), st.booleans(), st.booleans())
codes = st.text(st.sampled_from("a\n ()"), max_size=24)


@given(rules, codes, codes)
def test_an_end_once_seen_stays_where_it_is(rule: EndRule, text: str, more: str) -> None:
    """Steps may commit several tokens: looking late must cut where looking early would have."""
    end = rule.end(text)
    if end is not None:
        assert rule.end(text + more) == end


LINE, STATEMENT, BLOCK_END = "line", "statement", "block"


def unit_of(marked: str, language: str, trigger: Trigger = Trigger.AUTOMATIC) -> str:
    document, cursor = at_cursor(marked, language)
    ending = choose_ending(document, cursor, trigger)
    if isinstance(ending, BlockEnding):
        assert not ending.is_single_line
        return BLOCK_END if ending.unit is Unit.BLOCK else STATEMENT
    assert isinstance(ending, EndRule)
    assert ending.is_single_line
    return LINE


@pytest.mark.parametrize(
    ("marked", "automatic", "invoked"),
    [
        ("<|>", BLOCK_END, BLOCK_END),  # an empty document
        ("x = f(<|>a)\n", LINE, LINE),  # more than closers follow
        ("x = f(<|>)\n", STATEMENT, STATEMENT),
        ('url = "<|>"', LINE, LINE),
        ("# the sum <|>\n\n", LINE, STATEMENT),
        ('def f():\n    """Doc.\n\n    <|>\n    """\n', LINE, LINE),
        ("def f(a):<|>\n    return a\n", LINE, STATEMENT),  # the body is there
        ("def f(a):\n    <|>\n    return a\n", LINE, BLOCK_END),
        ("def f(a):<|>\n", STATEMENT, STATEMENT),  # its body belongs to the statement
        ("def f(a):\n    <|>", BLOCK_END, BLOCK_END),
        ("def f(a):\n    <|>\n\ndef g():\n    pass\n", BLOCK_END, BLOCK_END),
        ("def f(a):\n    b = a\n    <|>\n", BLOCK_END, BLOCK_END),  # a block's end
        ("def f(a):\n    b = a\n    <|>\n\n    return b\n", STATEMENT, BLOCK_END),  # amid it
        ("if a:\n    <|>\nelse:\n    b()\n", BLOCK_END, BLOCK_END),
        ("x = 1\ny = <|>\n", STATEMENT, STATEMENT),
        ("x = 1\ny = <|>\nz = 2\n", LINE, STATEMENT),
        ("import a\n\n<|>\n\ndef f():\n    pass\n", BLOCK_END, BLOCK_END),  # top level
        ("values = [\n    1,\n    <|>\n]\n", BLOCK_END, BLOCK_END),
    ],
)
def test_how_much_is_completed_in_python(marked: str, automatic: str, invoked: str) -> None:
    assert unit_of(marked, "python") == automatic
    assert unit_of(marked, "python", Trigger.INVOKED) == invoked


@pytest.mark.parametrize(
    ("language", "marked", "unit"),
    [
        ("javascript", "function f() {<|>}", STATEMENT),
        ("javascript", "function f() {<|>\n}\n", BLOCK_END),
        ("javascript", "function f() {\n  <|>\n}\n", BLOCK_END),
        ("javascript", "function f() {\n  a();\n  <|>\n}\n", BLOCK_END),
        ("javascript", "function f() {\n  <|>\n  a();\n}\n", LINE),
        ("javascript", "function f(<|>) {\n}\n", LINE),
        ("javascript", "// total <|>\n", LINE),
        ("javascript", "const s = `a <|>`;\n", LINE),
        ("c", "int a = b; <|>\n", STATEMENT),
        ("css", "h1 <|>\n\na { }\n", STATEMENT),
        ("lua", "if a then\n  <|>\nend\n", BLOCK_END),
        ("ruby", "def f\n  <|>\nend\n", BLOCK_END),
        ("shellscript", "for a in b; do\n  <|>\ndone\n", BLOCK_END),
        ("html", "<ul>\n  <|>\n</ul>\n", BLOCK_END),
        ("json", '{\n  "a": <|>\n}\n', STATEMENT),
        ("typescriptreact", "const a = (\n  <|>\n);\n", BLOCK_END),
    ],
)
def test_how_much_is_completed_in_other_languages(language: str, marked: str, unit: str) -> None:
    assert unit_of(marked, language) == unit


@pytest.mark.parametrize(
    ("marked", "rule"),
    [
        ("fun f() {\n    <|>\n}\n", EndRule(4, is_single_line=False)),
        ("fun f() {\n    <|>\n    a()\n}\n", EndRule(4, is_single_line=True)),
        ("fun f(<|>a) {\n", EndRule(0, is_single_line=True)),
    ],
)
def test_without_a_grammar_lines_and_indentation_decide(marked: str, rule: EndRule) -> None:
    assert choose_ending(*at_cursor(marked, "kotlin"), Trigger.AUTOMATIC) == rule


@pytest.mark.parametrize(
    ("language", "marked", "raw", "kept"),
    [
        ("python", 'url = "<|>"', "https://example.org/a", "https://example.org/a"),
        ("c", "int a = b; <|>", "// total", "// total"),
        ("python", "<|>", "x = 1\ndef g():\n    pass\ny = 2", "x = 1"),
        ("python", "<|>", "x = 1\n# %%\ny = 2", "x = 1"),
        ("python", "def f(a):<|>\n    return a\n", "\n    b = 1\n    c = 2\n", ""),
        ("python", "def f(a):\n    <|>", "b = a\n    return b\n\nx", "b = a\n    return b"),
        ("python", "# the <|> of it", "sum\nx = 1", "sum"),
        ("python", "a = <|>\nb = 1\n", "f(\n    c,\n)\nb = 2", "f(\n    c,\n)"),
        ("python", "a = <|>\nb = 1\n", "f(c)\nb = 2", "f(c)"),
        ("python", "# a <|>\n# b\n", "(sum\n# x", "(sum"),
        ("java", "if <|>\nf();\n", "(a) {\n    g();", "(a) {"),
    ],
)
def test_scope_and_line_end_texts_words_do_not(
    language: str, marked: str, raw: str, kept: str
) -> None:
    ending = choose_ending(*at_cursor(marked, language), Trigger.AUTOMATIC)
    assert raw[: ending.end(raw + "\n")] == kept


@pytest.mark.parametrize(
    "marked",
    [
        "<|>",
        "x = 1<|>",
        "\0<|>\0",
        "def f():\r\n    <|>\r\n",
        "def f():\r    <|>\r",
        "x = '\u2028<|>'\n",
        "x = '😀' + <|>\n",
        "x = '\ud83d<|>'\n",
        "\x0c<|>\n",
        "if a:\n\tif b:\n\t    <|>\n",
        "{" * 25 + "\n<|>\n" + "}" * 25,
    ],
)
@pytest.mark.parametrize("language", ["python", "javascript", "html", "kotlin"])
def test_odd_documents_have_an_ending_like_others(language: str, marked: str) -> None:
    document, cursor = at_cursor(marked, language)
    for trigger in Trigger:
        ending = choose_ending(document, cursor, trigger)
        for text in ("", "a", "a\n", "\n\n", "a\r\nb\r\nc\r\n", "😀\n\0\n\ud800\n", "}\n" * 30):
            end = ending.end(text)
            assert end is None or 0 <= end <= len(text)


def test_a_line_of_five_megabytes_costs_no_parse() -> None:
    document = Document("file:///x.js", 1, "javascript", "x=1;" * 1_250_000)
    ending = choose_ending(document, Point(0, 2_000_000), Trigger.INVOKED)
    assert ending == EndRule(0, is_single_line=True)
    ending = choose_ending(document, Point(0, 5_000_000), Trigger.INVOKED)
    assert ending == EndRule(0, is_single_line=False)


def test_a_document_of_many_lines_is_looked_at_around_the_cursor() -> None:
    lines = "def f():\n    return 1\n\n\n" * 5_000
    document = Document("file:///x.py", 1, "python", lines + "def g():\n    ")
    ending = choose_ending(document, Point(document.n_lines - 1, 4), Trigger.AUTOMATIC)
    text = "x = 1\n    return x\n\n\ndef h"
    assert text[: ending.end(text)] == "x = 1\n    return x"


@pytest.mark.parametrize("grammar", PROGRAMS)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_the_true_rest_is_never_cut_within_its_first_line(
    grammar: str, data: st.DataObject
) -> None:
    text = "".join(program(grammar))
    words = [i for i in range(1, len(text)) if not (text[i - 1] + text[i]).strip().isalnum()]
    cut = data.draw(st.sampled_from([i for i in words if text[i - 1 : i + 1] != "[["]))
    document, cursor = at_cursor(text[:cut] + CURSOR, grammar)
    rest = text[cut:]
    end = choose_ending(document, cursor, Trigger.INVOKED).end(rest + "\n")
    assert end is None or end >= len(rest.partition("\n")[0].rstrip())
