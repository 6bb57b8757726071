from hypothesis import given
from hypothesis import strategies as st

from goose_lsp.text.syntax.window import MAX_AFTER, MAX_BEFORE, MIN_BEFORE, around

FUNCTION = "def f():\n    return 1\n\n\n"
pieces = st.lists(st.sampled_from(["a", "  b", "\n", "\n\n", '"""', "}", "\r\n"]), max_size=2000)


def test_a_small_document_is_looked_at_whole() -> None:
    assert around("a\n\nb\n", "c\n\nd\n") == ("a\n\nb\n", "c\n\nd\n")


def test_line_ends_become_lf() -> None:
    assert around("a\r\nb\r", "c\r\n") == ("a\nb\n", "c\n")


def test_the_window_begins_and_ends_where_a_construct_does() -> None:
    before, after = around(FUNCTION * 300, FUNCTION * 300)
    assert before.startswith("def f")
    assert MIN_BEFORE <= len(before) < MIN_BEFORE + 2 * len(FUNCTION)
    assert after.endswith("\n\n")
    assert len(after) < 1000


def test_a_construct_in_a_long_string_begins_no_window() -> None:
    text = 'x = """\n\ntext\n\n' + "more text\n" * 300
    assert around(text, "")[0] == text
    closed = text + '"""\n\n' + "y = 1\n" * 500
    assert around(closed, "")[0].startswith("y = 1")


def test_a_string_that_began_long_ago_is_known_by_its_quotes() -> None:
    text = '"""\n\ntext\n\n' + "more text\n" * 1000 + '"""\n\nx = 1\n' + "y = 1\n" * 500
    assert around(text, "")[0].startswith("x = 1")


def test_a_line_that_only_closes_begins_nothing() -> None:
    text = "f(\n\n)\n" + "  x\n" * 1000
    assert around(text, "")[0] == text


def test_without_a_construct_the_window_begins_with_a_line() -> None:
    before, _ = around("  some line\n" * 5000, "")
    assert before.startswith("  some line\n")
    assert len(before) <= MAX_BEFORE


@given(pieces, pieces)
def test_windows_are_the_ends_that_touch_the_cursor(before: list[str], after: list[str]) -> None:
    text_before, text_after = ("".join(part).replace("\r\n", "\n") for part in (before, after))
    window_before, window_after = around("".join(before), "".join(after))
    assert text_before.endswith(window_before)
    assert text_after.startswith(window_after)
    assert len(window_before) <= MAX_BEFORE
    assert len(window_after) <= MAX_AFTER
