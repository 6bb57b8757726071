from goose_lsp.draft.accept import accept_greedy
from goose_lsp.draft.baselines.ranks import RankRates
from goose_lsp.draft.baselines.sam_switch import SamSwitch
from goose_lsp.draft.baselines.token_recycling import TokenRecycling
from goose_lsp.draft.tree import DraftTree, Origin
from tests.drafts import never, table_of


def draft(context: list[int], budget: int = 60, max_nodes: int = 60) -> DraftTree:
    table = table_of({context[-1]: [90, 91]})
    policy = SamSwitch(TokenRecycling(table, RankRates(), never, budget))
    policy.extend(context)
    return policy.draft(max_nodes, 99)


FIVE = [1, 2, 3, 4, 5]


def test_five_matched_tokens_copy_and_four_do_not() -> None:
    assert draft([*FIVE, 6, 7, *FIVE]).token_ids == (5, 6, 7, *FIVE)
    four = draft([*FIVE, 6, 7, *FIVE[1:]])
    assert four.token_ids == (5, 90, 91)
    assert set(four.origins[1:]) == {Origin.BRANCH}


def test_a_copy_has_no_branches_and_at_most_forty_tokens() -> None:
    context = [*FIVE, *range(100, 160), *FIVE]
    tree = draft(context)
    assert tree.is_chain
    assert tree.token_ids[1:] == tuple(range(100, 140))
    assert set(tree.origins[1:]) == {Origin.SPINE}


def test_both_budgets_shorten_a_copy() -> None:
    context = [*FIVE, *range(100, 160), *FIVE]
    assert len(draft(context, budget=3)) == len(draft(context, max_nodes=3)) == 4


def test_the_table_keeps_learning_while_copies_are_drafted() -> None:
    rates = RankRates()
    table = table_of({5: [90, 6], 6: [91]})
    policy = SamSwitch(TokenRecycling(table, rates, never, 9))
    policy.extend([*FIVE, 6, 7, *FIVE])
    before = rates.rates(2)[1]
    tree = policy.draft(9, 9)
    policy.learn(tree, accept_greedy(tree, [6, 8, 0, 0, 0, 0, 0, 0]))
    assert rates.rates(2)[1] > before
