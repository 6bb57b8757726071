from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from goose_lsp.draft.recall import MAX_FOLLOWERS, MAX_MATCH_LEN, new_followers
from goose_lsp.draft.segment import ORDER_DEPTH
from goose_lsp.draft.store import (
    DEAD,
    FAR,
    MAX_LOOKED_AT,
    MIN_MATCH_LEN,
    NEAR,
    NEWEST,
    Occurrence,
    StoreView,
    empty_library,
    empty_view,
    find_in_store,
    occurrences,
)
from tests.sources import library_of, tail_of

File = tuple[list[int], int]  # tokens and weight
FILES = st.lists(
    st.tuples(st.lists(st.integers(0, 3), max_size=20), st.sampled_from([DEAD, FAR, NEAR])),
    max_size=5,
)


def view(
    base: Sequence[File] = (), delta: Sequence[File] = (), cursor: tuple[int, int] = (0, 0)
) -> StoreView:
    return StoreView(library_of(*base), library_of(*delta), np.array(cursor, np.int32))


def followers(store: StoreView, tail: Sequence[int]) -> list[tuple[int, int, int]]:
    found = new_followers()
    n = find_in_store(store, *tail_of(tail), found, np.zeros(MAX_FOLLOWERS, np.int64))
    return list(zip(*(column[:n].tolist() for column in found), strict=True))


def places(files: Sequence[File], tail: Sequence[int]) -> list[tuple[int, int, int]]:
    """(follower, match length, weight) of every place that has a follower, by definition."""
    found = []
    for file, weight in files:
        for i in range(1, len(file)):
            n = 0
            while n < min(i, len(tail), MAX_MATCH_LEN) and file[i - 1 - n] == tail[-1 - n]:
                n += 1
            if weight and n:
                found.append((file[i], n, weight))
    return found


@given(FILES, FILES, st.lists(st.integers(0, 3), min_size=1, max_size=30))
def test_the_first_follower_is_that_of_the_longest_match_in_a_living_file(
    base: list[File], delta: list[File], tail: list[int]
) -> None:
    found = followers(view(base, delta), tail)
    all_places = [p for p in places(base, tail) + places(delta, tail) if p[1] >= MIN_MATCH_LEN]
    assert bool(found) == bool(all_places)
    if found:
        longest = max(length for _, length, _ in all_places)
        assert found[0][1] == longest
        score = {
            token: sum(w for t, n, w in all_places if (t, n) == (token, longest))
            for token in range(4)
        }
        assert score[found[0][0]] == max(score.values())


@given(FILES, FILES, st.lists(st.integers(0, 3), min_size=1, max_size=ORDER_DEPTH))
def test_occurrences_come_longest_first_and_can_be_read_from_the_text(
    base: list[File], delta: list[File], tail: list[int]
) -> None:
    store = view(base, delta)
    found = occurrences(store, np.array(tail), len(tail), 64)
    lengths = sorted(
        (min(n, ORDER_DEPTH) for _, n, _ in places(base, tail) + places(delta, tail)), reverse=True
    )
    assert [o.match_len for o in found] == lengths[:64]
    for o in found:
        tokens = (store.delta if o.is_delta else store.base).segment.tokens.tolist()
        assert tokens[o.position - o.match_len : o.position] == tail[len(tail) - o.match_len :]


def test_a_nearer_file_decides_between_equal_matches() -> None:
    far, near = [1, 2, 3], [1, 2, 4]
    assert followers(view([(far, FAR), (far, FAR), (near, NEAR)]), [1, 2])[0] == (4, 2, 1)
    assert followers(view([(far, FAR), (far, FAR), (near, FAR)]), [1, 2])[0] == (3, 2, 2)


def test_what_was_edited_last_wins_over_the_files_on_disk() -> None:
    store = view([([1, 2, 3], NEAR)] * 3, [([1, 2, 4], NEWEST)])
    assert followers(store, [1, 2])[0] == (4, 2, 1)


def test_what_stands_behind_the_cursor_is_not_copied() -> None:
    store = view(delta=[([1, 2, 3, 9, 1, 2, 5], NEWEST)], cursor=(0, 3))
    assert followers(store, [1, 2]) == [(5, 2, 1)]


def test_a_match_beyond_the_sorted_depth_is_still_told_apart() -> None:
    run = list(range(ORDER_DEPTH))
    store = view([([50, *run, 7], FAR), ([51, 52, *run, 8], FAR)])
    assert followers(store, [51, 52, *run])[0] == (8, ORDER_DEPTH + 2, 1)


def test_a_frequent_place_is_sampled_from_end_to_end() -> None:
    store = view([([1, 2, 3], FAR)] * (3 * MAX_LOOKED_AT) + [([1, 2, 4], FAR)] * MAX_LOOKED_AT)
    assert {token for token, _, _ in followers(store, [1, 2])} == {3, 4}


def test_an_empty_store_answers_nothing() -> None:
    assert followers(empty_view(), [1, 2, 3]) == []
    assert occurrences(empty_view(), np.array([1, 2]), 2, 4) == []
    assert len(empty_library().weights) == 0


def test_an_occurrence_says_what_follows() -> None:
    assert occurrences(view([([5, 6, 7], FAR)]), np.array([6]), 1, 4) == [Occurrence(False, 2, 1)]
