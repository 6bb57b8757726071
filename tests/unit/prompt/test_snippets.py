import pytest

from goose_lsp.prompt.snippets import merge_snippets
from goose_lsp.request import Snippet


def check(snippets: list[tuple[str, str]], merged: list[tuple[str, str]]) -> None:
    found = merge_snippets([Snippet(path, text) for path, text in snippets], "own.py")
    assert [(snippet.path, snippet.text) for snippet in found] == merged


def test_the_documents_own_file_is_never_in_its_prompt_twice() -> None:
    check([("own.py", "a\n"), ("b.py", "b\n")], [("b.py", "b\n")])


def test_a_text_without_a_last_line_end_gets_one_and_blank_ones_are_dropped() -> None:
    check([("a.py", "a"), ("b.py", " \n\n"), ("c.py", "")], [("a.py", "a\n")])


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("1\n2\n3\n", "2\n3\n4\n"),
        ("2\n3\n4\n", "1\n2\n3\n"),
        ("1\n2\n3\n4\n", "2\n3\n"),
        ("2\n3\n", "1\n2\n3\n4\n"),
        ("1\n2\n3\n4\n", "1\n2\n3\n4\n"),
    ],
)
def test_overlapping_pieces_of_a_file_become_one(first: str, second: str) -> None:
    check([("a.py", first), ("a.py", second)], [("a.py", "1\n2\n3\n4\n")])


def test_a_piece_that_reaches_two_others_joins_all_three_at_the_first_place() -> None:
    check(
        [("a.py", "1\n2\n3\n"), ("b.py", "b\n"), ("a.py", "4\n5\n6\n"), ("a.py", "2\n3\n4\n5\n")],
        [("a.py", "1\n2\n3\n4\n5\n6\n"), ("b.py", "b\n")],
    )


def test_one_line_in_common_joins_nothing() -> None:
    pieces = [("a.py", "f(\n)\n"), ("a.py", ")\ng(\n")]
    check(pieces, pieces)


def test_the_same_text_in_two_files_stays_in_both() -> None:
    pieces = [("a.py", "1\n2\n"), ("b.py", "1\n2\n")]
    check(pieces, pieces)
