from hypothesis import given
from hypothesis import strategies as st

from goose_lsp.draft.accept import accept_greedy
from goose_lsp.draft.tree import DraftTree, chain
from tests.strategies import trees


def test_the_walk_follows_the_choice_into_a_branch() -> None:
    tree = DraftTree((1, 2, 3, 4), (-1, 0, 0, 2))
    acceptance = accept_greedy(tree, choices=[3, 0, 4, 9])
    assert acceptance.nodes == (2, 3)
    assert acceptance.bonus_token == 9


def test_a_root_alone_gives_only_the_bonus_token() -> None:
    assert accept_greedy(chain(1, []), [7]).nodes == ()
    assert accept_greedy(chain(1, []), [7]).bonus_token == 7


@given(trees(n_vocab=3), st.data())
def test_what_is_accepted_is_what_the_target_chose_node_by_node(
    tree: DraftTree, data: st.DataObject
) -> None:
    choices = data.draw(st.lists(st.integers(0, 2), min_size=len(tree), max_size=len(tree)))
    acceptance = accept_greedy(tree, choices)
    node = 0
    for child in acceptance.nodes:
        assert tree.parents[child] == node
        assert tree.token_ids[child] == choices[node]
        node = child
    children = [i for i, parent in enumerate(tree.parents) if parent == node]
    assert acceptance.bonus_token == choices[node]
    assert acceptance.bonus_token not in [tree.token_ids[child] for child in children]
