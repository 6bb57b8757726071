"""The adjacency table as ranks: what it lists after a token, and how often each rank is right."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from goose_lsp.draft.accept import Acceptance
from goose_lsp.draft.bigrams import AdjacencyTable
from goose_lsp.draft.tree import DraftTree

PRIOR_STRENGTH = 8.0  # pseudo-trials
# Trials after which a rank's past is halved, so that it follows the text at hand.
MAX_TRIALS = 2000.0
# How often the true token had this rank, single-token keys, on 60 source files; later ranks alike.
PRIOR_RATES = (0.53, 0.086, 0.046, 0.026, 0.023, 0.013, 0.011, 0.009)


def ranked_tokens(table: AdjacencyTable, previous: int, current: int) -> list[int]:
    """The table's successors, best first; none where it knows nothing."""
    successors = table.successors(previous, current)
    return successors.token_ids if successors is not None else []


def visits(
    tree: DraftTree, acceptance: Acceptance, previous: int
) -> Iterator[tuple[int, int, int]]:
    """(previous, current, what the target wanted next) at the root and at every accepted node."""
    current = tree.token_ids[0]
    accepted = (tree.token_ids[node] for node in acceptance.nodes)
    for truth in (*accepted, acceptance.bonus_token):
        yield previous, current, truth
        previous, current = current, truth


@dataclass(slots=True)
class RankRates:
    """The acceptance rate of every rank, learned online from full information.

    Every listed successor of a visited node is a trial, drafted or not.
    """

    _hits: list[float] = field(default_factory=list)
    _trials: list[float] = field(default_factory=list)

    def observe(self, ranked: Sequence[int], truth: int) -> None:
        n_missing = len(ranked) - len(self._hits)
        self._hits += [0.0] * n_missing
        self._trials += [0.0] * n_missing
        for rank, token in enumerate(ranked):
            self._hits[rank] += token == truth
            self._trials[rank] += 1.0
            if self._trials[rank] > MAX_TRIALS:
                self._hits[rank] /= 2
                self._trials[rank] /= 2

    def rates(self, n_ranks: int) -> list[float]:
        """(hits + s·prior) / (trials + s) of ranks [0, n_ranks)."""
        return [self._rate(rank) for rank in range(n_ranks)]

    def _rate(self, rank: int) -> float:
        prior = PRIOR_RATES[min(rank, len(PRIOR_RATES) - 1)]
        if rank >= len(self._hits):
            return prior
        return (self._hits[rank] + PRIOR_STRENGTH * prior) / (self._trials[rank] + PRIOR_STRENGTH)
