from collections.abc import Mapping, Sequence
from random import Random
from typing import SupportsInt

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goose_lsp.draft.bigrams import NO_TOKEN, PAIR, AdjacencyTable
from goose_lsp.draft.candidates import (
    BELOW_PAIR,
    BELOW_TOKEN,
    BESIDE,
    CONTESTED,
    COUNTED,
    EARLIER,
    EARLIER_SECOND,
    MAX_CANDIDATES,
    MAX_TRIALS,
    N_KINDS,
    N_LENGTHS,
    SECOND,
    SINGLE,
    STORED,
    STORED_SECOND,
    UNANIMOUS,
    Cells,
    Sources,
    gather,
    new_cells,
    new_scratch,
    score,
)
from tests.sources import Found, Rows, gathered, sources_of, store_of, table_of, tail_of


def check_kinds(sources: Sources, tail: Sequence[int], expected: Mapping[int, SupportsInt]) -> None:
    """Every candidate's kind (a copy's) or source (a table token's)."""
    assert {found.token: found.kind for found in gathered(sources, new_cells(), tail)} == expected


def found_of(sources: Sources, tail: Sequence[int], token: int) -> Found:
    return next(found for found in gathered(sources, new_cells(), tail) if found.token == token)


def teach(cells: Cells, sources: Sources, tail: Sequence[int], truths: Sequence[int]) -> None:
    scratch = new_scratch()
    n = gather(sources, cells, *tail_of(tail), scratch)
    for truth in truths:
        score(cells, scratch.found, n, truth)


@pytest.mark.parametrize(
    ("context", "expected"),
    [
        pytest.param([1, 2, 3, 1, 2], {3: SINGLE}, id="seen once"),
        pytest.param([1, 2, 3, 1, 2, 3, 1, 2], {3: UNANIMOUS}, id="seen twice, one follower"),
        pytest.param([1, 2, 3, 1, 2, 4, 1, 2], {4: CONTESTED, 3: SECOND}, id="two followers"),
        pytest.param(
            [7, 1, 2, 3, 1, 2, 4, 7, 1, 2], {3: CONTESTED, 4: SECOND}, id="the longer match leads"
        ),
        pytest.param([2, 3, 9, 2], {3: SINGLE}, id="the last token alone"),
        pytest.param([1, 2], {}, id="nothing seen before"),
    ],
)
def test_a_copy_from_the_context_is_of_the_kind_its_followers_make_it(
    context: list[int], expected: dict[int, int]
) -> None:
    check_kinds(sources_of(context), context, expected)


def test_what_only_earlier_contexts_held_is_of_a_kind_of_its_own() -> None:
    earlier = [1, 2, 3, 1, 2, 4, NO_TOKEN]
    check_kinds(sources_of([1, 2], earlier), [1, 2], {4: EARLIER, 3: EARLIER_SECOND})


def test_a_token_that_both_texts_propose_is_one_candidate_of_the_context() -> None:
    sources = sources_of([1, 2, 3, 1, 2], [1, 2, 3, NO_TOKEN])
    check_kinds(sources, [1, 2], {3: SINGLE})
    alone = found_of(sources_of([1, 2, 3, 1, 2]), [1, 2], 3)
    assert found_of(sources, [1, 2], 3).fine != alone.fine


def test_another_token_of_earlier_contexts_stands_beside_the_contexts_own() -> None:
    sources = sources_of([1, 2, 3, 1, 2], [1, 2, 4, NO_TOKEN])
    check_kinds(sources, [1, 2], {3: SINGLE, 4: EARLIER})
    alone = found_of(sources_of([1, 2], [1, 2, 4, NO_TOKEN]), [1, 2], 4)
    assert found_of(sources, [1, 2], 4).fine != alone.fine


def test_what_only_the_workspace_holds_is_of_a_kind_of_its_own() -> None:
    store = store_of([1, 2, 3], [1, 2, 3], [1, 2, 4])
    check_kinds(
        sources_of([1, 2], store=store, uses_table=False), [1, 2], {3: STORED, 4: STORED_SECOND}
    )


def test_the_longer_of_a_match_in_the_store_and_one_bridged_to_it_is_taken() -> None:
    bridged = [9, 1, 2, 4, NO_TOKEN]
    sources = sources_of([9, 1, 2], bridge=bridged, store=store_of([1, 2, 3]), uses_table=False)
    check_kinds(sources, [9, 1, 2], {4: STORED})
    longer = store_of([8, 9, 1, 2, 3])
    sources = sources_of([8, 9, 1, 2], bridge=bridged, store=longer, uses_table=False)
    check_kinds(sources, [8, 9, 1, 2], {3: STORED})


