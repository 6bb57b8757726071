"""What is shown, from the model's text and the document: the whole pipeline."""

from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goose_lsp.request import Edit, Point, Reason
from goose_lsp.text.document import Document
from goose_lsp.text.postprocess import Gate, Polishing, Shown, polish
from tests.marked import at_cursor


@dataclass(frozen=True)
class EndsAt:
    """An ending that cuts before a spelling, never within the first characters."""

    spelling: str = "§"
    n_first: int = 0

    def end(self, text: str) -> int | None:
        place = text.find(self.spelling, self.n_first)
        return None if place < 0 else place


def shown(marked: str, raw: str, language: str = "", **how: object) -> Shown:
    document, cursor = at_cursor(marked, language)
    given = {"ending": EndsAt(), **how}
    return polish(raw, document, cursor, Polishing(language, **given))  # type: ignore[arg-type]


def check(marked: str, raw: str, result: str, language: str = "", **how: object) -> None:
    """`result` is the document once the suggestion is accepted, in LF."""
    document, _ = at_cursor(marked, language)
    answer = shown(marked, raw, language, **how)
    assert answer.reason is Reason.OK
    document.apply(Edit(answer.start, answer.end, answer.text))
    assert document.text.replace("\r\n", "\n") == result


def check_silent(marked: str, raw: str, reason: Reason, language: str = "", **how: object) -> None:
    _, cursor = at_cursor(marked, language)
    assert shown(marked, raw, language, **how) == Shown("", cursor, cursor, reason)


def test_the_rest_of_the_line_is_not_doubled() -> None:
    answer = shown("| less or <|>ual | <= |\n", "equal | <= |")
    assert (answer.text, answer.start, answer.end) == ("eq", Point(0, 10), Point(0, 10))


def test_a_closer_is_written_once() -> None:
    check("print(<|>)\n", "len(rows))", "print(len(rows))\n")
    check('x = f("<|>")', 'name")', 'x = f("name")')
    answer = shown("for (int k = 0; k < n; <|>)\n", "k++) {")
    assert (answer.text, answer.end) == ("k++) {", Point(0, 24))


def test_a_suggestion_that_only_doubles_the_rest_is_refused() -> None:
    check_silent("(<|>)", ")foo)", Reason.REPEATS_FOLLOWING)
    check_silent("f(<|>)", ")", Reason.CLOSER_PRESENT)


LOOP = "def total(xs):\n    <|>\n    for x in xs:\n        s += x\n    return s"


def test_lines_that_follow_are_not_repeated() -> None:
    following = "for x in xs:\n        s += x\n    return s"
    assert shown(LOOP, f"s = 0\n    {following}").text == "s = 0"
    check_silent(LOOP, following, Reason.REPEATS_FOLLOWING)
    answer = shown("if (a) {<|>\n} else {\n  b();\n}\n", "\n  go();\n}")
    assert answer.text == "\n  go();"


@pytest.mark.parametrize("raw", ["}", "\n}", "}\n\nfn h() {\n}"])
def test_a_lone_closer_that_stands_below_is_not_offered(raw: str) -> None:
    check_silent("fn f() {\n    g();\n    <|>\n}\n", raw, Reason.CLOSER_PRESENT)


def test_one_line_that_occurs_again_below_is_offered() -> None:
    marked = "when(\n  a,\n).then(b);\n<|>\nwhen(\n  c,\n).then(d);\n"
    assert shown(marked, "when(\n  e,\n).then(f);").text == "when(\n  e,\n).then(f);"


@pytest.mark.parametrize("line_end", ["\r\n", "\r", "\n"])
def test_the_answer_has_lf_whatever_the_document_has(line_end: str) -> None:
    marked = f"if x:{line_end}    <|>{line_end}"
    assert shown(marked, f"a(){line_end}    b()").text == "a()\n    b()"


