"""Typing along with a suggestion, deleting, and everything that makes it outdated."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goose_lsp.request import Completion, Edit, Point, Reason
from goose_lsp.text.rules.around import look_around
from goose_lsp.text.rules.rest_of_line import join_rest
from goose_lsp.text.suggestion import MAX_AFTER, MAX_BEFORE, Suggestion
from tests.fakes import data_folder
from tests.marked import CURSOR, at_cursor


def offered(marked: str, text: str, language: str = "") -> Suggestion:
    """A suggestion made at the cursor, fitted to the rest of its line as post-processing does it."""
    document, cursor = at_cursor(marked, language)
    joined = join_rest(text, look_around(document, cursor, language, None))
    end = Point(cursor.line, cursor.column + joined.n_replaced)
    suggestion = Suggestion.of(document, cursor, Completion(joined.text, cursor, end, Reason.OK))
    assert suggestion is not None
    return suggestion


def check(then: str, text: str, now: str, result: str | None, language: str = "") -> None:
    """`result` is the document once the remainder is accepted; None: the suggestion no longer fits."""
    remainder = offered(then, text, language).remainder(*at_cursor(now, language))
    if result is None:
        assert remainder is None
        return
    assert remainder is not None
    document, cursor = at_cursor(now, language)
    end = Point(cursor.line, cursor.column + remainder.n_replaced)
    document.apply(Edit(cursor, end, remainder.text))
    assert document.text.replace("\r\n", "\n") == result


def check_all_typed(then: str, text: str, now: str) -> None:
    remainder = offered(then, text).remainder(*at_cursor(now))
    assert remainder is not None
    assert (remainder.text, remainder.n_replaced) == ("", 0)


def reuse_cases() -> list[Any]:
    file = data_folder() / "postprocess" / "reuse_cases.jsonl"
    if not file.exists():
        reason = f"no {file.name} under {file.parent} (set GOOSE_LSP_DATA)"
        return [pytest.param({}, marks=pytest.mark.skip(reason=reason))]
    cases = map(json.loads, file.read_text(encoding="utf-8").splitlines())
    return [pytest.param(case, id=case["id"]) for case in cases]


@pytest.mark.parametrize("case", reuse_cases())
def test_what_peers_keep_is_kept(case: dict[str, Any]) -> None:
    then, now, wanted = case["then"], case["now"], case["expect"]
    suggestion = offered(then["prefix"] + CURSOR + then["suffix"], then["shown"])
    remainder = suggestion.remainder(*at_cursor(now["prefix"] + CURSOR + now["suffix"]))
    if wanted["reuse"] is None:
        assert remainder is None or (wanted.get("accepted") and remainder.text == "")
    else:
        assert remainder is not None
        assert (remainder.text, remainder.n_replaced) == (wanted["reuse"], wanted.get("eat", 0))


def test_typing_leaves_the_rest_and_backspace_restores() -> None:
    for now in ("f", "fn", "fn(", "f", ""):
        check(f"const a = {CURSOR}\n", "fn(b);", f"const a = {now}{CURSOR}\n", "const a = fn(b);\n")


def test_another_character_ends_it() -> None:
    check(f"x = {CURSOR}", "fn()", f"x = g{CURSOR}", None)
    check(f"x = {CURSOR}", "fn()", f"x = fN{CURSOR}", None)
    check(f"x = {CURSOR}", "fn()", f"x = fn(){CURSOR}", "x = fn()")
    check(f"x = {CURSOR}", "fn()", f"x = fn() {CURSOR}", None)


def test_a_cursor_elsewhere_ends_it() -> None:
    check(f"ab = {CURSOR}\n", "1", f"ab{CURSOR} = \n", None)
    check(f"ab = {CURSOR}\n", "1", f"ab = \n{CURSOR}", None)


@pytest.mark.parametrize(
    ("now", "result"),
    [
        (f"a = f({CURSOR})\n", "a = f(g([1]))\n"),
        (f"a = f(g({CURSOR}))\n", "a = f(g([1]))\n"),
        (f"a = f(g([{CURSOR}]))\n", "a = f(g([1]))\n"),
        (f"a = f(g([1{CURSOR}]))\n", "a = f(g([1]))\n"),
        (f"a = f(g([1]{CURSOR}))\n", "a = f(g([1]))\n"),
        (f"a = f(g([1])){CURSOR}\n", "a = f(g([1]))\n"),
    ],
)
def test_brackets_that_the_editor_closes_are_not_doubled(now: str, result: str) -> None:
    check(f"a = {CURSOR}\n", "f(g([1]))", now, result)


def test_only_closers_left_is_nothing_left() -> None:
    check_all_typed(f"a = {CURSOR}\n", "f(g([1]))", f"a = f(g([1{CURSOR}]))\n")
    check_all_typed(f"print({CURSOR})\n", "len(x))", f"print(len(x){CURSOR})\n")
    check(f"print({CURSOR})\n", "len(x))", f"print(len(x)){CURSOR}\n", None)  # behind the closer


def test_a_quote_that_the_editor_closes_is_not_doubled() -> None:
    check(f"a = {CURSOR}\n", '"x" + b', f'a = "{CURSOR}"\n', 'a = "x" + b\n')


def test_a_block_that_the_editor_closes_below_is_not_closed_twice() -> None:
    text = "{\n    go();\n}"
    check(f"if (a) {CURSOR}\nend\n", text, f"if (a) {{{CURSOR}}}\nend\n", f"if (a) {text}\nend\n")
    now = f"if (a) {{\n    {CURSOR}\n}}\nend\n"
    check(f"if (a) {CURSOR}\nend\n", text, now, f"if (a) {text}\nend\n")
    check_all_typed(f"if (a) {CURSOR}\n", text, f"if (a) {{\n    go();{CURSOR}\n}}\n")


def test_a_replaced_closer_that_was_typed_over_is_not_missed() -> None:
    check(f"f({CURSOR})\n", "x) + y", f"f(x{CURSOR})\n", "f(x) + y\n")
    check(f"f({CURSOR})\n", "x) + y", f"f(x){CURSOR}\n", "f(x) + y\n")


def test_what_an_unchanged_line_has_replaced_stays_replaced() -> None:
    document, cursor = at_cursor(f"f({CURSOR})\n")
    end = Point(0, cursor.column + 1)
    suggestion = Suggestion.of(document, cursor, Completion("x, [", cursor, end, Reason.OK))
    assert suggestion is not None
    remainder = suggestion.remainder(*at_cursor(f"f(x{CURSOR})\n"))
    assert remainder is not None
    assert (remainder.text, remainder.n_replaced) == (", [", 1)


def test_lines_are_typed_with_the_editors_own_line_end() -> None:
    text = "a:\n    b\n    c"
    check(f"if {CURSOR}\r\nx\r\n", text, f"if a:\r\n    {CURSOR}\r\nx\r\n", f"if {text}\nx\n")


def test_another_indentation_than_the_suggested_ends_it() -> None:
    text = "a:\n    b\n"
    check(f"if {CURSOR}\n", text, f"if a:\n    {CURSOR}\n", f"if {text}\n")
    check(f"if {CURSOR}\n", text, f"if a:\n\t{CURSOR}\n", None)
    check(f"if {CURSOR}\n", text, f"if a:\n      {CURSOR}\n", None)


def test_a_line_may_go_to_the_margin_where_blanks_mean_nothing() -> None:
    check(f"a\n\t\t{CURSOR}", "x = 1", f"a\n{CURSOR}", "a\nx = 1", "c")
    check(f"a\n\t\t{CURSOR}", "x = 1", f"a\n{CURSOR}", None, "python")
    check(f"a\n\t\t{CURSOR}", "x\n\t\ty", f"a\n{CURSOR}", None, "c")
    check(f"a\n\tb {CURSOR}", "x = 1", f"a\n\tb{CURSOR}", None, "c")


def test_what_follows_must_be_what_followed() -> None:
    check(f"a {CURSOR} b\n", "x", f"a {CURSOR} c\n", None)
    check(f"a {CURSOR}\nb\n", "x", f"a {CURSOR}\nx\nb\n", None)
    check(f"a({CURSOR})\nb\n", "x", f"a({CURSOR}\nb\n", None)
    check(f"a({CURSOR})\nb\n", "x", f"a({CURSOR});\nb\n", None)


@pytest.mark.parametrize("shared", ["-" * 2000, "ab" * 1000, "\n" * 3])
def test_a_text_that_repeats_itself_is_counted_by_its_column(shared: str) -> None:
    check(f"{shared}{CURSOR}", "-x", f"{shared}{CURSOR}", f"{shared}-x")
    check(f"{shared}{CURSOR}", "-x", f"{shared}-{CURSOR}", f"{shared}-x")
    check(f"{shared}{CURSOR}", "-x", f"{shared}--{CURSOR}", None)


def test_only_what_stands_near_must_be_unchanged() -> None:
    far, near = "y\n" * MAX_BEFORE, "x\n" * (MAX_AFTER // 2)
    check(
        f"{far}a = {CURSOR}\n{near}b",
        "1",
        f"z\n{far}a = {CURSOR}\n{near}c",
        f"z\n{far}a = 1\n{near}c",
    )


def test_what_begins_before_the_cursor_or_says_nothing_is_not_kept() -> None:
    document, cursor = at_cursor(f"foo{CURSOR}")
    for text, start in (("foobar", Point(0, 0)), ("", cursor)):
        assert Suggestion.of(document, cursor, Completion(text, start, cursor, Reason.OK)) is None


TEXTS = st.text("ab(\n) ", max_size=8)


@given(TEXTS, TEXTS.filter(bool), TEXTS, st.data())
def test_whatever_part_is_typed_the_result_is_the_offered_one(
    before: str, text: str, after: str, data: st.DataObject
) -> None:
    document, cursor = at_cursor(before + CURSOR + after)
    suggestion = Suggestion.of(document, cursor, Completion(text, cursor, cursor, Reason.OK))
    assert suggestion is not None
    n_typed = data.draw(st.integers(0, len(text)))
    remainder = suggestion.remainder(*at_cursor(before + text[:n_typed] + CURSOR + after))
    assert remainder is not None
    assert (remainder.text, remainder.n_replaced) in ((text[n_typed:], 0), ("", 0))
    is_told = remainder.n_typed == n_typed or (text + after).startswith(text[:n_typed] * 2)
    assert is_told or remainder.n_typed < n_typed


@given(TEXTS, TEXTS.filter(bool), TEXTS, TEXTS, TEXTS)
def test_no_remainder_makes_another_text_than_the_offered_one_but_for_closers(
    before: str, text: str, after: str, now_before: str, now_after: str
) -> None:
    document, cursor = at_cursor(before + CURSOR + after)
    suggestion = Suggestion.of(document, cursor, Completion(text, cursor, cursor, Reason.OK))
    assert suggestion is not None
    remainder = suggestion.remainder(*at_cursor(now_before + CURSOR + now_after))
    if remainder is not None:
        result = now_before + remainder.text + now_after[remainder.n_replaced :]
        wanted = before + text + after
        assert _letters(result) == _letters(wanted)


def _letters(text: str) -> str:
    return "".join(character for character in text if character.isalpha())


def test_a_line_of_megabytes_is_not_read_through() -> None:
    """The cost is that of the windows: a comparison with a short line, not a clock's reading."""
    line = "x = 1; " * 700_000
    long, short = f"{line}{CURSOR}{line}", f"{line[:7000]}{CURSOR}{line[:7000]}"
    counts = [_n_characters_seen(marked) for marked in (long, short)]
    assert counts[0] == counts[1]


def _n_characters_seen(marked: str) -> int:
    document, cursor = at_cursor(marked)
    seen = 0

    class Counting(str):
        __slots__ = ()

        def __getitem__(self, key: Any) -> str:
            nonlocal seen
            piece = super().__getitem__(key)
            seen += len(piece)
            return piece

    document.lines = [Counting(line) for line in document.lines]
    suggestion = Suggestion.of(document, cursor, Completion("y", cursor, cursor, Reason.OK))
    assert suggestion is not None
    assert suggestion.remainder(document, cursor) is not None
    return seen
