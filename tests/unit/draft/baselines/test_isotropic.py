from collections import Counter

import pytest

from goose_lsp.draft.baselines.isotropic import Isotropic
from tests.drafts import Rows, never, paths, table_of

# After every token the next eight around a clock of sixteen.
CLOCK: Rows = {t: [(t + step) % 16 for step in range(1, 9)] for t in range(16)}


@pytest.mark.parametrize(
    ("n_children", "budget", "levels"),
    [(3, 60, [3, 9, 27, 21]), (5, 60, [5, 25, 30]), (1, 60, [1, 1, 1, 1, 1, 1]), (3, 2, [2])],
)
def test_levels_fill_one_after_another_six_at_most(
    n_children: int, budget: int, levels: list[int]
) -> None:
    policy = Isotropic(table_of(CLOCK), never, budget, n_children)
    policy.extend([0])
    counts = Counter(policy.draft(99, 99).depths()[1:])
    assert [counts[depth] for depth in sorted(counts)] == levels


def test_a_pair_is_asked_before_a_single_token() -> None:
    policy = Isotropic(table_of({(9, 1): [2, 3], 1: [8], (1, 2): [4], 3: [5]}), never, 9, 2)
    policy.extend([9, 1])
    assert paths(policy.draft(9, 9)) == [(2,), (3,), (2, 4), (3, 5)]


def test_a_final_token_stays_a_leaf() -> None:
    policy = Isotropic(table_of(CLOCK), {1}.__contains__, 9, 1)
    policy.extend([0])
    assert paths(policy.draft(9, 9)) == [(1,)]
