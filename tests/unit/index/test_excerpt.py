import pytest

from goose_lsp.index.excerpt import fit, shown_path, unknown_lines, whole_lines


@pytest.mark.parametrize(
    ("is_from_start", "is_to_end", "expected"),
    [
        (True, True, ["one", "two", "thr"]),
        (False, True, ["two", "thr"]),
        (True, False, ["one", "two"]),
    ],
)
def test_lines_that_are_cut_are_left_out(
    is_from_start: bool, is_to_end: bool, expected: list[str]
) -> None:
    text = "one\ntwo\nthr"
    assert whole_lines(text, is_from_start=is_from_start, is_to_end=is_to_end) == expected


def test_control_characters_are_left_out_but_tabs_stay() -> None:
    assert whole_lines("\ta\x1b[31m\x00b\n", is_from_start=True, is_to_end=True) == ["\ta[31mb"]


def test_known_lines_at_either_end_go_and_copies_go_whole() -> None:
    known = {"import os", "return value"}
    lines = ["import os", "first = 1", "second = 2", "third = 3", "    return value"]
    assert unknown_lines(lines, known) == lines[1:4]
    assert unknown_lines(["import os", "return value", "x = 1234"], known) == []


def test_as_many_lines_as_fit_are_taken() -> None:
    text, cost = fit("a.py", ["12345", "12345", "12345"], 17, len)
    assert (text, cost) == ("12345\n12345\n", 17)
    assert fit("a.py", ["12345"], 5, len) == ("", 0)
    assert fit("a.py", [], 100, len) == ("", 0)


def test_a_path_is_shown_on_one_line() -> None:
    assert shown_path("a\nb\x1b.py") == "a\ufffdb\ufffd.py"
