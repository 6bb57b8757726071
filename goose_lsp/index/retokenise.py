"""Tokens of a text after an edit, cut anew only around the change.

Right because of where it cuts: `text/cut.py` says at which places no tokenizer looks across, so both sides of such a
place have the tokens they had. Works on the text's bytes, in which token lengths add up.
"""

import numpy as np
import numpy.typing as npt

from goose_lsp.text.cut import cut_after, cut_before
from goose_lsp.tokenizer import Tokenizer

Tokens = npt.NDArray[np.int32]


class Retokeniser:
    """Used by one thread."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._token_bytes = tokenizer.byte_lengths()

    def tokens(self, text: str) -> Tokens:
        return self._tokenizer.encode_batch([text])[0]

    def updated(self, old: str, old_tokens: Tokens, new: str) -> Tokens:
        """`tokens(new)`, given those of `old`; costs little more than the change where the two are alike."""
        before, after = _bytes(old), _bytes(new)
        n_head = _n_same(before, after)
        n_tail = _n_same(before[n_head:][::-1], after[n_head:][::-1])
        spelled = after.tobytes().decode("latin-1")
        start = cut_before(spelled, n_head)
        end = cut_after(spelled, len(after) - n_tail)
        ends = np.cumsum(self._token_bytes[old_tokens], dtype=np.int64)
        first = _boundary(ends, start)
        last = _boundary(ends, end + len(before) - len(after))
        # Where lengths do not add up the vocabulary is not one of bytes.
        if first is None or last is None or not len(ends) or ends[-1] != len(before):
            return self.tokens(new)
        middle = after[start:end].tobytes().decode("utf-8", "surrogatepass")
        fresh = self._tokenizer.encode_inner(middle) if start else self._tokenizer.encode(middle)
        return np.concatenate((old_tokens[:first], np.array(fresh, np.int32), old_tokens[last:]))


def _bytes(text: str) -> npt.NDArray[np.uint8]:
    # As the tokenizer has it: lone surrogates have become marks.
    return np.frombuffer(text.encode("utf-8", "surrogatepass"), np.uint8)


def _n_same(one: npt.NDArray[np.uint8], other: npt.NDArray[np.uint8]) -> int:
    n = min(len(one), len(other))
    differing = np.flatnonzero(one[:n] != other[:n])
    return int(differing[0]) if len(differing) else n


def _boundary(ends: npt.NDArray[np.int64], offset: int) -> int | None:
    """How many tokens end at or before a byte offset; None where one spans it."""
    if offset == 0:
        return 0
    place = int(np.searchsorted(ends, offset))
    return place + 1 if place < len(ends) and ends[place] == offset else None
