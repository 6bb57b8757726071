"""New tokens: who sees whom, against walking up the tree node by node."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goose_lsp.draft.tree import DraftTree, chain
from goose_lsp.engine.forward import NewTokens
from tests.strategies import trees


def ancestors(tree: DraftTree, node: int) -> list[int]:
    """The node, its parent and so on to the root."""
    return [node] if node == 0 else [node, *ancestors(tree, tree.parents[node])]


@settings(deadline=None)
@given(trees(max_nodes=30))
def test_a_node_sees_itself_and_its_ancestors_and_nobody_else(tree: DraftTree) -> None:
    tokens = NewTokens.of(tree)
    assert len(tokens) == len(tree)
    assert tuple(tokens.token_ids) == tree.token_ids
    for node in range(len(tree)):
        assert np.flatnonzero(tokens.visible[node]).tolist() == sorted(ancestors(tree, node))


@settings(deadline=None)
@given(trees(max_nodes=30))
def test_a_node_lies_as_deep_as_it_has_ancestors(tree: DraftTree) -> None:
    depths = NewTokens.of(tree).depths
    assert depths.tolist() == [len(ancestors(tree, node)) - 1 for node in range(len(tree))]


@settings(deadline=None)
@given(st.lists(st.integers(0, 23), min_size=1, max_size=30))
def test_causal_tokens_are_a_chain(token_ids: list[int]) -> None:
    tokens, same = NewTokens.causal(token_ids), NewTokens.of(chain(token_ids[0], token_ids[1:]))
    assert list(tokens.token_ids) == token_ids
    assert np.array_equal(tokens.visible, same.visible)
    assert np.array_equal(tokens.depths, same.depths)
    for row in range(len(tokens)):
        assert tokens.visible[row].tolist() == [other <= row for other in range(len(tokens))]


@pytest.mark.parametrize("tokens", [NewTokens.causal([1, 2, 3]), NewTokens.of(chain(1, [2, 3]))])
def test_masks_and_depths_have_the_types_kernels_expect(tokens: NewTokens) -> None:
    assert tokens.visible.dtype == np.bool_
    assert tokens.depths.dtype == np.int64


def test_no_tokens_are_no_rows() -> None:
    tokens = NewTokens.causal([])
    assert len(tokens) == 0
    assert tokens.visible.shape == (0, 0)
