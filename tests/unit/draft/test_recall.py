from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goose_lsp.draft import recall
from goose_lsp.draft.recall import (
    MAX_FOLLOWERS,
    MAX_MATCH_LEN,
    MAX_OCCURRENCES,
    NO_TOKEN,
    Recall,
    Text,
    append,
    find,
    new_followers,
    new_text,
)
from tests.sources import tail_of

Follower = tuple[int, int, int]  # token, length of its longest match, occurrences


def text_of(token_ids: Sequence[int]) -> Text:
    text = new_text(max(len(token_ids), 1))
    append(text, np.array(token_ids, np.int32))
    return text


def look_up(text: Text, tail: Sequence[int]) -> list[Follower]:
    found = new_followers()
    n = find(text, *tail_of(tail), found)
    tokens, match_lens, counts = (column[:n].tolist() for column in found)
    return list(zip(tokens, match_lens, counts, strict=True))


def match_len(tokens: Sequence[int], position: int, tail: Sequence[int]) -> int:
    """How many tokens before the position equal the tail's last ones."""
    n = 0
    while n < min(position, len(tail), MAX_MATCH_LEN) and tokens[position - 1 - n] == tail[-1 - n]:
        n += 1
    return n


def naive(tokens: Sequence[int], tail: Sequence[int]) -> list[Follower]:
    """What `find` is to answer, the first follower first: every position is compared with the tail."""
    followed = [i for i in reversed(range(1, len(tokens))) if tokens[i] != NO_TOKEN]
    positions = [i for i in followed if match_len(tokens, i, tail) >= 2][:MAX_OCCURRENCES]
    if not positions:
        single = [i for i in followed if match_len(tokens, i, tail) == 1]
        return [(tokens[i], 1, 1) for i in single[:1]]
    best = max(positions, key=lambda i: match_len(tokens, i, tail))
    ordered = dict.fromkeys([tokens[best], *(tokens[i] for i in positions)])
    lens = [(tokens[i], match_len(tokens, i, tail)) for i in positions]
    return [
        (
            token,
            max(n for other, n in lens if other == token),
            sum(other == token for other, _ in lens),
        )
        for token in ordered
    ]


def check(tokens: Sequence[int], tail: Sequence[int], expected: list[Follower]) -> None:
    assert look_up(text_of(tokens), tail) == expected
    assert naive(tokens, tail) == expected


small = st.integers(2, 5).flatmap(lambda n: st.lists(st.integers(0, n - 1), max_size=80))
separated = st.lists(st.integers(NO_TOKEN, 2), max_size=80)
tails = st.lists(st.integers(0, 2), max_size=MAX_MATCH_LEN + 4)


@settings(deadline=None, max_examples=300)
@given(small)
def test_what_followed_a_texts_own_tail_is_what_every_position_compared_would_say(
    tokens: list[int],
) -> None:
    found = look_up(text_of(tokens), tokens)
    assert found[:1] == naive(tokens, tokens)[:1]
    assert sorted(found) == sorted(naive(tokens, tokens))


@settings(deadline=None, max_examples=300)
@given(separated, tails)
def test_any_tail_in_separated_texts_finds_what_every_position_compared_would_say(
    tokens: list[int], tail: list[int]
) -> None:
    found = look_up(text_of(tokens), tail)
    assert found[:1] == naive(tokens, tail)[:1]
    assert sorted(found) == sorted(naive(tokens, tail))


@settings(deadline=None)
@given(separated, st.integers(0, 80))
def test_a_text_added_in_two_pieces_is_the_text_added_at_once(tokens: list[int], cut: int) -> None:
    pieces = new_text(max(len(tokens), 1))
    append(pieces, np.array(tokens[:cut], np.int32))
    append(pieces, np.array(tokens[cut:], np.int32))
    for whole, joined in zip(text_of(tokens), pieces, strict=True):
        np.testing.assert_array_equal(whole, joined)


def test_the_longest_match_comes_first_although_another_is_more_recent() -> None:
    check([7, 1, 2, 3, 9, 1, 2, 4], [7, 1, 2], [(3, 3, 1), (4, 2, 1)])


def test_among_equal_matches_the_most_recent_comes_first() -> None:
    check([1, 2, 3, 1, 2, 4], [1, 2], [(4, 2, 1), (3, 2, 1)])


def test_a_follower_met_again_counts_twice_and_keeps_its_longest_match() -> None:
    check([7, 1, 2, 3, 9, 1, 2, 3], [7, 1, 2], [(3, 3, 2)])


def test_a_match_is_counted_up_to_the_greatest_length_only() -> None:
    token_ids = list(range(MAX_MATCH_LEN + 8))
    tail = token_ids[:-1]
    check(token_ids, tail, [(token_ids[-1], MAX_MATCH_LEN, 1)])


def test_the_end_of_a_text_does_not_match_itself() -> None:
    check([1, 2, 3, 4], [1, 2, 3, 4], [])
    check([5], [5], [])


def test_the_last_token_is_found_alone_where_the_pair_is_new() -> None:
    check([1, 2, 3, 1, 4], [9, 1], [(4, 1, 1)])
    check([1, 2, 3, 1, 4], [1], [(4, 1, 1)])


def test_nothing_is_found_in_an_empty_text_or_behind_an_empty_tail() -> None:
    check([], [1, 2], [])
    check([1, 2, 3], [], [])


def test_a_separator_is_neither_crossed_nor_proposed() -> None:
    check([1, 2, NO_TOKEN, 3, 4], [1, 2], [])
    check([7, NO_TOKEN, 1, 2, 3], [7, 1, 2], [(3, 2, 1)])
    check([1, NO_TOKEN, 2, 3], [1, 2], [(3, 1, 1)])


