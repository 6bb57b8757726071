from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goose_lsp.draft.accept import Acceptance
from goose_lsp.draft.baselines.goose_matcher import OldestMatcher
from goose_lsp.draft.baselines.goose_paper import (
    GoosePaper,
    borrowed_budget,
    extended,
    harmonic_shares,
    match_confidence,
    spine_ratio,
)
from goose_lsp.draft.bigrams import AdjacencyTable
from goose_lsp.draft.tree import DraftTree, Origin, chain
from tests.drafts import never, paths, table_of


def draft(
    context: list[int],
    table: AdjacencyTable,
    *,
    budget: int = 60,
    use_confidence: bool = True,
    max_nodes: int = 200,
    is_final: Callable[[int], bool] = never,
) -> DraftTree:
    policy = GoosePaper(table, is_final, budget, use_confidence)
    policy.extend(context)
    return policy.draft(max_nodes, 200)


@pytest.mark.parametrize(
    ("n_copyable", "has_consensus", "confidence"),
    [
        (0, False, 0.0),
        (3, False, 0.225),
        (8, False, 0.7),
        (14, False, 0.8),
        (20, False, 0.9),
        (0, True, 0.0),
        (1, True, 1.0),
        (20, True, 1.0),
    ],
)
def test_confidence_comes_from_copyable_tokens_or_consensus(
    n_copyable: int, has_consensus: bool, confidence: float
) -> None:
    assert match_confidence(n_copyable, has_consensus) == pytest.approx(confidence)


def test_confidence_borrows_forty_of_sixty_nodes_and_as_much_in_proportion() -> None:
    assert [borrowed_budget(60, c) for c in (0, 0.225, 0.7, 0.9, 1.0)] == [60, 69, 88, 96, 100]
    assert borrowed_budget(15, 1.0) == 25


@pytest.mark.parametrize(
    ("ema", "base"), [(0.0, 0.15), (0.19, 0.15), (0.2, 0.3), (0.39, 0.3), (0.4, 0.5), (1.0, 0.5)]
)
def test_the_spine_share_rises_in_tiers_and_with_confidence(ema: float, base: float) -> None:
    assert spine_ratio(ema, 0.0) == base
    assert spine_ratio(ema, 1.0) == 1.0
    assert spine_ratio(ema, 0.9) == pytest.approx(base + 0.9 * (1 - base))


def test_harmonic_shares_by_hand() -> None:
    assert harmonic_shares(10, 3) == [5, 2, 1]
    assert harmonic_shares(2, 3) == [1, 1, 0]
    assert harmonic_shares(0, 2) == [0, 0]
    assert harmonic_shares(0, 0) == []


@given(st.integers(0, 60), st.integers(1, 60))
def test_shares_never_grow_along_the_spine_nor_exceed_the_budget(share: int, n: int) -> None:
    shares = harmonic_shares(share, n)
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) <= share
    assert 0 not in shares or sum(shares) == share


def test_a_tree_with_a_spine_by_hand() -> None:
    # c = 0: B' = 10, r = .5, so 5 of 6 copied tokens; 4 branches, 2 at the root and 2 on the spine.
    table = table_of({3: [4, 20, 21, 22], 4: [5, 30, 32], 5: [31, 6]})
    tree = draft([1, 2, 3, 4, 5, 6, 1, 2, 3], table, budget=10, use_confidence=False)
    spine = [(4,), (4, 5), (4, 5, 6), (4, 5, 6, 1), (4, 5, 6, 1, 2)]
    assert paths(tree) == [*spine, (20,), (21,), (4, 30), (4, 5, 31)]
    assert tree.origins.count(Origin.SPINE) == 5


