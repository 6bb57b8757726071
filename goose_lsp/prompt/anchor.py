"""Where the prefix of a prefix-suffix-middle prompt ends. What is typed behind it starts the middle.

In that order a letter typed into the prefix would make the model read the whole suffix again. So
prefix and suffix stand still, and the typed text follows the middle token, as if the model had
written it: only what is typed is new.
"""

from dataclasses import dataclass

from goose_lsp.prompt.opening import Opened, encode_open
from goose_lsp.prompt.window import MAX_CHARS_PER_TOKEN, text_between
from goose_lsp.request import Point
from goose_lsp.text.document import Document
from goose_lsp.tokenizer import Tokenizer

# At a line's end the anchor follows once this share of the middle is used; inside a line it waits
# until all is, since each new one costs the suffix.
LINE_END_SHARE = 0.25


@dataclass(frozen=True, slots=True)
class Anchor:
    """A prompt's part that stands still."""

    start: Point  # of the window before the anchor
    point: Point
    prefix: str
    token_ids: list[int]  # the prompt up to the middle
    held_back: str  # of the prefix: the middle begins with it

    def typed(self, document: Document, cursor: Point) -> str | None:
        """The text between anchor and cursor; None where the anchor no longer holds."""
        if not (document.contains(self.point) and self.point <= cursor):
            return None
        if text_between(document, self.start, self.point) != self.prefix:
            return None
        return text_between(document, self.point, cursor)

    def middle(self, typed: str, tokenizer: Tokenizer, max_tokens: int) -> Opened | None:
        """The start of the middle; None where so much is typed that a new anchor is due."""
        if len(typed) > max_tokens * MAX_CHARS_PER_TOKEN:
            return None
        opened = encode_open(self.held_back + typed, tokenizer, is_inner=True)
        is_further_line = "\n" in typed
        if len(opened.token_ids) > max_tokens * (LINE_END_SHARE if is_further_line else 1):
            return None
        return opened


def anchor_point(cursor: Point, max_tokens: int, *, is_near: bool) -> Point:
    """Where a new anchor goes: the cursor, or near a former one the start of its line.

    Who has just gone back or aside goes on doing so within the line, and that must not move the
    anchor again. More than a line's start may not fit the middle.
    """
    if is_near and cursor.column <= max_tokens:
        return Point(cursor.line, 0)
    return cursor
