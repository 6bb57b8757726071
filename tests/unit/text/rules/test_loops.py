import pytest

from goose_lsp.text.rules.loops import is_looping, without_looping_line, without_repeated_lines


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("a\nb\nb\nb\nc", "a\nb"),
        ("a\nb\nb\nc", "a\nb\nb\nc"),
        ("f()\ng()\n" * 3 + "h()", "f()\ng()"),
        ("f()\n\n" * 3, "f()\n"),
        ("f()\ng()\n" * 2 + "f()\nh()", "f()\ng()\nf()\ng()\nf()\nh()"),
        ("      }\n    }\n  }\n}", "      }\n    }\n  }\n}"),
        ("a\n\n\n\nb", "a\n\n\n\nb"),
        ("", ""),
    ],
)
def test_the_third_copy_in_a_row_is_a_loop(text: str, cut: str) -> None:
    assert without_repeated_lines(text) == cut


@pytest.mark.parametrize(
    "line",
    [
        "sum = sum = sum = sum = sum = sum = sum =",
        "very " * 10,
        "start a, b, a, b, a, b, a, b, a, b, a, b,",
        "total = 10000000000000000000000000000000000",
    ],
)
def test_a_line_in_a_loop_goes_with_what_follows(line: str) -> None:
    assert without_looping_line(f"first()\n{line}\nlast()") == "first()"


@pytest.mark.parametrize(
    "line",
    [
        "# " + "-" * 70,
        "    " * 10,
        "row = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0,",
        'colour = "#ffffff',
        "0xFFFFFFFF",
        "log log log log log log log log log",
        "ab ab ab ab ab ab then more",
    ],
)
def test_rulers_tables_and_colours_are_no_loops(line: str) -> None:
    assert without_looping_line(line) == line


@pytest.mark.parametrize(
    ("text", "is_so"),
    [
        ("f()\nf()\nf()\n", True),
        ("f()\nf()\nf()", False),  # the last line may go on
        ("a\nsum = sum = sum = sum = sum = sum = sum =", True),
        ("x = 1\ny = 2\n", False),
        ("", False),
    ],
)
def test_a_loop_is_seen_once_nothing_can_change_it(text: str, is_so: bool) -> None:
    assert is_looping(text) is is_so
