from hypothesis import given
from hypothesis import strategies as st

from goose_lsp.draft.baselines.builder import Limits, Tail, TreeBuilder
from goose_lsp.draft.bigrams import NO_TOKEN
from goose_lsp.draft.tree import Origin, chain
from tests.drafts import never


def test_nothing_is_added_beyond_the_number_of_nodes() -> None:
    builder = TreeBuilder([9], Limits(1, 5, never))
    assert builder.add(0, 1, Origin.BRANCH) == 1
    assert builder.add(0, 2, Origin.BRANCH) is None
    assert builder.n_left == 0


def test_a_sibling_with_the_same_token_is_refused_but_a_cousin_is_not() -> None:
    builder = TreeBuilder([9], Limits(5, 5, never))
    assert builder.add(0, 1, Origin.SPINE) == 1
    assert builder.add(0, 1, Origin.BRANCH) is None
    assert builder.add(1, 1, Origin.BRANCH) == 2


def test_a_chain_ends_with_a_final_token() -> None:
    builder = TreeBuilder([9], Limits(5, 5, {2}.__contains__))
    assert builder.add_chain([1, 2, 3]) == [1, 2]
    assert builder.build() == chain(9, [1, 2])


def test_a_final_root_may_be_followed_because_prompts_end_with_control_tokens() -> None:
    builder = TreeBuilder([2], Limits(5, 5, {2}.__contains__))
    assert builder.add(0, 1, Origin.SPINE) == 1


def test_no_depth_means_no_nodes() -> None:
    assert TreeBuilder([9], Limits(5, 0, never)).add_chain([1]) == []


def test_a_key_is_the_token_before_a_node_and_its_own() -> None:
    builder = TreeBuilder([7, 9], Limits(5, 5, never))
    builder.add_chain([1, 2])
    assert [builder.key(node) for node in range(3)] == [(7, 9), (9, 1), (1, 2)]
    assert TreeBuilder([9], Limits(5, 5, never)).key(0) == (NO_TOKEN, 9)


@given(
    st.integers(0, 6),
    st.integers(0, 4),
    st.lists(st.tuples(st.integers(0, 8), st.integers(0, 3))),
)
def test_whatever_is_added_the_tree_stays_legal_and_within_limits(
    max_nodes: int, max_depth: int, edges: list[tuple[int, int]]
) -> None:
    builder = TreeBuilder([3], Limits(max_nodes, max_depth, {0}.__contains__))
    for parent, token in edges:
        if parent < len(builder):
            builder.add(parent, token, Origin.BRANCH)
    tree = builder.build()  # raises where siblings agree
    assert len(tree) <= max_nodes + 1
    assert max(tree.depths()) <= max_depth
    assert all(parent == 0 or tree.token_ids[parent] != 0 for parent in tree.parents[1:])


@given(st.lists(st.lists(st.integers(0, 9)), max_size=5))
def test_the_tail_of_pieces_is_the_tail_of_the_whole(pieces: list[list[int]]) -> None:
    tail = Tail()
    for piece in pieces:
        tail.extend(piece)
    whole = [token for piece in pieces for token in piece]
    assert tail.token_ids == whole[-2:]
    assert tail.previous == (whole[-2] if len(whole) > 1 else NO_TOKEN)
