"""From a document and a cursor to the prompt's token ids, in a layout that stays put under typing."""

from dataclasses import dataclass

from goose_lsp.request import Point
from goose_lsp.text.document import Document
from goose_lsp.tokenizer import Tokenizer

# Windows start at multiples of this many lines, so that typing does not move them.
ANCHOR_LINES = 32
# Code has more than two and rarely over five characters a token; bounds what is encoded for nothing.
MAX_CHARS_PER_TOKEN = 5


@dataclass(frozen=True, slots=True)
class Prompt:
    token_ids: list[int]
    # Blanks directly before the cursor that the prompt leaves out, because the vocabulary joins them
    # with the word that follows; the model's text must begin with them.
    held_back: str


def build_prompt(document: Document, cursor: Point, tokenizer: Tokenizer, budget: int) -> Prompt:
    """Prefix-only: the text before the cursor, at most `budget` tokens, line ends as LF.

    The window starts at the earliest anchor line from which everything fits; where not even the
    nearest anchor fits, the front of its text is cut. An empty prefix becomes one line end, since a
    model needs something to continue.
    """
    max_chars = budget * MAX_CHARS_PER_TOKEN
    start = _window_start(document, cursor, max_chars)
    while True:
        token_ids, held_back = _encode_open(_prefix(document, start, cursor, max_chars), tokenizer)
        next_start = (start // ANCHOR_LINES + 1) * ANCHOR_LINES
        if len(token_ids) <= budget or next_start > cursor.line:
            break
        start = next_start
    return Prompt(token_ids[-budget:] or tokenizer.encode("\n"), held_back)


def _window_start(document: Document, cursor: Point, max_chars: int) -> int:
    """The earliest anchor line whose text up to the cursor has at most about `max_chars` characters."""
    start = cursor.line - cursor.line % ANCHOR_LINES
    n_chars = sum(len(document.line_text(i)) + 1 for i in range(start, cursor.line))
    while start > 0:
        before = range(start - ANCHOR_LINES, start)
        n_chars += sum(len(document.line_text(i)) + 1 for i in before)
        if n_chars > max_chars:
            break
        start -= ANCHOR_LINES
    return start


def _prefix(document: Document, start: int, cursor: Point, max_chars: int) -> str:
    whole = [document.line_text(i)[-max_chars:] + "\n" for i in range(start, cursor.line)]
    last = document.line_text(cursor.line)[: cursor.column]
    return "".join([*whole, last])[-max_chars:]


def _encode_open(text: str, tokenizer: Tokenizer) -> tuple[list[int], str]:
    """Token ids of a text that will go on, and its last blanks if they belong to the next token.

    Encoded with a letter behind it, the text is cut where a word that follows would really begin:
    `x = ` ends after `=`, because ` y` is one token.
    """
    if text[-1:].isspace():
        token_ids = tokenizer.encode(text + "a")
        last = tokenizer.decode(token_ids[-1:])
        if last.endswith("a") and not last[:-1].strip(" \t"):
            return token_ids[:-1], last[:-1]
    return tokenizer.encode(text), ""
