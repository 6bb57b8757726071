from collections import Counter
from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from goose_lsp.draft.counts import (
    MAX_COUNTED,
    MAX_DISTINCT,
    Counts,
    add_counts,
    build_counts,
    count_successors,
    empty_counts,
    new_counted,
)
from goose_lsp.draft.counts import successors as successor_ids
from goose_lsp.draft.recall import NO_TOKEN

TEXT = st.lists(st.integers(-1, 4), max_size=60)


def naive(tokens: Sequence[int]) -> Counter[tuple[int, ...]]:
    triples = zip(tokens, tokens[1:], tokens[2:], strict=False)
    return Counter(t for t in triples if NO_TOKEN not in t)


def as_triples(counts: Counts) -> dict[tuple[int, ...], int]:
    mask = (1 << 21) - 1
    return {
        (int(key) >> 42, int(key) >> 21 & mask, int(key) & mask): int(n)
        for key, n in zip(counts.keys, counts.counts, strict=True)
    }


def successors(base: Counts, delta: Counts, previous: int, current: int) -> list[tuple[int, int]]:
    found = new_counted()
    n = count_successors(base, delta, previous, current, found)
    return list(zip(found.tokens[:n].tolist(), found.counts[:n].tolist(), strict=True))


def counts_of(tokens: Sequence[int]) -> Counts:
    return build_counts(np.array(tokens, np.int32))


@given(TEXT)
def test_every_three_tokens_are_counted_and_none_across_files(tokens: list[int]) -> None:
    counts = counts_of(tokens)
    assert as_triples(counts) == naive(tokens)
    assert successor_ids(counts).tolist() == [following for *_, following in as_triples(counts)]


@given(TEXT, st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60), TEXT), max_size=4))
def test_adding_and_taking_away_equals_counting_anew(
    tokens: list[int], edits: list[tuple[int, int, list[int]]]
) -> None:
    counts = counts_of(tokens)
    for start, end, new in edits:
        counts = add_counts(counts, counts_of(tokens), -1)
        tokens = tokens[:start] + new + tokens[max(start, end) :]
        counts = add_counts(counts, counts_of(tokens))
    fresh = counts_of(tokens)
    assert counts.keys.tolist() == fresh.keys.tolist()
    assert counts.counts.tolist() == fresh.counts.tolist()


@given(TEXT, TEXT, st.integers(-1, 4), st.integers(-1, 4))
def test_successors_are_those_of_the_text_that_is_left(
    text: list[int], gone: list[int], previous: int, current: int
) -> None:
    base = counts_of([*text, NO_TOKEN, *gone])
    delta = add_counts(empty_counts(), counts_of(gone), -1)
    left = {t[2]: n for t, n in naive(text).items() if t[:2] == (previous, current)}
    expected = sorted(left.items(), key=lambda item: (-item[1], item[0]))
    assert successors(base, delta, previous, current) == expected


def test_only_the_most_frequent_successors_are_told_apart_but_all_are_in_the_total() -> None:
    text = [t for token in range(MAX_COUNTED + 4) for t in [100, 101, token] * (token + 1)]
    found = new_counted()
    n = count_successors(counts_of(text), empty_counts(), 100, 101, found)
    assert found.tokens[:n].tolist() == list(range(MAX_COUNTED + 3, 3, -1))
    assert found.total[0] == sum(range(1, MAX_COUNTED + 5))


def test_a_pair_that_anything_follows_says_nothing() -> None:
    text = [t for token in range(MAX_DISTINCT + 1) for t in (5, 6, token + 10, NO_TOKEN)]
    assert successors(counts_of(text), empty_counts(), 5, 6) == []
    assert len(successors(counts_of(text[:-4]), empty_counts(), 5, 6)) == MAX_COUNTED
