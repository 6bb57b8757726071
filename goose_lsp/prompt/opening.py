"""Text that will go on: where the tokens before the cursor end, and what is left for the model to begin with."""

from typing import NamedTuple

from goose_lsp.tokenizer import Tokenizer


class Opened(NamedTuple):
    """`token_ids` and `held_back` make up the text."""

    token_ids: list[int]
    # Blanks at the end of the text that the vocabulary joins with the word that follows; the model's
    # text must begin with them.
    held_back: str


def encode_open(text: str, tokenizer: Tokenizer, *, is_inner: bool) -> Opened:
    """Token ids of a text that goes on; `is_inner`: it goes on from other text itself.

    Encoded with a letter behind it, the text is cut where a word that follows would really begin:
    `x = ` ends after `=`, because ` y` is one token.
    """
    encode = tokenizer.encode_inner if is_inner else tokenizer.encode
    if text[-1:].isspace():
        token_ids = encode(text + "a")
        last = tokenizer.decode(token_ids[-1:])
        if last.endswith("a") and not last[:-1].strip(" \t"):
            return Opened(token_ids[:-1], last[:-1])
    return Opened(encode(text), "")
