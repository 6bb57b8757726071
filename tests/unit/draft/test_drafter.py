import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from goose_lsp.draft.accept import Acceptance
from goose_lsp.draft.bigrams import AdjacencyTable
from goose_lsp.draft.drafter import Drafter
from goose_lsp.draft.estimate import Agreement, Estimator
from goose_lsp.draft.tree import Origin, chain


def drafter(context: list[int], table: AdjacencyTable | None = None) -> Drafter:
    made = Drafter(table or AdjacencyTable(k=4), Estimator(), is_final=lambda token: token == 0)
    made.extend(context)
    return made


def table_with(previous: int, current: int, successors: list[int]) -> AdjacencyTable:
    table = AdjacencyTable(k=4)
    probabilities = np.array([[0.6, 0.2, 0.1, 0.05][: len(successors)]], np.float32)
    table.harvest([previous], [current], np.array([successors]), probabilities)
    return table


def test_a_repeated_stretch_is_copied_as_spine() -> None:
    tree = drafter([1, 2, 3, 4, 5, 6, 1, 2, 3]).draft(max_nodes=3, max_depth=9)
    assert tree.token_ids == (3, 4, 5, 6)
    assert tree.is_chain
    assert set(tree.origins[1:]) == {Origin.SPINE}


def test_without_a_copy_the_table_alone_is_drafted() -> None:
    tree = drafter([8, 9], table_with(8, 9, [3, 4])).draft(max_nodes=2, max_depth=9)
    assert tree.token_ids == (9, 3, 4)
    assert set(tree.origins[1:]) == {Origin.BRANCH}


def test_branches_hang_beside_the_spine() -> None:
    tree = drafter([1, 2, 3, 1, 2], table_with(1, 2, [7, 3])).draft(max_nodes=8, max_depth=9)
    children = {
        token for token, parent in zip(tree.token_ids, tree.parents, strict=True) if parent == 0
    }
    assert children == {3, 7}


def test_an_unknown_context_gives_a_root_alone() -> None:
    assert len(drafter([5]).draft(max_nodes=8, max_depth=9)) == 1


def test_a_cost_table_limits_the_tree() -> None:
    steep = drafter([1, 2, 3, 4, 5, 6, 1, 2, 3])
    steep.cost_table = [1.0, 2.0, 9.0, 9.0]
    assert len(steep.draft(max_nodes=3, max_depth=9)) <= 2


@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=60),
    st.integers(0, 20),
    st.integers(0, 12),
)
def test_any_context_gives_a_tree_within_its_limits(context: list[int], n: int, depth: int) -> None:
    made = drafter(context, table_with(1, 2, [3, 1, 0, 2]))
    tree = made.draft(max_nodes=n, max_depth=depth)
    assert tree.token_ids[0] == context[-1]
    assert len(tree) <= n + 1
    assert max(tree.depths()) <= depth
    assert made.context == context


def test_a_wrong_copy_lowers_trust_in_copies_of_that_length() -> None:
    made = drafter([1, 2, 3, 1, 2])
    cell = made.estimator.copy_cell(2, False, Agreement.ABSENT)
    before = cell.estimate()
    tree = chain(2, [3])
    made.learn(tree, Acceptance((), bonus_token=9))
    assert cell.estimate() < before


def test_every_visited_node_teaches_whether_drafted_or_not() -> None:
    made = drafter([1, 2, 3, 4, 1, 2])
    made.learn(chain(2, [3]), Acceptance((1,), bonus_token=4))
    assert made.estimator.copy_cell(2, False, Agreement.ABSENT).hits == 1
    assert made.estimator.copy_cell(3, False, Agreement.ABSENT).hits == 1
