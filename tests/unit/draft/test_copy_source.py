from hypothesis import given
from hypothesis import strategies as st

from goose_lsp.draft.copy_source import MAX_MATCH_LEN, MAX_OCCURRENCES, CopySource

contexts = st.lists(st.integers(0, 3), max_size=MAX_OCCURRENCES)


def naive(context: list[int]) -> tuple[int, int] | None:
    """(length, where the continuation starts) of the longest suffix seen before, latest first."""
    best: tuple[int, int] | None = None
    for next_idx in range(1, len(context)):
        n = 0
        while n < min(next_idx, MAX_MATCH_LEN) and context[next_idx - 1 - n] == context[-1 - n]:
            n += 1
        if n and (best is None or (n, next_idx) > best):
            best = (n, next_idx)
    return best


@given(contexts)
def test_the_longest_and_latest_match_wins(context: list[int]) -> None:
    match = CopySource(context).match(context)
    assert (match and (match.match_len, match.next_idx)) == naive(context)


@given(contexts, contexts)
def test_growing_in_pieces_is_the_same_as_at_once(first: list[int], second: list[int]) -> None:
    source = CopySource(first)
    source.extend(second)
    context = first + second
    assert source.match(context) == CopySource(context).match(context)


def test_occurrences_that_go_on_alike_are_unanimous() -> None:
    alike, unlike = [1, 2, 3, 0, 1, 2, 3, 5, 1, 2], [1, 2, 3, 0, 1, 2, 4, 5, 1, 2]
    for context, expected in ((alike, True), (unlike, False)):
        match = CopySource(context).match(context)
        assert match is not None
        assert match.match_len == 2
        assert match.is_unanimous is expected


def test_one_occurrence_is_not_unanimous() -> None:
    match = CopySource([1, 2, 3, 1, 2]).match([1, 2])
    assert match is not None
    assert not match.is_unanimous


def test_nothing_to_copy_past_the_end() -> None:
    source = CopySource([1, 2])
    assert source.token_at(2) is None
    assert source.match([]) is None
    assert source.match([9]) is None