def test_only_the_most_recent_occurrences_are_compared() -> None:
    long_ago = [9, 8, 1, 2, 5]
    check([*long_ago, *[1, 2, 3] * (MAX_OCCURRENCES - 1)], [9, 8, 1, 2], [(5, 4, 1), (3, 2, 31)])
    check([*long_ago, *[1, 2, 3] * MAX_OCCURRENCES], [9, 8, 1, 2], [(3, 2, MAX_OCCURRENCES)])


def test_more_followers_than_are_told_apart_leave_out_the_oldest() -> None:
    tokens = [token for follower in range(10, 30) for token in (1, 2, follower)]
    assert [token for token, _, _ in look_up(text_of(tokens), [1, 2])] == list(
        range(29, 29 - MAX_FOLLOWERS, -1)
    )


def test_the_longest_match_comes_first_although_its_follower_is_the_ninth() -> None:
    recent = [token for follower in range(10, 10 + MAX_FOLLOWERS) for token in (1, 2, follower)]
    tokens = [5, 6, 7, 8, 1, 2, 3, *recent]
    assert look_up(text_of(tokens), [5, 6, 7, 8, 1, 2])[0] == (3, 6, 1)


def test_later_followers_lie_in_the_order_their_latest_occurrences_were_met() -> None:
    check([7, 1, 2, 3, 1, 2, 4, 1, 2, 5], [7, 1, 2], [(3, 3, 1), (5, 2, 1), (4, 2, 1)])


def test_a_text_of_one_token_repeated_proposes_that_token() -> None:
    tokens = [4] * 100
    check(tokens, tokens, [(4, MAX_MATCH_LEN, MAX_OCCURRENCES)])


def test_every_one_of_many_pairs_is_found_among_collisions() -> None:
    tokens = np.random.default_rng(0).integers(0, 2**31, 1 << 12).tolist()
    text = text_of(tokens)
    assert 2 * len(tokens) <= len(text.pairs)
    for i in range(2, len(tokens)):
        assert look_up(text, tokens[i - 2 : i]) == [(tokens[i], 2, 1)]


def test_tokens_that_share_a_place_of_the_single_table_are_not_mistaken_for_each_other() -> None:
    other = 5 + (1 << 16)
    text = text_of([5, 7, other, 8])
    assert look_up(text, [other]) == [(8, 1, 1)]
    assert look_up(text, [5]) == []


def test_ids_at_the_edge_of_their_type_are_tokens_like_others() -> None:
    edge = 2**31 - 1
    check([edge, edge - 1, edge, edge - 1], [edge, edge - 1], [(edge, 2, 1)])
    check([edge, edge, edge], [edge, edge, edge], [(edge, 2, 1)])


class Watched:
    """A recall beside everything it was ever given."""

    def __init__(self, capacity: int, max_capacity: int) -> None:
        self.recall = Recall(capacity, max_capacity)
        self.given: list[int] = []

    def extend(self, token_ids: Sequence[int]) -> None:
        self.given.extend(token_ids)
        self.recall.extend(token_ids)

    def held(self) -> list[int]:
        held: list[int] = self.recall.text.tokens[: len(self.recall)].tolist()
        return held


@settings(deadline=None, max_examples=200)
@given(
    st.integers(1, 8),
    st.sampled_from([2, 8, 16]),
    st.lists(st.lists(st.integers(0, 3), max_size=8), max_size=12),
)
def test_a_recall_holds_the_latest_tokens_and_finds_in_them_what_a_text_of_them_would(
    capacity: int, max_capacity: int, chunks: list[list[int]]
) -> None:
    watched = Watched(capacity, max_capacity)
    for chunk in chunks:
        watched.extend(chunk[: max_capacity // 2])
        held = watched.held()
        assert held == watched.given[len(watched.given) - len(held) :]
        assert min(len(watched.given), max_capacity // 2) <= len(held) <= max_capacity
        assert sorted(look_up(watched.recall.text, held)) == sorted(naive(held, held))


def test_what_was_forgotten_is_not_found() -> None:
    watched = Watched(4, 8)
    watched.extend([1, 2, 3, 4])
    watched.extend([5, 6, 7, 5])
    assert look_up(watched.recall.text, [1, 2]) == [(3, 2, 1)]
    watched.extend([6])
    assert watched.held() == [5, 6, 7, 5, 6]
    assert look_up(watched.recall.text, [1, 2]) == []
    assert look_up(watched.recall.text, [5, 6]) == [(7, 2, 1)]


def test_more_tokens_at_once_than_there_is_room_for_leave_the_latest_of_them() -> None:
    watched = Watched(4, 16)
    watched.extend(list(range(1000)))
    assert watched.held() == [NO_TOKEN, *range(1000 - 15, 1000)]


def test_a_piece_that_is_cut_does_not_seem_to_follow_what_was_held() -> None:
    watched = Watched(4, 16)
    watched.extend([1, 2])
    watched.extend(list(range(100, 1000)))
    assert look_up(watched.recall.text, [1, 2]) == []


def test_an_odd_capacity_is_not_overrun(monkeypatch: pytest.MonkeyPatch) -> None:
    # Uncompiled: compiled code would write behind the arrays.
    monkeypatch.setattr(recall, "append", append.py_func)
    watched = Watched(3, 3)
    watched.extend([1, 2])
    watched.extend([3, 4])
    assert len(watched.recall) <= 3
