"""Text that will go on: where the tokens before the cursor end, and what is left for the model to begin with."""

from typing import NamedTuple

from goose_lsp.tokenizer import Tokenizer

# Enough of a text to see how its end is cut.
_NEAR_CHARS = 64


class Opened(NamedTuple):
    """`token_ids` and `held_back` make up the text."""

    token_ids: list[int]
    # What the end of the text shares a token with: blanks before a word, and line ends before the next
    # line's indentation. The model's text must begin with it.
    held_back: str


def encode_open(text: str, tokenizer: Tokenizer, *, is_inner: bool) -> Opened:
    """Token ids of a text that goes on; `is_inner`: it goes on from other text itself.

    Encoded with a letter behind it, the text is cut where a word that follows would really begin:
    `x = ` ends after `=`, because ` y` is one token, and a line ends before its line end, which is one token
    with the indentation of a line that nobody has written yet.
    """
    encode = tokenizer.encode_inner if is_inner else tokenizer.encode
    kept = text.rstrip("\n")
    line_ends = text[len(kept) :]
    if kept and len(line_ends) in (1, 2) and not kept[-1].isspace():
        near = text[-_NEAR_CHARS:]
        token_ids = tokenizer.encode_inner(near)
        if tokenizer.encode_inner(near + "    a")[: len(token_ids)] != token_ids:
            return Opened(encode(kept), line_ends)
    if text[-1:].isspace():
        token_ids = encode(text + "a")
        last = tokenizer.decode(token_ids[-1:])
        if last.endswith("a") and not last[:-1].strip(" \t"):
            return Opened(token_ids[:-1], last[:-1])
    return Opened(encode(text), "")
