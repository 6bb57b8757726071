"""Blanks at the suggestion's ends: how it joins what stands before the cursor and behind it."""

from goose_lsp.text.rules.around import Around, indent_of
from goose_lsp.text.rules.indents import expected_indent

# A blank behind them is never wanted; behind `{` some styles have one.
_TIGHT_OPENERS = ("(", "[")
_TIGHT_CLOSERS = (")", "]", "}", ";", ",", " ", "\t")


def fit_first_line(text: str, around: Around) -> str:
    """Blanks are not doubled across the cursor, and a line is not indented twice.

    Behind an indentation most models write it again; its blanks are kept only where both together
    are what the line above asks for. In column 0 they are the line's indentation.
    """
    blanks = indent_of(text)
    content = text[len(blanks) :]
    if not blanks or content.startswith("\n"):
        return content
    if around.before and around.is_blank_before:
        is_missing = around.before + blanks == expected_indent(around)
        return text if is_missing else content
    return content if around.before.endswith((" ", "\t", *_TIGHT_OPENERS)) else text


def without_trailing_blanks(text: str, around: Around) -> str:
    """Blanks at the end are kept only before a word or the like on the same line."""
    content = text.rstrip()
    is_wanted = around.after.strip() and not around.after.startswith(_TIGHT_CLOSERS)
    return text if is_wanted and "\n" not in text[len(content) :] else content
