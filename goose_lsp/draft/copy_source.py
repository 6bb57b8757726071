"""Copying from the context: where did the last tokens occur before, and what followed them?"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

# A longer match adds nothing: beyond it the acceptance curve is flat.
MAX_MATCH_LEN = 16
# Occurrences compared for one query, most recent first; bounds the cost in repetitive text.
MAX_OCCURRENCES = 24


@dataclass(frozen=True, slots=True)
class CopyMatch:
    """The longest suffix found again, most recent first among equals."""

    next_idx: int  # where in the context the continuation starts
    match_len: int  # tokens matched before it, at most MAX_MATCH_LEN
    is_unanimous: bool  # at least two occurrences of this length, all followed by the same token


class CopySource:
    """An index of one context that grows at its end.

    Only positions that already have a following token are indexed, so a context's own end never
    matches itself. Cost: O(1) per token appended, O(MAX_OCCURRENCES · MAX_MATCH_LEN) per query.
    """

    def __init__(self, token_ids: Iterable[int] = ()) -> None:
        self._context: list[int] = []
        self._after_pair: dict[tuple[int, int], list[int]] = {}  # pair → indices of what follows it
        self._after_token: dict[int, int] = {}  # token → latest index of what follows it
        self.extend(token_ids)

    def __len__(self) -> int:
        return len(self._context)

    def extend(self, token_ids: Iterable[int]) -> None:
        context = self._context
        for token in token_ids:
            n = len(context)
            if n >= 1:
                self._after_token[context[-1]] = n
            if n >= 2:
                self._after_pair.setdefault((context[-2], context[-1]), []).append(n)
            context.append(token)

    def token_at(self, idx: int) -> int | None:
        """The token at `idx`, None past the end."""
        return self._context[idx] if idx < len(self._context) else None

    def match(self, tail: Sequence[int]) -> CopyMatch | None:
        """Find the longest suffix of `tail` (a context's last tokens, then drafted ones) in the context."""
        if len(tail) >= 2 and (after := self._after_pair.get((tail[-2], tail[-1]))):
            return self._longest(after, tail)
        if tail and (next_idx := self._after_token.get(tail[-1])) is not None:
            return CopyMatch(next_idx, 1, is_unanimous=False)
        return None

    def _longest(self, after: list[int], tail: Sequence[int]) -> CopyMatch:
        context = self._context
        best_idx, best_len = after[-1], 0
        followers: set[int] = set()
        n_best = 0
        for next_idx in after[: -MAX_OCCURRENCES - 1 : -1]:
            match_len = _common_suffix_len(context, next_idx, tail)
            if match_len > best_len:
                best_idx, best_len = next_idx, match_len
                followers, n_best = {context[next_idx]}, 1
            elif match_len == best_len:
                followers.add(context[next_idx])
                n_best += 1
        return CopyMatch(best_idx, best_len, n_best >= 2 and len(followers) == 1)


def _common_suffix_len(context: Sequence[int], end: int, tail: Sequence[int]) -> int:
    """How many tokens before `context[end]` equal the last ones of `tail`; both are known to share two."""
    limit = min(MAX_MATCH_LEN, end, len(tail))
    match_len = 2
    while match_len < limit and context[end - 1 - match_len] == tail[-1 - match_len]:
        match_len += 1
    return match_len
