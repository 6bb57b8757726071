from hypothesis import given
from hypothesis import strategies as st

from goose_lsp.draft.baselines.goose_matcher import OldestMatcher


def scan(text: list[int]) -> tuple[list[int], bool]:
    """Chain and consensus by looking at every window."""
    for n in (5, 4, 3):
        ends = [end for end in range(n, len(text)) if text[end - n : end] == text[-n:]]
        if ends:
            followers = {text[end] for end in ends}
            return text[ends[0] : ends[0] + 20], len(ends) > 1 and len(followers) == 1
    return [], False


@given(st.lists(st.integers(0, 2), max_size=60))
def test_the_index_says_what_a_scan_says(text: list[int]) -> None:
    matcher = OldestMatcher(text)
    assert (matcher.match(text), matcher.has_consensus(text)) == scan(text)


def test_the_oldest_occurrence_of_the_longest_ngram_is_copied() -> None:
    text = [1, 2, 3, 10, 1, 2, 3, 11, 5, 1, 2, 3, 12, 4, 1, 2, 3]
    assert OldestMatcher(text).match(text)[0] == 10
    assert OldestMatcher(text).match([5, 1, 2, 3])[0] == 12


def test_two_tokens_are_no_match() -> None:
    assert OldestMatcher([1, 2, 3, 1, 2]).match([1, 2]) == []


def test_one_occurrence_is_no_consensus_and_neither_are_two_that_differ() -> None:
    assert not OldestMatcher([1, 2, 3, 4]).has_consensus([1, 2, 3])
    assert OldestMatcher([1, 2, 3, 4, 1, 2, 3, 4]).has_consensus([1, 2, 3])
    assert not OldestMatcher([1, 2, 3, 4, 1, 2, 3, 5]).has_consensus([1, 2, 3])
