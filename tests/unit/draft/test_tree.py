import pytest
from hypothesis import given
from hypothesis import strategies as st

from goose_lsp.draft.tree import DraftTree, chain
from tests.strategies import trees


def test_a_child_before_its_parent_is_refused() -> None:
    with pytest.raises(ValueError, match="node 1 has parent 2"):
        DraftTree((1, 2, 3), (-1, 2, 0))


def test_two_siblings_with_one_token_are_refused() -> None:
    with pytest.raises(ValueError, match="two siblings"):
        DraftTree((1, 2, 2), (-1, 0, 0))


def test_a_tree_without_a_root_is_refused() -> None:
    with pytest.raises(ValueError, match="root"):
        DraftTree((), ())


@given(trees())
def test_every_node_sees_exactly_its_own_path(tree: DraftTree) -> None:
    mask = tree.ancestor_mask()
    for node in range(len(tree)):
        seen = {i for i in range(len(tree)) if mask[node, i]}
        assert seen == {0, *tree.path(node)}


@given(trees())
def test_depth_is_the_length_of_the_path(tree: DraftTree) -> None:
    assert tree.depths() == [len(tree.path(node)) for node in range(len(tree))]


@given(st.lists(st.integers(0, 9), max_size=6))
def test_a_chain_is_a_chain_and_other_shapes_are_not(token_ids: list[int]) -> None:
    assert chain(5, token_ids).is_chain
    assert not DraftTree((1, 2, 3), (-1, 0, 0)).is_chain