def test_agreement_of_the_workspace_tells_copies_apart() -> None:
    context = [1, 2, 3, 1, 2]
    cells = {
        found_of(sources_of(context, store=store), [1, 2], 3).fine
        for store in (store_of(), store_of([1, 2, 3]))
    }
    assert len(cells) == 2
    check_kinds(sources_of(context, store=store_of([1, 2, 3])), [1, 2], {3: SINGLE})


def test_what_follows_a_pair_in_the_workspace_fills_up_the_tables() -> None:
    store = store_of([1, 2, 3], [1, 2, 3], [1, 2, 4])
    table = table_of({(1, 2): {3: 0.7}})
    sources = sources_of([1, 2], table=table, store=store)._replace(uses_copies=False)
    check_kinds(sources, [1, 2], {3: PAIR, 4: COUNTED})


def test_how_the_workspace_sees_a_listed_token_decides_its_cell() -> None:
    stores = [
        store_of(),
        store_of([1, 2, 5]),
        store_of([1, 2, 3], *[[1, 2, 5]] * 4),
        store_of([1, 2, 3]),
    ]
    table = table_of({(1, 2): {3: 0.7}})
    cells = [
        found_of(
            sources_of([1, 2], table=table, store=s)._replace(uses_copies=False), [1, 2], 3
        ).fine
        for s in stores
    ]
    assert len(set(cells)) == 4


def test_a_token_copied_and_listed_is_one_copied_candidate() -> None:
    sources = sources_of([1, 2, 3, 1, 2], table=table_of({(1, 2): {3: 0.7, 4: 0.2}}))
    found = gathered(sources, new_cells(), [1, 2])
    assert {(it.token, it.is_copied) for it in found} == {(3, True), (4, False)}


def test_how_the_table_sees_a_copied_token_decides_its_cell() -> None:
    rows: list[Rows] = [
        {},
        {(1, 2): {9: 0.5}},
        {(1, 2): {9: 0.9, 3: 0.05}},
        {(1, 2): {9: 0.5, 3: 0.3}},
        {(1, 2): {3: 0.1}},
        {(1, 2): {3: 0.4}},
        {(1, 2): {3: 0.7}},
        {(1, 2): {3: 0.95}},
    ]
    cells = [
        found_of(sources_of([1, 2, 3, 1, 2], table=table_of(row)), [1, 2], 3).fine for row in rows
    ]
    assert len(set(cells)) == len(rows)


def test_longer_matches_have_other_cells() -> None:
    cells = [
        found_of(sources_of([*match, 9, *match]), match, 9).fine
        for match in ([1, 2], [1, 2, 3], [1, 2, 3, 4])
    ]
    assert len(set(cells)) == 3


# Longest first: a write renews the rows of its shorter contexts too.
TIERS: Rows = {
    (9, 1, 2): {40: 0.6, 30: 0.2},
    (1, 2): {10: 0.5, 20: 0.3, 30: 0.1},
    (2,): {50: 0.5, 20: 0.2},
    (7, 1): {70: 0.6, 50: 0.1},
}


def test_shorter_rows_and_the_row_of_the_token_before_fill_up_the_best_row() -> None:
    at_best: dict[int, SupportsInt] = {40: 2, 30: 2}
    below: dict[int, SupportsInt] = {10: BELOW_PAIR, 20: BELOW_PAIR, 50: BELOW_TOKEN, 70: BESIDE}
    check_kinds(sources_of([9, 1, 2], table=table_of(TIERS)), [9, 1, 2], at_best | below)


def test_a_pairs_row_is_filled_up_by_the_tokens() -> None:
    expected: dict[int, SupportsInt] = {10: 1, 20: 1, 30: 1, 50: BELOW_TOKEN, 70: BESIDE}
    check_kinds(sources_of([1, 2], table=table_of(TIERS)), [1, 2], expected)


def test_without_a_row_for_it_only_the_token_befores_row_speaks() -> None:
    sources = sources_of([1, 2], table=table_of({(1,): {70: 0.6, 60: 0.1}}))
    check_kinds(sources, [1, 2], {70: BESIDE, 60: BESIDE})


def test_a_token_behind_the_best_row_is_less_likely_than_the_same_place_in_it() -> None:
    cells = new_cells()
    table = table_of({(2,): {10: 0.5}, (5, 1): {70: 0.5}})
    fallback = gathered(sources_of([1, 2], table=table), cells, [5, 1, 2])
    assert [found.token for found in fallback] == [10, 70]


