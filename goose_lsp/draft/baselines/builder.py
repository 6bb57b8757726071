"""A draft tree under construction that cannot break its limits. Knows nothing of any method."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from goose_lsp.draft.bigrams import NO_TOKEN
from goose_lsp.draft.policy import IsFinal
from goose_lsp.draft.tree import DraftTree, Origin


@dataclass(frozen=True, slots=True)
class Limits:
    """What bounds one draft: nodes below the root, their depth, tokens after which nothing follows."""

    max_nodes: int
    max_depth: int
    is_final: IsFinal


class TreeBuilder:
    """Nodes in the order they come, node 0 the context's last token.

    The root itself may be followed whatever it is: a prompt can end with a control token.
    """

    __slots__ = ("_edges", "_limits", "_open", "_previous", "depths", "origins", "parents", "token_ids")  # fmt: skip

    def __init__(self, last_two: Sequence[int], limits: Limits) -> None:
        """`last_two` are the context's last tokens; one is enough."""
        self._limits = limits
        self._previous = last_two[-2] if len(last_two) > 1 else NO_TOKEN
        self.token_ids = [last_two[-1]]
        self.parents = [-1]
        self.origins = [Origin.MODEL]
        self.depths = [0]
        self._open = [limits.max_depth > 0]
        self._edges: set[tuple[int, int]] = set()

    def __len__(self) -> int:
        return len(self.token_ids)

    @property
    def n_left(self) -> int:
        """Nodes that may still be added."""
        return self._limits.max_nodes + 1 - len(self.token_ids)

    def is_open(self, node: int) -> bool:
        """Whether anything may be drafted after `node`."""
        return self._open[node]

    def key(self, node: int) -> tuple[int, int]:
        """(previous, current) token for looking `node` up in the adjacency table."""
        parent = self.parents[node]
        return self._previous if parent < 0 else self.token_ids[parent], self.token_ids[node]

    def add(self, parent: int, token: int, origin: Origin) -> int | None:
        """The new node; None without room, below a closed parent, or where a sibling has this token."""
        if self.n_left <= 0 or not self._open[parent] or (parent, token) in self._edges:
            return None
        depth = self.depths[parent] + 1
        self._edges.add((parent, token))
        self.token_ids.append(token)
        self.parents.append(parent)
        self.origins.append(origin)
        self.depths.append(depth)
        self._open.append(depth < self._limits.max_depth and not self._limits.is_final(token))
        return len(self.token_ids) - 1

    def add_chain(self, token_ids: Iterable[int]) -> list[int]:
        """Lay copied tokens under the root as far as the limits allow; returns their nodes."""
        nodes: list[int] = []
        for token in token_ids:
            node = self.add(nodes[-1] if nodes else 0, token, Origin.SPINE)
            if node is None:
                break
            nodes.append(node)
        return nodes

    def build(self) -> DraftTree:
        return DraftTree(tuple(self.token_ids), tuple(self.parents), tuple(self.origins))


@dataclass(slots=True)
class Tail:
    """The last two tokens of a context: all that a table needs to know of it."""

    token_ids: list[int] = field(default_factory=list)

    def extend(self, token_ids: Sequence[int]) -> None:
        self.token_ids = [*self.token_ids, *token_ids[-2:]][-2:]

    @property
    def previous(self) -> int:
        """The token before the last one, `NO_TOKEN` if there is none."""
        return self.token_ids[-2] if len(self.token_ids) > 1 else NO_TOKEN
