from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goose_lsp.draft.accept import Acceptance, accept_greedy, accept_sampled
from goose_lsp.draft.tree import DraftTree, chain
from tests.laws import check_law
from tests.strategies import trees

N = 6000
Draw = Callable[[int, int], int]
Accept = Callable[[DraftTree, Draw], Acceptance]
# What follows the root, and what follows each token, over twenty tokens.
FIRST = [0.3, 0.2, 0.1, *[0.4 / 17] * 17]
SECOND = [[(1 + (i * j) % 7) for j in range(20)] for i in range(20)]
TREES = {
    "no child": chain(0, []),
    "one likely child": chain(0, [0]),
    "one unlikely child": chain(0, [19]),
    "a chain": chain(0, [0, 1, 2]),
    "some children": DraftTree((0, 0, 5, 19, 3, 4), (-1, 0, 0, 0, 1, 1)),
    "all children": DraftTree((0, *range(20), *range(20)), (-1, *[0] * 20, *[1] * 20)),
}


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


def first_two(tree: DraftTree, random: Random, accept: Accept) -> tuple[int, int]:
    """Two tokens of one decoding: of this step, and where it gave only one, drawn in the next."""

    def draw(node: int, depth: int) -> int:
        law = FIRST if depth == 0 else SECOND[tree.token_ids[node]]
        return random.choices(range(20), law)[0]

    acceptance = accept(tree, draw)
    tokens = [*(tree.token_ids[node] for node in acceptance.nodes), acceptance.bonus_token]
    return tokens[0], (tokens[1:] or random.choices(range(20), SECOND[tokens[0]]))[0]


@pytest.mark.parametrize("tree", TREES.values(), ids=TREES)
def test_the_law_of_the_tokens_is_the_targets_whatever_the_tree(tree: DraftTree) -> None:
    random = Random(1)
    drawn = [first_two(tree, random, accept_sampled) for _ in range(N)]
    check_law([first for first, _ in drawn], dict(enumerate(FIRST)))
    law = {(i, j): FIRST[i] * SECOND[i][j] / sum(SECOND[i]) for i in range(20) for j in range(20)}
    check_law(drawn, law)


def test_trees_made_from_the_past_leave_the_law_alone() -> None:
    """Each tree holds what was drawn last, as drafts that copy do."""
    random = Random(2)
    drawn = [(0, 0)]
    for _ in range(N):
        drawn.append(first_two(chain(0, drawn[-1]), random, accept_sampled))
    check_law([first for first, _ in drawn], dict(enumerate(FIRST)))


def test_a_walk_that_draws_again_when_nothing_fits_would_be_noticed() -> None:
    """Drafted tokens would come too often: the check above can fail."""

    def accept_at_the_second_try(tree: DraftTree, draw: Draw) -> Acceptance:
        first, second = accept_sampled(tree, draw), accept_sampled(tree, draw)
        return first if first.nodes else second

    random = Random(1)
    drawn = [first_two(chain(0, [0]), random, accept_at_the_second_try)[0] for _ in range(N)]
    with pytest.raises(AssertionError):
        check_law(drawn, dict(enumerate(FIRST)))


@given(trees(n_vocab=3), st.data())
def test_only_nodes_that_are_reached_are_drawn_and_each_once(
    tree: DraftTree, data: st.DataObject
) -> None:
    choices = data.draw(st.lists(st.integers(0, 2), min_size=len(tree), max_size=len(tree)))
    asked: list[tuple[int, int]] = []

    def draw(node: int, depth: int) -> int:
        asked.append((node, depth))
        return choices[node]

    acceptance = accept_sampled(tree, draw)
    depths = tree.depths()
    assert asked == [(node, depths[node]) for node in (0, *acceptance.nodes)]
    assert acceptance == accept_greedy(tree, choices)


def test_a_drawn_walk_by_hand() -> None:
    """The root draws 3, which a branch carries; below it 4; then 9, which nobody carries."""
    tree = DraftTree((1, 2, 3, 4), (-1, 0, 0, 2))
    acceptance = accept_sampled(
        tree, lambda node, depth: {(0, 0): 3, (2, 1): 4, (3, 2): 9}[node, depth]
    )
    assert acceptance == Acceptance(nodes=(2, 3), bonus_token=9)