def test_switches_leave_out_their_sources() -> None:
    context, table = [1, 2, 3, 1, 2], table_of({(1, 2): {4: 0.6}})
    for uses_copies, uses_table in ((True, True), (True, False), (False, True), (False, False)):
        sources = sources_of(context, [1, 2, 5], table, uses_copies, uses_table)
        tokens = {found.token for found in gathered(sources, new_cells(), context)}
        assert tokens == ({3, 5} if uses_copies else set()) | ({4} if uses_table else set())


def test_no_tail_has_no_candidates() -> None:
    assert gathered(sources_of([1, 2, 1], table=table_of(TIERS)), new_cells(), []) == []


def test_more_proposals_than_there_is_room_for_are_cut() -> None:
    table = AdjacencyTable(k=64)
    wide = np.arange(100, 164)[None]
    shares = np.full((1, 64), 1 / 64, np.float32)
    table.harvest([1], [2], wide, shares)
    table.harvest([5], [1], wide + 100, shares)
    earlier = [token for follower in range(20, 40) for token in (1, 2, follower)]
    context = [*(token for follower in range(40, 60) for token in (1, 2, follower)), 5, 1, 2]
    scratch = new_scratch()
    found = gathered(sources_of(context, earlier, table), new_cells(), context, scratch)
    assert len(found) == len({it.token for it in found}) == MAX_CANDIDATES
    assert sum(it.is_copied for it in found) == 16
    assert {it.token for it in found if not it.is_copied} == set(range(100, 116))


rows = st.dictionaries(
    st.lists(st.integers(0, 3), min_size=1, max_size=3).map(tuple),
    st.dictionaries(st.integers(0, 5), st.floats(0.01, 1.0), min_size=1, max_size=4),
    max_size=8,
)
texts = st.lists(st.integers(0, 3), min_size=1, max_size=40)


def listed(table: AdjacencyTable, tail: Sequence[int]) -> set[int]:
    """What the rows of every length list, and the row of the token before."""
    before, previous, current = (NO_TOKEN, NO_TOKEN, NO_TOKEN, *tail)[-3:]
    looks = [
        table.successors(previous, current, before),
        table.successors(previous, current),
        table.successors(NO_TOKEN, current),
    ]
    if len(tail) > 1:
        before, previous, current = (NO_TOKEN, NO_TOKEN, *tail)[-4:-1]
        looks.append(table.successors(previous, current, before))
    return {token for found in looks if found for token in found.token_ids}


def copied(text: Sequence[int], tail: Sequence[int]) -> set[int]:
    """What followed the last two tokens, or, where they are new, the last time the last one was there."""
    followed = range(1, len(text))
    if len(tail) > 1:
        pairs = {text[i] for i in followed if list(text[max(0, i - 2) : i]) == list(tail[-2:])}
        if pairs:
            return pairs
    return set([text[i] for i in followed if text[i - 1] == tail[-1]][-1:])


@settings(deadline=None, max_examples=200)
@given(texts, texts, rows)
def test_candidates_are_all_that_the_sources_propose_each_once_best_first_and_at_most_certain(
    context: list[int], earlier: list[int], rows: Rows
) -> None:
    table = table_of(rows)
    found = gathered(sources_of(context, earlier, table), new_cells(), context)
    tokens, probabilities = [it.token for it in found], [it.probability for it in found]
    copies = copied(context, context) | copied(earlier, context)
    assert len(tokens) == len(set(tokens))
    assert {it.token for it in found if it.is_copied} == copies
    assert set(tokens) == copies | listed(table, context)
    assert probabilities == sorted(probabilities, reverse=True)
    assert all(p > 0 for p in probabilities)
    assert sum(probabilities) <= 1 + 1e-12


@settings(deadline=None, max_examples=30)
@given(texts, rows, st.lists(st.integers(0, 5), max_size=40))
def test_whatever_is_learned_leaves_probabilities_and_counts_that_can_be(
    context: list[int], rows: Rows, truths: list[int]
) -> None:
    sources, cells = sources_of(context, context, table_of(rows)), new_cells()
    teach(cells, sources, context, truths)
    found = gathered(sources, cells, context)
    assert all(0 < it.probability < 1 for it in found)
    assert sum(it.probability for it in found) <= 1 + 1e-12
    for counts in (cells.copy_coarse, cells.copy_fine, cells.table_coarse, cells.table_fine):
        assert (counts >= 0).all()
        assert (counts[:, 0] <= counts[:, 1]).all()


