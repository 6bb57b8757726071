"""What stands around the cursor, near enough to matter: the value that every rule is given.

Its size is bounded, so that no rule's cost depends on the size of the document.
"""

import re
from dataclasses import dataclass
from functools import cached_property

from goose_lsp.request import Point
from goose_lsp.text.document import Document

# Each way. About 100 lines: a block's head and the lines that a suggestion could repeat lie nearer.
MAX_CHARS = 4096

_LINE_END = re.compile("\r\n|\r")


@dataclass(frozen=True)
class Around:
    """Line ends are LF in all of it; the outermost line may be cut."""

    text_before: str  # ends at the cursor
    text_after: str  # begins at the cursor
    language: str = ""
    indent_unit: str | None = None  # what the editor says; None: see for yourself

    @cached_property
    def before(self) -> str:
        """The cursor's line up to the cursor."""
        return self.text_before[self.text_before.rfind("\n") + 1 :]

    @cached_property
    def after(self) -> str:
        """The cursor's line from the cursor on, without its line end."""
        return self.text_after.partition("\n")[0]

    @cached_property
    def lines_before(self) -> list[str]:
        return self.text_before.split("\n")[:-1]

    @cached_property
    def lines_after(self) -> list[str]:
        return self.text_after.split("\n")[1:]

    @cached_property
    def is_blank_before(self) -> bool:
        return not self.before.strip()

    @cached_property
    def is_in_prose(self) -> bool:
        """Whether the cursor is in a docstring or block comment that begins near enough to be seen."""
        text = self.text_before
        is_in_string = any(text.count(quotes) % 2 for quotes in ('"""', "'''"))
        return is_in_string or text.rfind("/*") > text.rfind("*/")

    def mentions(self, spelling: str) -> bool:
        """Whether the user's own text holds it, so that a suggestion may as well."""
        return spelling in self.text_before or spelling in self.text_after


def look_around(
    document: Document, cursor: Point, language: str, indent_unit: str | None
) -> Around:
    return Around(
        with_lf(document.text_before(cursor, MAX_CHARS)),
        with_lf(document.text_after(cursor, MAX_CHARS)),
        language,
        indent_unit,
    )


def with_lf(text: str) -> str:
    return _LINE_END.sub("\n", text)


def indent_of(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]
