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
        tail = self._tail(path)
        copying = self._copying(tail, state)
        successors = self._successors(tail)
        edges = []
        copied = self.copies.token_at(copying.next_idx) if copying else None
        if copying is not None and copied is not None:
            cell = self._copy_cell(copying, copied, successors)
            going_on = _Copying(
                copying.next_idx + 1, copying.effective_len + 1, copying.is_unanimous
            )
            edges.append(Edge(copied, cell.estimate(), Origin.SPINE, going_on))
        if successors is not None:
            ranked = _ranked(successors, copied)
            for rank, (token, probability) in enumerate(ranked):
                cell = self.estimator.table_cell(
                    successors.is_pair, rank, probability, copied is not None
                )
                edges.append(Edge(token, cell.estimate(), Origin.BRANCH))
        edges.sort(key=lambda edge: -edge.probability)
        return iter(edges)

    def learn(self, tree: DraftTree, acceptance: Acceptance) -> None:
        """Score every source at every node the walk visited; call before the context grows."""
        path: list[int] = []
        state: object = None
        for truth in [*(tree.token_ids[n] for n in acceptance.nodes), acceptance.bonus_token]:
            state = self._score(path, state, truth)
            path.append(truth)

    def _score(self, path: list[int], state: object, truth: int) -> object:
        """Update the estimates at one visited node; returns the state of the true child."""
        tail = self._tail(path)
        copying = self._copying(tail, state)
        successors = self._successors(tail)
        copied = self.copies.token_at(copying.next_idx) if copying else None
        next_state: object = None
        if copying is not None and copied is not None:
            self._copy_cell(copying, copied, successors).update(is_hit=copied == truth)
            if copied == truth:
                next_state = _Copying(
                    copying.next_idx + 1, copying.effective_len + 1, copying.is_unanimous
                )
        if successors is not None:
            for rank, (token, probability) in enumerate(_ranked(successors, copied)):
                cell = self.estimator.table_cell(
                    successors.is_pair, rank, probability, copied is not None
                )
                cell.update(is_hit=token == truth)
        return next_state

    def _tail(self, path: list[int]) -> list[int]:
        """The last tokens of context + path, enough for the longest match."""
        missing = MAX_MATCH_LEN - len(path)
        return [*self.context[-missing:], *path] if missing > 0 else path[-MAX_MATCH_LEN:]

    def _copying(self, tail: list[int], state: object) -> _Copying | None:
        if isinstance(state, _Copying):
            return state
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


def _ranked(successors: Successors, copied: int | None) -> list[tuple[int, float]]:
    """The table's candidates, best first, without the token the copy already proposes."""
    pairs = zip(successors.token_ids, successors.probabilities, strict=True)
    return [(token, probability) for token, probability in pairs if token != copied]
