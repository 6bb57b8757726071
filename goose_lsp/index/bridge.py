"""Where a prompt cuts text otherwise than a file does: places of the store, re-cut from the cursor on.

A prompt ends in the middle of a line or word, so its last tokens differ from those of a file that holds the same
text, and no token of the file matches them. Here the look-up goes back to where both agree, and what follows there is
cut into tokens as the model would write it behind this prompt.
"""

from collections.abc import Sequence

import numpy as np

from goose_lsp.draft.recall import MAX_MATCH_LEN, NO_TOKEN
from goose_lsp.draft.segment import ORDER_DEPTH
from goose_lsp.draft.store import StoreView, occurrences
from goose_lsp.tokenizer import Tokenizer

# Tokens at the end of a prompt that a file may have cut otherwise.
_MAX_BACK = 4
# A shorter match says too little about what follows.
_MIN_MATCH_LEN = 2
_MAX_LOOKED_AT = 24
# Tokens behind the cursor that are taken over from a place.
_MAX_AHEAD = 40


def bridges(
    view: StoreView, prompt_ids: Sequence[int], held_back: str, tokenizer: Tokenizer, max_n: int = 6
) -> list[list[int]]:
    """The prompt's last tokens, and behind them the tokens of what follows there in the workspace.

    At most `max_n` places, those of the longest matches first; none whose continuation says the same.
    """
    found: list[list[int]] = []
    seen: set[str] = set()
    kept = list(prompt_ids[-MAX_MATCH_LEN:])
    for n_back in range(1, min(_MAX_BACK, len(prompt_ids) - _MIN_MATCH_LEN) + 1):
        tail = np.array(prompt_ids[-n_back - ORDER_DEPTH : -n_back], np.int32)
        cut_off = tokenizer.decode(list(prompt_ids[-n_back:])) + held_back
        for place in occurrences(view, tail, len(tail), _MAX_LOOKED_AT):
            if place.match_len < _MIN_MATCH_LEN:
                break
            library = view.delta if place.is_delta else view.base
            text = _text_at(library.segment.tokens, place.position, n_back, tokenizer)
            ahead = text.removeprefix(cut_off)
            if len(ahead) == len(text) or not ahead or ahead in seen:
                continue
            seen.add(ahead)
            found.append([*kept, *tokenizer.encode_inner(held_back + ahead)])
            if len(found) == max_n:
                return found
    return found


def _text_at(
    tokens: np.ndarray[tuple[int], np.dtype[np.int32]],
    position: int,
    n_back: int,
    tokenizer: Tokenizer,
) -> str:
    """What stands from a position on, up to the file's end; the last token may be half a character and is left out."""
    ahead = tokens[position : position + n_back + _MAX_AHEAD + 1].tolist()
    if NO_TOKEN in ahead:
        return tokenizer.decode(ahead[: ahead.index(NO_TOKEN)])
    return tokenizer.decode(ahead[:-1]).rstrip("\ufffd")
