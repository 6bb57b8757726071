"""Where text may be cut in two and each part tokenised by itself.

A cut lies between an ASCII letter or digit and the blank, tab or LF behind it. Pre-tokenizers of code models keep
blanks with what follows them and look ahead only while they are among blanks, so none of them looks across a cut
or holds a token that spans one. Offsets count characters; a cut at offset c is text[:c] + text[c:].
"""

import re
from collections.abc import Iterator
from itertools import pairwise, product

# Short texts that end, and that begin, at a cut, of every kind of character that pre-tokenizers tell apart: whether a
# tokenizer keeps what is said above is seen from all pairs of them.
ENDS = tuple(map("".join, product(["", "a", "1", " ", ".", "'"], ["a", "s", "1"])))
BEGINNINGS = tuple(map("".join, product(" \t\n", *[["", "a", "1", " ", "\n", "."]] * 2)))
_CUT = re.compile("[A-Za-z0-9][ \t\n]")
_WINDOW = 128  # characters; most lines of code have a cut in so many


def cut_before(text: str, end: int) -> int:
    """The last cut whose two characters lie in text[:end]; 0, the start of the text, where there is none."""
    width = _WINDOW
    while True:
        low = max(end - width, 0)
        cuts = [match.start() + 1 for match in _CUT.finditer(text, low, end)]
        if cuts or low == 0:
            return cuts[-1] if cuts else 0
        width *= 4


def cut_after(text: str, start: int) -> int:
    """The first cut whose two characters lie in text[start:]; the end of the text where there is none."""
    match = _CUT.search(text, start)
    return match.start() + 1 if match else len(text)


def cut_up(text: str, min_chars: int) -> Iterator[str]:
    """The text in parts, each ending at the first cut behind its `min_chars` characters; "" has none."""
    cuts = [0]
    while cuts[-1] < len(text):
        cuts.append(cut_after(text, cuts[-1] + min_chars - 1))
    return (text[low:high] for low, high in pairwise(cuts))
