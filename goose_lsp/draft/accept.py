"""Walking down the tree while the draft and the target agree."""

from collections.abc import Sequence
from dataclasses import dataclass

from goose_lsp.draft.tree import DraftTree


@dataclass(frozen=True, slots=True)
class Acceptance:
    nodes: tuple[int, ...]  # accepted draft nodes in order of depth, root left out
    bonus_token: int  # the target's own choice after the last accepted node


def accept_greedy(tree: DraftTree, choices: Sequence[int]) -> Acceptance:
    """Follow the target's choice after every node; `choices[i]` is what it wants after node i.

    Siblings differ, so at most one child carries the choice and the walk is unique.
    """
    children = dict(
        zip(zip(tree.parents, tree.token_ids, strict=True), range(len(tree)), strict=True)
    )
    nodes: list[int] = []
    node = 0
    while (child := children.get((node, choices[node]))) is not None:
        nodes.append(child)
        node = child
    return Acceptance(tuple(nodes), choices[node])
