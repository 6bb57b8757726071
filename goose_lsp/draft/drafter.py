"""The policy `goose`: copies and adjacency, priced by learned estimates, grown into one tree."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from goose_lsp.draft.accept import Acceptance, accept_greedy
from goose_lsp.draft.bigrams import AdjacencyTable
from goose_lsp.draft.budget import best_n_nodes
from goose_lsp.draft.candidates import Scratch, Sources, new_scratch
from goose_lsp.draft.growth import Grown, grow, learn, new_grown
from goose_lsp.draft.policy import Memory
from goose_lsp.draft.recall import NO_TOKEN, Recall
from goose_lsp.draft.store import StoreView, empty_view
from goose_lsp.draft.tree import DraftTree, Origin

# Deeper than any copy that pays; bounds the work per step.
MAX_DEPTH = 64
# Nodes of a draft, at most.
MAX_NODES = 95


@dataclass(slots=True)
class Drafter:
    """Drafts for one request; the memory outlives it."""

    memory: Memory
    end_ids: Collection[int]  # tokens after which nothing is drafted
    # T for 1, 2, … nodes: the budget maximises tokens per ms. Empty: all of `max_nodes` is spent.
    cost_table: Sequence[float] = ()
    use_copies: bool = True
    use_table: bool = True
    store: StoreView = field(default_factory=empty_view)  # the workspace at the request's start
    context: Recall = field(default_factory=Recall)
    _bridge: Recall = field(default_factory=Recall)
    _grown: Grown = field(default_factory=lambda: new_grown(MAX_NODES))
    _scratch: Scratch = field(default_factory=new_scratch)

    def extend(self, token_ids: Sequence[int]) -> None:
        """Take tokens that are now part of the context."""
        if not len(self.context):
            self.memory.begin(token_ids)
        else:
            self.memory.go_on(token_ids)
        self.context.extend(token_ids)

    def bridge(self, texts: Iterable[Sequence[int]]) -> None:
        """Take places of the store as they read in the prompt's own tokens, which end at the cursor."""
        for text in texts:
            self._bridge.extend([*text, NO_TOKEN])

    def draft(self, max_nodes: int, max_depth: int) -> DraftTree:
        """A tree for the context, whose last token is its root."""
        grown = self._grown
        limits = (min(max_nodes, MAX_NODES), min(max_depth, MAX_DEPTH))
        if self.cost_table:
            limits = (min(limits[0], len(self.cost_table) - 1), limits[1])
        n = grow(self._sources(), self.memory.cells, self._finals(), limits, grown, self._scratch)
        if self.cost_table:
            n = 1 + best_n_nodes(grown.values[1:n].tolist(), self.cost_table)
        return spine_first(grown, n)

    def learn(self, tree: DraftTree, acceptance: Acceptance) -> None:
        """Score every source at every node the walk visited; call before the context grows."""
        accepted = [tree.token_ids[node] for node in acceptance.nodes]
        truth = np.array([*accepted, acceptance.bonus_token], np.int32)
        learn(self._sources(), self.memory.cells, truth, self._grown, self._scratch)

    def _sources(self) -> Sources:
        memory = self.memory
        return Sources(
            self.context.text,
            memory.earlier.text,
            self._bridge.text,
            self.store,
            memory.table.rows,
            self.use_copies,
            self.use_table,
        )

    def _finals(self) -> npt.NDArray[np.int64]:
        return np.array(sorted(self.end_ids), np.int64)


def spine_first(grown: Grown, n: int) -> DraftTree:
    """The first n nodes as a tree whose longest all-copied path comes directly after the root.

    Laid so, accepting only the spine leaves the KV rows where they already are.
    """
    tokens, parents, depths, is_copied = (column[:n].tolist() for column in grown[:4])
    spine = _spine(parents, depths, is_copied)
    on_spine = set(spine)
    order = [0, *spine, *(node for node in range(1, n) if node not in on_spine)]
    place = {node: i for i, node in enumerate(order)}
    place[-1] = -1
    origins = [Origin.SPINE if copied else Origin.BRANCH for copied in is_copied]
    origins[0] = Origin.MODEL
    return DraftTree(
        tuple(tokens[node] for node in order),
        tuple(place[parents[node]] for node in order),
        tuple(origins[node] for node in order),
    )


def _spine(parents: list[int], depths: list[int], is_copied: list[bool]) -> list[int]:
    """Nodes of the deepest path from the root made of copied tokens alone, in order of depth."""
    deepest, on_trunk = 0, {0}
    for node in range(1, len(parents)):
        if is_copied[node] and parents[node] in on_trunk:
            on_trunk.add(node)
            if depths[node] > depths[deepest]:
                deepest = node
    spine: list[int] = []
    while deepest > 0:
        spine.append(deepest)
        deepest = parents[deepest]
    spine.reverse()
    return spine


def warm_up() -> None:
    """Compile, or fetch from disk, all kernels of drafting: one step of the smallest kind."""
    drafter = Drafter(Memory(AdjacencyTable(k=1, max_pairs=1, max_tokens=1)), end_ids=(0,))
    drafter.extend([1, 2, 1])
    row = np.ones((1, 1))
    drafter.memory.table.harvest([1], [2], row.astype(np.int64), row.astype(np.float32))
    tree = drafter.draft(2, 2)
    drafter.learn(tree, accept_greedy(tree, [2] * len(tree)))