@pytest.mark.parametrize(
    "control", ["<|endoftext|>", "<|file_sep|>", "<file_sep>", "</s>", "<EOT>"]
)
def test_control_tokens_are_never_shown(control: str) -> None:
    check("<|>", f"x{control}y", "x")
    check_silent("<|>", f"{control}x", Reason.NOTHING_TO_ADD)


def test_spellings_of_the_tokenizer_are_never_shown() -> None:
    check("<|>", "x[STOP]y", "x", control_spellings=frozenset({"[STOP]"}))


@pytest.mark.parametrize(
    ("marked", "raw", "result"),
    [
        ("x = <|>", " 1 + 2", "x = 1 + 2"),
        ("f(<|>)", " a", "f(a)"),
        ("return<|>", " x", "return x"),
        ("x =<|>", " 1", "x = 1"),
    ],
)
def test_a_leading_blank_is_kept_only_where_none_is(marked: str, raw: str, result: str) -> None:
    check(marked, raw, result)


def test_steps_of_indentation_are_the_files_or_the_editors() -> None:
    marked = "if (a) {\n  if (b) {\n    <|>\n"
    check(marked, "go();\n        more();", "if (a) {\n  if (b) {\n    go();\n    more();\n")
    raw, result = " {\n    go();\n}", "if (a) {\n\tgo();\n}"
    check("if (a)<|>", raw, result, indent_unit="\t")


@pytest.mark.parametrize(
    ("marked", "raw", "result"),
    [
        ("def f():\n    <|>", "    return 1", "def f():\n    return 1"),
        ("func() {\n\t\t<|>\n\t}", "\t\tx()\n\t\ty()", "func() {\n\t\tx()\n\t\ty()\n\t}"),
        ("def f():\n<|>", "    return 1", "def f():\n    return 1"),
    ],
)
def test_a_line_of_blanks_is_indented_once(marked: str, raw: str, result: str) -> None:
    check(marked, raw, result)


@pytest.mark.parametrize(
    ("marked", "raw", "reason"),
    [
        ("<|>", "", Reason.NOTHING_TO_ADD),
        ("<|>", " \n\t\n", Reason.NOTHING_TO_ADD),
        ("<|>", "§", Reason.NOTHING_TO_ADD),
        ("<|>", "Sure, here is", Reason.NOT_CODE),
        ("<|>", "\nHuman: Please write more code", Reason.NOT_CODE),
        ("a<|>b", "b", Reason.REPEATS_FOLLOWING),
        ("<|>\nb", "b", Reason.REPEATS_FOLLOWING),
        ("{\n<|>\n}", "}", Reason.CLOSER_PRESENT),
        ("<|>", "no, no, no, no, no, no, no", Reason.NOTHING_TO_ADD),
    ],
)
def test_every_silence_has_its_reason(marked: str, raw: str, reason: Reason) -> None:
    check_silent(marked, raw, reason)


def test_what_a_chat_says_around_code_is_not_shown() -> None:
    check("<|>", "```python\nx = 1\n```", "x = 1", "python")
    check("<|>", "Here is the code:\nx = 1", "x = 1", "python")


def test_the_ending_cuts_before_columns_are_changed() -> None:
    marked, ending = "if a:\n  b()\nif c:\n  <|>", EndsAt("\nf")
    check(marked, "  d()\n  e()\nf()", "if a:\n  b()\nif c:\n  d()\n  e()", ending=ending)


@pytest.mark.parametrize(("is_whole", "text"), [(True, "a()\nb("), (False, "a()")])
def test_a_last_line_cut_short_goes_where_whole_lines_precede(is_whole: bool, text: str) -> None:
    assert shown("<|>", "a()\nb(", is_whole=is_whole).text == text
    assert shown("<|>", "a()\n    ", is_whole=is_whole).text == "a()"
    assert shown("<|>", "a(", is_whole=False).text == "a("
    assert shown("f:<|>", "\n    a(", is_whole=False).text == "\n    a("