def test_without_a_copy_a_pure_table_tree_grows_breadth_first() -> None:
    # Root: 1 and 2. Three nodes remain: ceil(3 · .6) = 2 below 1, then ceil(1 · .4) = 1 below 2.
    table = table_of({9: {1: 0.6, 2: 0.4}, 1: [3, 4, 5], 2: [6, 7]})
    tree = draft([9], table, budget=6)
    assert paths(tree) == [(1,), (2,), (1, 3), (1, 4), (2, 6)]


def test_scores_are_shares_of_what_is_kept() -> None:
    # Kept .02 and .0001: shares .995 and .005, the second below .01.
    assert paths(draft([9], table_of({9: {1: 0.02, 2: 0.0001}}), budget=6)) == [(1,)]
    assert paths(draft([9], table_of({9: {1: 0.004, 2: 0.004}}), budget=6)) == [(1,), (2,)]


def test_branches_end_at_depth_six() -> None:
    tree = draft([0], table_of({t: [t + 1] for t in range(20)}))
    assert paths(tree)[-1] == (1, 2, 3, 4, 5, 6)


def test_a_pair_is_asked_before_a_single_token() -> None:
    assert paths(draft([8, 9], table_of({(8, 9): [1], 9: [2]}), budget=3)) == [(1,)]


def test_full_confidence_is_a_chain_of_the_whole_borrowed_budget_beside_the_root() -> None:
    context = [t % 7 for t in range(60)]
    tree = draft(context, table_of({context[-1]: [20]}))
    assert len(tree) == 101
    assert tree.is_chain
    assert tree.token_ids[1:4] == (4, 5, 6)


def test_the_callers_bound_holds_even_for_a_confident_draft() -> None:
    context = [t % 7 for t in range(60)]
    for max_nodes in (0, 1, 16):
        assert len(draft(context, table_of({3: [20]}), max_nodes=max_nodes)) == max_nodes + 1


def test_without_an_entry_for_the_root_the_copy_is_a_chain_and_without_a_copy_nothing() -> None:
    assert draft([1, 2, 3, 4, 1, 2, 3], table_of({})) == chain(3, [4, 1, 2, 3])
    assert draft([1, 2], table_of({})) == chain(2, [])


def test_a_trusted_copy_is_extended_by_matching_again_behind_it() -> None:
    context = [*range(10), 5, 6, 7, 50, 51, 52, 0, 1, 2]
    matcher = OldestMatcher(context)
    first = matcher.match(context)
    assert first == [*range(3, 10), 5, 6, 7, 50, 51, 52, 0, 1, 2]
    longer = extended(first, 0.9, matcher)
    assert len(longer) == 90
    assert longer[: len(first)] == first
    assert longer[len(first) :][:3] == [3, 4, 5]


def test_full_confidence_ends_with_the_first_piece_that_lacks_consensus() -> None:
    # 1 2 3 was twice followed by 4; behind the first copy only one occurrence matches.
    context = [1, 2, 3, 4, 60, *range(70, 90), 1, 2, 3, 4, 61, 62, 1, 2, 3]
    matcher = OldestMatcher(context)
    first = matcher.match(context)
    assert matcher.has_consensus(context)
    assert len(extended(first, 1.0, matcher)) == len(first) + len(matcher.match(first))


def test_nothing_is_drafted_after_a_final_token() -> None:
    context = [t % 7 for t in range(60)]
    tree = draft(context, table_of({3: [20], 4: [21]}), is_final={5, 20}.__contains__)
    assert all(parent == 0 or tree.token_ids[parent] not in {5, 20} for parent in tree.parents[1:])


def test_the_spine_average_follows_accepted_shares_of_the_spine() -> None:
    policy = GoosePaper(table_of({}), never)
    policy.learn(chain(1, [2, 3, 4, 5]), Acceptance((1,), 9))
    assert policy.spine_ema == pytest.approx(0.7 * 0.5 + 0.3 * 0.25)
    before = policy.spine_ema
    policy.learn(chain(1, [2], Origin.BRANCH), Acceptance((), 9))
    assert policy.spine_ema == before
