from collections import Counter

from goose_lsp.draft.accept import Acceptance
from goose_lsp.draft.baselines.builder import Limits, TreeBuilder
from goose_lsp.draft.baselines.ranks import RankRates
from goose_lsp.draft.baselines.token_recycling import (
    LEVEL_SIZES,
    StaticTokenRecycling,
    TokenRecycling,
    grow_by_rank,
    static_template,
)
from goose_lsp.draft.tree import chain
from tests.drafts import Rows, never, paths, table_of

# After every token the next eight around a clock of sixteen.
CLOCK: Rows = {t: [(t + step) % 16 for step in range(1, 9)] for t in range(16)}


def depths_and_ranks() -> list[tuple[int, int]]:
    """(depth, first rank) of every template node."""
    found = [(0, -1)]
    for parent, rank in static_template():
        depth, first = found[parent]
        found.append((depth + 1, rank if depth == 0 else first))
    return found[1:]


def test_the_template_has_the_published_level_sizes() -> None:
    levels = Counter(depth for depth, _ in depths_and_ranks())
    assert tuple(levels[depth] for depth in range(1, 7)) == LEVEL_SIZES
    assert sum(LEVEL_SIZES) == 80


def test_low_ranks_are_deep_and_wide_and_high_ranks_thin() -> None:
    below = [[d for d, first in depths_and_ranks() if first == rank] for rank in range(8)]
    assert max(below[0]) == 6
    sizes = [len(depths) for depths in below]
    assert sizes == sorted(sizes, reverse=True)
    assert all(size <= max(depths) for size, depths in zip(sizes[4:], below[4:], strict=True))


def test_a_full_static_tree_has_eighty_nodes_and_a_cut_one_its_budget() -> None:
    for budget, n_nodes in [(100, 80), (80, 80), (12, 12), (0, 0)]:
        policy = StaticTokenRecycling(table_of(CLOCK), never, budget)
        policy.extend([3])
        assert len(policy.draft(200, 20)) == n_nodes + 1
    assert len(policy.draft(200, 20)) == 1


def test_static_cut_keeps_the_most_likely_paths() -> None:
    policy = StaticTokenRecycling(table_of({1: [2, 3], 2: [4], 4: [5]}), never, 3)
    policy.extend([1])
    assert paths(policy.draft(9, 9)) == [(2,), (2, 4), (2, 4, 5)]


def test_keys_are_single_tokens() -> None:
    table = table_of({(9, 1): [7], 1: [2]})
    for policy in (
        StaticTokenRecycling(table, never, 4),
        TokenRecycling(table, RankRates(), never, 4),
    ):
        policy.extend([9, 1])
        assert paths(policy.draft(9, 9)) == [(2,)]


def test_nodes_come_by_product_of_rates() -> None:
    builder = TreeBuilder([1], Limits(4, 9, never))
    grow_by_rank(builder, table_of({1: [2, 3], 2: [4, 5], 4: [6]}), [0.6, 0.5])
    # 2 → .6, 3 → .5, 24 → .36, 25 → .3, 246 → .216
    assert paths(builder.build()) == [(2,), (3,), (2, 4), (2, 5)]


def test_a_better_second_rank_goes_first() -> None:
    builder = TreeBuilder([1], Limits(1, 9, never))
    grow_by_rank(builder, table_of({1: [2, 3]}), [0.1, 0.5])
    assert paths(builder.build()) == [(3,)]


def test_rates_are_learned_from_what_was_not_drafted() -> None:
    rates = RankRates()
    policy = TokenRecycling(table_of({1: [2, 3]}), rates, never, 1)
    policy.extend([1])
    for _ in range(30):
        policy.learn(chain(1, []), Acceptance((), 3))
    assert paths(policy.draft(9, 9)) == [(3,)]


def test_nothing_follows_a_final_token() -> None:
    policy = TokenRecycling(table_of({1: [1]}), RankRates(), {1}.__contains__, 9)
    policy.extend([1])
    assert paths(policy.draft(9, 9)) == [(1,)]
