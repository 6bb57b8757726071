"""Estimates are learned from what the sources said before they saw the answer."""

from collections.abc import Sequence

from goose_lsp.cancel import CancelToken
from goose_lsp.draft.accept import Acceptance
from goose_lsp.draft.bigrams import AdjacencyTable, Successors
from goose_lsp.draft.tree import DraftTree, chain
from goose_lsp.engine.decode import DecodeLimits, Decoder
from tests.tiny import tiny_target


class WatchingPolicy:
    """Notes what the table says of each root when drafting and when learning."""

    def __init__(self, table: AdjacencyTable) -> None:
        self._table = table
        self._context: list[int] = []
        self.when_drafting: list[Successors | None] = []
        self.when_learning: list[Successors | None] = []

    def extend(self, token_ids: Sequence[int]) -> None:
        self._context.extend(token_ids)

    def draft(self, max_nodes: int, max_depth: int) -> DraftTree:
        del max_nodes, max_depth
        self.when_drafting.append(self._look())
        return chain(self._context[-1], [])

    def learn(self, tree: DraftTree, acceptance: Acceptance) -> None:
        del tree, acceptance
        self.when_learning.append(self._look())

    def _look(self) -> Successors | None:
        return self._table.successors(self._context[-2], self._context[-1])


def test_the_table_is_scored_as_it_was_when_the_draft_was_made() -> None:
    table = AdjacencyTable(k=4)
    policy = WatchingPolicy(table)
    limits = DecodeLimits(12, max_nodes=0, end_ids=frozenset())
    decoder = Decoder(tiny_target(), policy, limits, CancelToken(), table)
    decoder.prefill([1, 2, 3])
    assert len(list(decoder.steps())) == 12
    assert policy.when_learning == policy.when_drafting
    assert policy.when_drafting[0] is None  # the pair before the first root was never scored
