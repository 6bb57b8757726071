"""Tokens of a text after an edit, cut anew only around the change.

Right because of where it cuts: `text/cut.py` says at which places a local tokenizer does not look across, so either
side of such a place has the tokens it had. Byte lengths, which add up, say which token stands there.
"""

from collections.abc import Callable

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
        if not self._tokenizer.is_local:
            return self.tokens(new)
        n_head = _n_same_head(old, new)
        n_tail = _n_same_tail(old, new, n_head)
        start = cut_before(new, n_head)
        end = cut_after(new, len(new) - n_tail)
        ends = np.cumsum(self._token_bytes[old_tokens], dtype=np.int32)
        first = _boundary(ends, _n_bytes(old, start))
        last = _boundary(ends, _n_bytes(old, end + len(old) - len(new)))
        # Where lengths do not add up the vocabulary is not one of bytes.
        if first is None or last is None or not len(ends) or ends[-1] != _n_bytes(old, len(old)):
            return self.tokens(new)
        middle = new[start:end]
        fresh = self._tokenizer.encode_inner(middle) if start else self._tokenizer.encode(middle)
        return np.concatenate((old_tokens[:first], np.array(fresh, np.int32), old_tokens[last:]))


def _n_same_head(one: str, other: str) -> int:
    """How many characters both begin with."""
    n = min(len(one), len(other))
    return _n_same(n, lambda low, high: one[low:high] == other[low:high])


def _n_same_tail(one: str, other: str, n_head: int) -> int:
    """How many characters both end with, behind the first `n_head`."""
    m, n = len(one), len(other)
    return _n_same(
        min(m, n) - n_head, lambda low, high: one[m - high : m - low] == other[n - high : n - low]
    )


def _n_same(n: int, is_same: Callable[[int, int], bool]) -> int:
    """How many of `n` places are the same, found by halves: each is compared about once, and not in Python."""
    low, high = 0, n
    while low < high:
        middle = (low + high + 1) // 2
        if is_same(low, middle):
            low = middle
        else:
            high = middle - 1
    return low


def _n_bytes(text: str, n_chars: int) -> int:
    """Of the first characters as the tokenizer reads them: the mark put for a lone surrogate is as long as that is."""
    return n_chars if text.isascii() else len(text[:n_chars].encode("utf-8", "surrogatepass"))


def _boundary(ends: Tokens, offset: int) -> int | None:
    """How many tokens end at or before a byte offset; None where one spans it."""
    if offset == 0:
        return 0
    place = int(np.searchsorted(ends, np.int32(offset)))
    return place + 1 if place < len(ends) and ends[place] == offset else None
