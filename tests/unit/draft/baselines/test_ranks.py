import pytest

from goose_lsp.draft.accept import Acceptance
from goose_lsp.draft.baselines.ranks import PRIOR_RATES, RankRates, ranked_tokens, visits
from goose_lsp.draft.bigrams import NO_TOKEN
from goose_lsp.draft.tree import DraftTree
from tests.drafts import table_of


def test_an_unknown_token_has_no_ranks() -> None:
    assert ranked_tokens(table_of({1: [2, 3]}), NO_TOKEN, 1) == [2, 3]
    assert ranked_tokens(table_of({1: [2, 3]}), NO_TOKEN, 2) == []


def test_visits_follow_the_accepted_path_to_the_bonus_token() -> None:
    tree = DraftTree((5, 6, 7, 8), (-1, 0, 0, 2))
    seen = list(visits(tree, Acceptance((2, 3), 9), previous=4))
    assert seen == [(4, 5, 7), (5, 7, 8), (7, 8, 9)]


def test_rates_start_at_their_priors_and_go_on_alike() -> None:
    rates = RankRates().rates(10)
    assert rates[:8] == list(PRIOR_RATES)
    assert rates[8] == rates[9] == PRIOR_RATES[-1]


def test_every_listed_rank_is_a_trial_whether_or_not_it_was_drafted() -> None:
    rates = RankRates()
    for _ in range(8):
        rates.observe([10, 11], truth=11)
    first, second, third = rates.rates(3)
    assert first == pytest.approx(PRIOR_RATES[0] / 2)
    assert second == pytest.approx((PRIOR_RATES[1] + 1) / 2)
    assert third == PRIOR_RATES[2]


def test_a_long_past_gives_way() -> None:
    rates = RankRates()
    for truth in [10] * 4000 + [11] * 2000:
        rates.observe([10], truth)
    assert rates.rates(1)[0] < 0.4
