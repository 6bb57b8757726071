"""Walking down the tree while the draft and the target agree."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from goose_lsp.draft.tree import DraftTree


@dataclass(frozen=True, slots=True)
class Acceptance:
    nodes: tuple[int, ...]  # accepted draft nodes in order of depth, root left out
    bonus_token: int  # the target's own choice after the last accepted node


def accept_greedy(tree: DraftTree, choices: Sequence[int]) -> Acceptance:
    """Follow the target's choice after every node; `choices[i]` is what it wants after node i."""
    return accept_sampled(tree, lambda node, _: choices[node])


def accept_sampled(tree: DraftTree, draw: Callable[[int, int], int]) -> Acceptance:
    """Draw, then look: `draw(node, depth)` says the token after a node, which a child may carry.

    Asked once at every node reached and nowhere else, before the children are looked at: so each token
    follows the target's law whatever the tree. Siblings differ, so the walk is unique.
    """
    children = dict(
        zip(zip(tree.parents, tree.token_ids, strict=True), range(len(tree)), strict=True)
    )
    nodes: list[int] = []
    token = draw(0, 0)
    while (child := children.get((nodes[-1] if nodes else 0, token))) is not None:
        nodes.append(child)
        token = draw(child, len(nodes))
    return Acceptance(tuple(nodes), token)
