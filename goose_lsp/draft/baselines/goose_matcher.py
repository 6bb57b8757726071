"""The context matcher of the published GOOSE: oldest occurrence of the last 5, 4 or 3 tokens."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

NGRAM_LENGTHS = (5, 4, 3)  # longest first
MAX_CHAIN = 20  # tokens one match returns


@dataclass(slots=True)
class _Occurrences:
    first_idx: int  # where what followed the oldest one starts
    follower: int
    n: int = 1
    is_unanimous: bool = True  # all were followed by the same token


class OldestMatcher:
    """An index of one context that grows at its end; n-grams without a following token do not count."""

    def __init__(self, token_ids: Iterable[int] = ()) -> None:
        self.token_ids: list[int] = []
        self._found: dict[tuple[int, ...], _Occurrences] = {}
        self.extend(token_ids)

    def extend(self, token_ids: Iterable[int]) -> None:
        text = self.token_ids
        for token in token_ids:
            for n in NGRAM_LENGTHS:
                if n <= len(text):
                    self._index(tuple(text[-n:]), token)
            text.append(token)

    def _index(self, ngram: tuple[int, ...], follower: int) -> None:
        occurrences = self._found.get(ngram)
        if occurrences is None:
            self._found[ngram] = _Occurrences(len(self.token_ids), follower)
        else:
            occurrences.n += 1
            occurrences.is_unanimous &= follower == occurrences.follower

    def match(self, tail: Sequence[int]) -> list[int]:
        """Up to `MAX_CHAIN` tokens that followed the oldest occurrence of the tail's longest n-gram."""
        found = self._longest(tail)
        if found is None:
            return []
        return self.token_ids[found.first_idx : found.first_idx + MAX_CHAIN]

    def has_consensus(self, tail: Sequence[int]) -> bool:
        """Whether that n-gram occurred at least twice, always followed by the same token."""
        found = self._longest(tail)
        return found is not None and found.n >= 2 and found.is_unanimous

    def _longest(self, tail: Sequence[int]) -> _Occurrences | None:
        for n in NGRAM_LENGTHS:
            if n <= len(tail) and (found := self._found.get(tuple(tail[-n:]))) is not None:
                return found
        return None
