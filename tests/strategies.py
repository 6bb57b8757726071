"""What hypothesis draws for more than one test file."""

from hypothesis import strategies as st

from goose_lsp.draft.tree import DraftTree


@st.composite
def trees(
    draw: st.DrawFn, n_vocab: int = 24, max_nodes: int = 12, root: int | None = None
) -> DraftTree:
    """Any valid draft tree; bushy, deep or only a root."""
    token_ids = [draw(st.integers(0, n_vocab - 1)) if root is None else root]
    parents = [-1]
    taken: set[tuple[int, int]] = set()
    for _ in range(draw(st.integers(0, max_nodes))):
        parent = draw(st.integers(0, len(parents) - 1))
        token = draw(st.integers(0, n_vocab - 1))
        if (parent, token) not in taken:
            taken.add((parent, token))
            parents.append(parent)
            token_ids.append(token)
    return DraftTree(tuple(token_ids), tuple(parents))
