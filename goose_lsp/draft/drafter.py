"""The policy `goose`: copies and adjacency, priced by learned estimates, grown into one tree."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from goose_lsp.draft.accept import Acceptance
from goose_lsp.draft.bigrams import NO_TOKEN, AdjacencyTable, Successors
from goose_lsp.draft.budget import best_n_nodes
from goose_lsp.draft.copy_source import MAX_MATCH_LEN, CopySource
from goose_lsp.draft.estimate import Agreement, Cell, Estimator
from goose_lsp.draft.spine import Edge, grow, spine_first
from goose_lsp.draft.tree import DraftTree, Origin

# Deeper than any copy that pays on this kind of budget; bounds the work per step.
MAX_DEPTH = 64


@dataclass(frozen=True, slots=True)
class _Copying:
    """Where a copied node's own continuation starts, and how long the copy has held."""

    next_idx: int
    effective_len: int
    is_unanimous: bool

    def one_further(self) -> "_Copying":
        return _Copying(self.next_idx + 1, self.effective_len + 1, self.is_unanimous)


@dataclass(frozen=True, slots=True)
class _View:
    """The sources' candidates at one node, each with the cell that knows how likely it is."""

    copied: int | None
    copy_cell: Cell | None
    going_on: _Copying | None  # state of the copied token's node
    ranked: list[tuple[int, Cell]]


@dataclass(slots=True)
class Drafter:
    """Drafts for one request; the table and the estimates outlive it."""

    table: AdjacencyTable
    estimator: Estimator
    is_final: Callable[[int], bool]  # tokens after which nothing is drafted
    # T for 1, 2, … nodes: the budget maximises tokens per ms. Empty: all of `max_nodes` is spent.
    cost_table: Sequence[float] = ()
    copies: CopySource = field(default_factory=CopySource)
    context: list[int] = field(default_factory=list)

    def extend(self, token_ids: Sequence[int]) -> None:
        """Take tokens that are now part of the context."""
        self.context.extend(token_ids)
        self.copies.extend(token_ids)

    def draft(self, max_nodes: int, max_depth: int) -> DraftTree:
        """A tree for the context, whose last token is its root."""
        growth = grow(self.context[-1], self, max_nodes, min(max_depth, MAX_DEPTH), self.is_final)
        n_nodes = max_nodes
        if self.cost_table:
            n_nodes = best_n_nodes(growth.values[1:], self.cost_table)
        return spine_first(growth, n_nodes)

    def edges(self, path: list[int], state: object) -> Iterator[Edge]:
        """The copied token and the table's successors in order of estimated acceptance."""
        view = self._view(path, state)
        edges = [Edge(token, cell.estimate(), Origin.BRANCH) for token, cell in view.ranked]
        if view.copied is not None and view.copy_cell is not None:
            probability = view.copy_cell.estimate()
            edges.append(Edge(view.copied, probability, Origin.SPINE, view.going_on))
        edges.sort(key=lambda edge: -edge.probability)
        return iter(edges)

    def learn(self, tree: DraftTree, acceptance: Acceptance) -> None:
        """Score every source at every node the walk visited; call before the context grows."""
        path: list[int] = []
        state: object = None
        for truth in [*(tree.token_ids[n] for n in acceptance.nodes), acceptance.bonus_token]:
            view = self._view(path, state)
            if view.copy_cell is not None:
                view.copy_cell.update(is_hit=view.copied == truth)
            for token, cell in view.ranked:
                cell.update(is_hit=token == truth)
            state = view.going_on if view.copied == truth else None
            path.append(truth)

    def _view(self, path: list[int], state: object) -> "_View":
        """What every source says after the context followed by `path`."""
        tail = self._tail(path)
        copying = state if isinstance(state, _Copying) else self._match(tail)
        copied = self.copies.token_at(copying.next_idx) if copying else None
        successors = self._successors(tail)
        ranked = self._ranked(successors, copied) if successors else []
        if copying is None or copied is None:
            return _View(None, None, None, ranked)
        cell = self._copy_cell(copying, copied, successors)
        return _View(copied, cell, copying.one_further(), ranked)

    def _tail(self, path: list[int]) -> list[int]:
        """The last tokens of context + path, enough for the longest match."""
        missing = MAX_MATCH_LEN - len(path)
        return [*self.context[-missing:], *path] if missing > 0 else path[-MAX_MATCH_LEN:]

    def _match(self, tail: list[int]) -> _Copying | None:
        match = self.copies.match(tail)
        return _Copying(match.next_idx, match.match_len, match.is_unanimous) if match else None

    def _successors(self, tail: list[int]) -> Successors | None:
        return self.table.successors(tail[-2] if len(tail) > 1 else NO_TOKEN, tail[-1])

    def _copy_cell(self, copying: _Copying, copied: int, successors: Successors | None) -> Cell:
        agreement = Agreement.ABSENT
        if successors is not None and copied in successors.token_ids:
            is_top = successors.token_ids[0] == copied
            agreement = Agreement.TOP if is_top else Agreement.LISTED
        return self.estimator.copy_cell(copying.effective_len, copying.is_unanimous, agreement)

    def _ranked(self, successors: Successors, copied: int | None) -> list[tuple[int, Cell]]:
        """The table's candidates, best first, without the token that the copy already proposes."""
        pairs = zip(successors.token_ids, successors.probabilities, strict=True)
        others = [(token, probability) for token, probability in pairs if token != copied]
        cell_of, is_pair, has_copy = (
            self.estimator.table_cell,
            successors.is_pair,
            copied is not None,
        )
        return [
            (token, cell_of(is_pair, rank, probability, has_copy))
            for rank, (token, probability) in enumerate(others)
        ]
