from hypothesis import given
from hypothesis import strategies as st

from goose_lsp.draft.baselines.occurrence import Match, OccurrenceIndex

texts = st.lists(st.integers(0, 2), max_size=30)


def scan(text: list[int], tail: list[int], max_len: int) -> Match | None:
    """The rule by brute force: longest first, then from the end of the text backwards."""
    for n in range(min(max_len, len(tail)), 0, -1):
        for start in range(len(text) - n - 1, -1, -1):
            if text[start : start + n] == tail[-n:]:
                return Match(start + n, n)
    return None


@given(texts, st.integers(2, 6))
def test_the_longest_match_is_the_one_a_scan_finds(text: list[int], max_len: int) -> None:
    assert OccurrenceIndex(text).longest(text, max_len) == scan(text, text, max_len)


@given(texts, texts, st.integers(2, 6))
def test_a_foreign_tail_is_found_as_by_a_scan(
    text: list[int], tail: list[int], max_len: int
) -> None:
    assert OccurrenceIndex(text).longest(tail, max_len) == scan(text, tail, max_len)


@given(st.lists(texts, max_size=4))
def test_growing_in_pieces_is_the_same_as_at_once(pieces: list[list[int]]) -> None:
    grown = OccurrenceIndex()
    for piece in pieces:
        grown.extend(piece)
    whole = [token for piece in pieces for token in piece]
    assert grown.token_ids == whole
    assert grown.longest(whole, 8) == OccurrenceIndex(whole).longest(whole, 8)


def test_the_end_of_the_text_does_not_match_itself() -> None:
    assert OccurrenceIndex([1, 2, 3]).longest([2, 3], 8) is None


def test_occurrences_come_most_recent_first() -> None:
    index = OccurrenceIndex([1, 2, 5, 1, 2, 6, 1, 2])
    assert list(index.matches([1, 2], 8)) == [Match(5, 2), Match(2, 2)]
    assert index.after_token([2]) == [2, 5]
    assert index.after_pair([2]) == ()
