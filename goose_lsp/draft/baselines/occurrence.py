"""Where the last tokens of a text occurred before. Exact: every occurrence is kept and looked at."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Match:
    """A suffix found again."""

    next_idx: int  # where what followed it starts
    match_len: int  # tokens matched before it


class OccurrenceIndex:
    """An index of one text that grows at its end; only occurrences with a following token count.

    Memory: about 100 bytes per token. `longest` costs O(occurrences of the last pair).
    """

    def __init__(self, token_ids: Iterable[int] = ()) -> None:
        self.token_ids: list[int] = []
        self._after_token: dict[
            int, list[int]
        ] = {}  # token → indices of what follows it, ascending
        self._after_pair: dict[tuple[int, int], list[int]] = {}
        self.extend(token_ids)

    def extend(self, token_ids: Iterable[int]) -> None:
        text = self.token_ids
        for token in token_ids:
            n = len(text)
            if n >= 1:
                self._after_token.setdefault(text[-1], []).append(n)
            if n >= 2:
                self._after_pair.setdefault((text[-2], text[-1]), []).append(n)
            text.append(token)

    def after_token(self, tail: Sequence[int]) -> Sequence[int]:
        """Indices of what followed the last token of `tail`, ascending."""
        return self._after_token.get(tail[-1], ()) if tail else ()

    def after_pair(self, tail: Sequence[int]) -> Sequence[int]:
        """Indices of what followed the last two tokens of `tail`, ascending."""
        return self._after_pair.get((tail[-2], tail[-1]), ()) if len(tail) > 1 else ()

    def longest(self, tail: Sequence[int], max_len: int) -> Match | None:
        """The longest suffix of `tail` up to `max_len` ≥ 2 that occurs, most recent among equals."""
        best: Match | None = None
        for match in self.matches(tail, max_len):
            if best is None or match.match_len > best.match_len:
                best = match
                if match.match_len == max_len:
                    return best
        if best is None and (after := self.after_token(tail)):
            return Match(after[-1], 1)
        return best

    def matches(self, tail: Sequence[int], max_len: int) -> Iterator[Match]:
        """Occurrences of at least the last pair of `tail`, most recent first."""
        for next_idx in reversed(self.after_pair(tail)):
            yield Match(next_idx, self._common_suffix_len(next_idx, tail, max_len))

    def _common_suffix_len(self, end: int, tail: Sequence[int], max_len: int) -> int:
        """How many tokens before `end` equal the last ones of `tail`; both are known to share two."""
        text = self.token_ids
        limit = min(max_len, end, len(tail))
        match_len = 2
        while match_len < limit and text[end - 1 - match_len] == tail[-1 - match_len]:
            match_len += 1
        return match_len
