"""The draft as it is verified: a rooted tree of token ids."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import numpy.typing as npt


class Origin(IntEnum):
    """Who proposed a node; the root and the bonus token are the target's own."""

    MODEL = 0
    SPINE = 1
    BRANCH = 2


@dataclass(frozen=True, slots=True)
class DraftTree:
    """Node 0 is the root, the last committed token. Parents come before children, siblings differ."""

    token_ids: tuple[int, ...]
    parents: tuple[int, ...]  # parents[0] is -1
    origins: tuple[Origin, ...] = ()  # empty: unknown

    def __post_init__(self) -> None:
        if len(self.token_ids) != len(self.parents):
            raise ValueError(f"{len(self.token_ids)} tokens but {len(self.parents)} parents")
        if not self.parents or self.parents[0] != -1:
            raise ValueError("node 0 must be the root")
        for node, parent in enumerate(self.parents[1:], start=1):
            if not 0 <= parent < node:
                raise ValueError(f"node {node} has parent {parent}; parents come first")
        edges = set(zip(self.parents, self.token_ids, strict=True))
        if len(edges) < len(self.parents):
            raise ValueError("two siblings carry the same token")
        if self.origins and len(self.origins) != len(self.parents):
            raise ValueError(f"{len(self.parents)} nodes but {len(self.origins)} origins")

    def __len__(self) -> int:
        return len(self.token_ids)

    @property
    def is_chain(self) -> bool:
        """Whether every node's parent is the node before it, so that plain causal attention is right."""
        return all(parent == node - 1 for node, parent in enumerate(self.parents))

    def depths(self) -> list[int]:
        """Edges between each node and the root."""
        depths = [0] * len(self.parents)
        for node, parent in enumerate(self.parents[1:], start=1):
            depths[node] = depths[parent] + 1
        return depths

    def ancestor_mask(self) -> npt.NDArray[np.bool_]:
        """[N, N]: row i is True at i and at every ancestor of i."""
        mask = np.eye(len(self.parents), dtype=np.bool_)
        for node, parent in enumerate(self.parents[1:], start=1):
            mask[node] |= mask[parent]
        return mask

    def path(self, node: int) -> list[int]:
        """Nodes from the root's child down to `node`, the root left out."""
        return list(reversed(list(self._upwards(node))))

    def _upwards(self, node: int) -> Iterator[int]:
        while node > 0:
            yield node
            node = self.parents[node]


def chain(root: int, token_ids: Sequence[int], origin: Origin = Origin.SPINE) -> DraftTree:
    """A tree without branches."""
    n = len(token_ids)
    return DraftTree((root, *token_ids), tuple(range(-1, n)), (Origin.MODEL, *[origin] * n))