@pytest.mark.parametrize(
    ("context", "rows"),
    [
        pytest.param([1, 2, 3, 1, 2], {}, id="a copy"),
        pytest.param([8, 1, 2], {(1, 2): {3: 0.3}}, id="a table's token"),
    ],
)
@settings(deadline=None, max_examples=10)
@given(st.integers(0, 10), st.randoms(use_true_random=False))
def test_estimates_approach_the_rate_that_is_seen(
    context: list[int], rows: Rows, n_right: int, random: Random
) -> None:
    sources, cells = sources_of(context, table=table_of(rows)), new_cells()
    truths = [3] * (40 * n_right) + [5] * (40 * (10 - n_right))
    random.shuffle(truths)
    teach(cells, sources, context, truths)
    [found] = gathered(sources, cells, context)
    # (hits + 12 · rough) / (trials + 12), where rough is at most 16 / 416 off.
    assert found.probability == pytest.approx(n_right / 10, abs=0.002)


def test_one_right_answer_raises_and_one_wrong_answer_lowers_an_estimate() -> None:
    sources, context = sources_of([1, 2, 3, 1, 2]), [1, 2]
    first = found_of(sources, context, 3).probability
    for truth, sign in ((3, 1), (9, -1)):
        cells = new_cells()
        teach(cells, sources, context, [truth])
        [found] = gathered(sources, cells, context)
        assert sign * (found.probability - first) > 0


def test_what_a_cell_learns_moves_its_neighbours_less() -> None:
    confirmed, plain = table_of({(1, 2): {3: 0.95}}), table_of({})
    cells, context = new_cells(), [1, 2, 3, 1, 2]
    taught, other = sources_of(context, table=confirmed), sources_of(context, table=plain)
    first = [gathered(it, cells, context)[0].probability for it in (taught, other)]
    teach(cells, taught, context, [9] * 50)
    falls = [
        before - gathered(it, cells, context)[0].probability
        for before, it in zip(first, (taught, other), strict=True)
    ]
    assert falls[0] > falls[1] > 0


def test_a_full_cell_is_halved_and_keeps_its_rate() -> None:
    sources, cells = sources_of([1, 2, 3, 1, 2]), new_cells()
    n = int(MAX_TRIALS)
    teach(cells, sources, [1, 2], [3, 9, 9, 9] * (n // 4))
    full = cells.copy_coarse[cells.copy_coarse[:, 1] > 0].tolist()
    assert full == [[n / 4, n]]
    teach(cells, sources, [1, 2], [9])
    for counts in (cells.copy_coarse, cells.copy_fine):
        [[hits, trials]] = counts[counts[:, 1] > 0].tolist()
        assert trials == (n + 1) / 2
        assert hits / trials == pytest.approx(n / 4 / (n + 1))


def test_after_a_change_of_the_text_a_full_cell_follows() -> None:
    sources, cells = sources_of([1, 2, 3, 1, 2]), new_cells()
    teach(cells, sources, [1, 2], [3] * 20_000)
    teach(cells, sources, [1, 2], [9] * int(2 * MAX_TRIALS))
    [found] = gathered(sources, cells, [1, 2])
    assert found.probability < 0.2


def test_priors_lie_between_never_and_always() -> None:
    cells = new_cells()
    for prior, counts in (
        (cells.copy_prior, cells.copy_coarse),
        (cells.table_prior, cells.table_coarse),
    ):
        assert len(prior) == len(counts)
        assert ((prior > 0) & (prior < 1)).all()


def test_priors_of_copies_rise_on_the_whole_with_the_length_of_the_match() -> None:
    # Measured, so that neighbours may lie the wrong way round.
    for kind in (UNANIMOUS, SINGLE, CONTESTED):
        short, middle, long = np.split(prior_by_length(kind), [4, 10])
        assert short.mean() < middle.mean() < long.mean()


def test_agreeing_occurrences_are_believed_more_than_contradicting_ones() -> None:
    means = [prior_by_length(kind).mean() for kind in (UNANIMOUS, SINGLE, CONTESTED, SECOND)]
    assert means == sorted(means, reverse=True)
    assert prior_by_length(EARLIER).mean() > prior_by_length(EARLIER_SECOND).mean()


def test_a_long_match_is_believed_more_than_a_short_one() -> None:
    probabilities = [
        gathered(sources_of([*range(n), 99, *range(n)]), new_cells(), range(n))[0].probability
        for n in (1, 3, 16)
    ]
    assert probabilities == sorted(probabilities)
    assert probabilities[0] < probabilities[-1]


def prior_by_length(kind: int) -> npt.NDArray[np.float64]:
    return new_cells().copy_prior.reshape(N_KINDS, N_LENGTHS)[kind, 1:]
