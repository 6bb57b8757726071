import pytest

from goose_lsp.text.comment import comment_block, comment_line


@pytest.mark.parametrize(
    ("language", "line"),
    [
        ("python", "# a/b\n"),
        ("typescript", "// a/b\n"),
        ("lua", "-- a/b\n"),
        ("html", "<!-- a/b -->\n"),
        ("css", "/* a/b */\n"),
        ("", "# a/b\n"),
        ("a language of tomorrow", "# a/b\n"),
    ],
)
def test_a_comment_is_spelled_as_its_language_does(language: str, line: str) -> None:
    assert comment_line("a/b", language) == line


@pytest.mark.parametrize(
    ("language", "text", "line"),
    [("html", "a-->b", "<!-- ab -->\n"), ("css", "a*/b", "/* ab */\n")],
)
def test_a_text_cannot_end_its_comment(language: str, text: str, line: str) -> None:
    assert comment_line(text, language) == line


def test_every_line_of_a_block_becomes_a_comment_and_empty_ones_end_without_blanks() -> None:
    assert comment_block("one\n\ntwo", "python") == "# one\n#\n# two\n"
    assert comment_block("", "python") == ""