def test_the_ending_judges_the_last_line_only_of_a_whole_text() -> None:
    ending = EndsAt(")\n")
    assert shown("<|>", "a)", ending=ending, is_whole=True).text == "a"
    assert shown("<|>", "a)", ending=ending, is_whole=False).text == "a)"


@dataclass
class ScriptedGate:
    """Lets nothing through that holds `bad`: all before it is good."""

    bad: str

    def __call__(self, before: str, text: str, after: str) -> int | None:
        assert before.endswith("\n    ")
        assert after.startswith("\n}")
        return text.index(self.bad) if self.bad in text else None


def test_the_syntax_gate_comes_last_and_cuts_what_breaks() -> None:
    marked = "f() {\n    <|>\n}"
    gate: Gate = ScriptedGate("!")
    assert shown(marked, "a();\n    b();", gate=gate).text == "a();\n    b();"
    assert shown(marked, "a();\n    b!;", gate=gate).text == "a();\n    b"
    check_silent(marked, "!a();", Reason.BREAKS_SYNTAX, gate=gate)
    check_silent(marked, "a();", Reason.BREAKS_SYNTAX, gate=lambda *_: 2)


def test_the_gate_sees_what_is_replaced_as_gone() -> None:
    seen = []
    gate: Gate = lambda *texts: seen.append(texts)  # noqa: E731
    shown("x = f(<|>);\n", "a).b", gate=gate)
    assert seen == [("x = f(", "a).b", ";\n")]


def test_a_place_outside_the_document_is_clamped() -> None:
    document = Document("file:///a", 1, "", "x")
    answer = polish("y", document, Point(9, 9), Polishing("", EndsAt()))
    assert answer == Shown("y", Point(0, 1), Point(0, 1), Reason.OK)


odd = st.text("ab(){}[]\"'`;, \t\n\r\f\0\u2028\u00e9\u6f22\U0001f978<|>/*#:.-=", max_size=60)
points = st.builds(Point, st.integers(-1, 12), st.integers(-1, 30))
hows = st.builds(
    Polishing,
    st.sampled_from(["", "python", "markdown"]),
    st.builds(EndsAt, st.sampled_from(["\n", "}", "b"]), st.integers(0, 40)),
    st.sampled_from([None, "  ", "\t"]),
    st.just(frozenset({"<|>"})),
    st.booleans(),
    st.sampled_from([None, lambda _before, text, _after: len(text) // 2 or None]),
)


@settings(max_examples=1000)
@given(odd, points, odd, hows)
def test_any_text_anywhere_gives_a_valid_range(
    text: str, point: Point, raw: str, how: Polishing
) -> None:
    document = Document("file:///a", 1, how.language, text)
    answer = polish(raw, document, point, how)
    cursor = document.clamp(point)
    assert answer.start == cursor
    assert answer.start.line == answer.end.line
    assert cursor <= answer.end == document.clamp(answer.end)
    assert "\r" not in answer.text
    assert bool(answer.text.strip()) == (answer.reason is Reason.OK)
    if "\n" in answer.text:
        assert answer.end.column == len(document.line_text(cursor.line))


@settings(max_examples=300)
@given(odd, odd, odd)
def test_polishing_is_the_same_for_every_kind_of_line_end(
    before: str, raw: str, after: str
) -> None:
    before, raw, after = (text.replace("\r", "") for text in (before, raw, after))
    lf, cr = (
        Document("file:///a", 1, "", (before + "§" + after).replace("\n", end))
        for end in ("\n", "\r\n")
    )
    cursor = next(Point(i, line.index("§")) for i, line in enumerate(lf.lines) if "§" in line)
    for document in (lf, cr):
        document.apply(Edit(cursor, Point(cursor.line, cursor.column + 1), ""))
    how = Polishing("", EndsAt())
    assert polish(raw, lf, cursor, how) == polish(raw.replace("\n", "\r\n"), cr, cursor, how)
