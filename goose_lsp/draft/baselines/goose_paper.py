"""GOOSE with its published rules and constants: an anisotropic tree by fixed shares.

A spine of copied tokens takes a share of the budget that grows with confidence; half of the rest hangs
on it by the harmonic rule, half at the root, and what is left grows breadth first from the branches.
Two things follow decoding instead: the table outlives requests, and it knows the token before a root.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil

from goose_lsp.draft.accept import Acceptance
from goose_lsp.draft.baselines.builder import Limits, TreeBuilder
from goose_lsp.draft.baselines.goose_matcher import MAX_CHAIN, NGRAM_LENGTHS, OldestMatcher
from goose_lsp.draft.bigrams import AdjacencyTable
from goose_lsp.draft.policy import IsFinal
from goose_lsp.draft.tree import DraftTree, Origin

BUDGET = 60  # B, nodes of one tree
MAX_EXTENDED_CHAIN = 100
MAX_BRANCH_DEPTH = 6  # D, depth from which branches are not extended
TOP_K = 10  # K, successors per key
MIN_SCORE = 0.01
SPINE_BRANCH_RATIO = 0.5  # rho, share of the branch budget hung on the spine
LONG_MATCH = 8
EXTENSION_CONFIDENCE = 0.6
EMA_ALPHA = 0.3
EMA_START = 0.5
# (upper edge of the spine-acceptance EMA, base spine ratio)
SPINE_RATIO_TIERS = ((0.2, 0.15), (0.4, 0.30), (float("inf"), 0.50))

Frontier = deque[tuple[int, float]]  # (branch node, its score), first in first out


def match_confidence(n_copyable: int, has_consensus: bool) -> float:
    """c in [0, 1] from the number of tokens one match offers."""
    if n_copyable == 0:
        return 0.0
    if has_consensus:
        return 1.0
    if n_copyable < LONG_MATCH:
        return 0.6 * n_copyable / LONG_MATCH
    return min(0.9, 0.7 + 0.2 * (n_copyable - LONG_MATCH) / (MAX_CHAIN - LONG_MATCH))


def borrowed_budget(budget: int, confidence: float) -> int:
    """B' = B + int(40·c) for B = 60; other budgets borrow the same share, two thirds at most."""
    extra = budget * (MAX_EXTENDED_CHAIN - BUDGET) / BUDGET
    return budget + int(extra * confidence)


def spine_ratio(spine_ema: float, confidence: float) -> float:
    base = next(ratio for edge, ratio in SPINE_RATIO_TIERS if spine_ema < edge)
    return base + confidence * (1.0 - base)


def harmonic_shares(share: int, n_positions: int) -> list[int]:
    """`share` nodes over spine positions 1 … n by weight 1/i, each at least 1 while any are left."""
    total = sum(1.0 / i for i in range(1, n_positions + 1))
    shares: list[int] = []
    n_left = share
    for i in range(1, n_positions + 1):
        shares.append(min(n_left, max(1, int(share / i / total))))
        n_left -= shares[-1]
    return shares


@dataclass(slots=True)
class GoosePaper:
    """Drafts for one request. `budget` is B; a draft has up to B' ≥ B nodes and never more than asked."""

    table: AdjacencyTable
    is_final: IsFinal
    budget: int = BUDGET
    use_confidence: bool = True
    matcher: OldestMatcher = field(default_factory=OldestMatcher)
    spine_ema: float = EMA_START

    def extend(self, token_ids: Sequence[int]) -> None:
        self.matcher.extend(token_ids)

    def draft(self, max_nodes: int, max_depth: int) -> DraftTree:
        """A tree where the table knows the root, else a chain, else nothing."""
        copied, confidence = self._copied()
        builder = TreeBuilder(
            self.matcher.token_ids[-2:], Limits(max_nodes, max_depth, self.is_final)
        )
        # The root is not charged when the spine takes all, so the caller's bound allows one more.
        budget = min(borrowed_budget(self.budget, confidence), max_nodes + 1)
        if self.table.successors(*builder.key(0)) is None:
            builder.add_chain(copied[: max(0, budget)])
        else:
            n_spine = max(0, int(budget * spine_ratio(self.spine_ema, confidence)))
            _SpineTree(self.table, builder, budget).grow(copied[:n_spine])
        return builder.build()

    def learn(self, tree: DraftTree, acceptance: Acceptance) -> None:
        """Follow the share of spine nodes accepted; drafts without a spine tell nothing about it."""
        n_spine = tree.origins.count(Origin.SPINE)
        if n_spine:
            n_accepted = sum(tree.origins[node] is Origin.SPINE for node in acceptance.nodes)
            self.spine_ema += EMA_ALPHA * (n_accepted / n_spine - self.spine_ema)

    def _copied(self) -> tuple[list[int], float]:
        """The chain offered by the matcher, extended where it is trusted, and the confidence in it."""
        tail = self.matcher.token_ids[-NGRAM_LENGTHS[0] :]
        copied = self.matcher.match(tail)
        if not self.use_confidence:
            return copied, 0.0
        confidence = match_confidence(len(copied), self.matcher.has_consensus(tail))
        if confidence > EXTENSION_CONFIDENCE:
            copied = extended(copied, confidence, self.matcher)
        return copied, confidence


def extended(copied: list[int], confidence: float, matcher: OldestMatcher) -> list[int]:
    """Match again behind the copy until int(100·c) tokens are reached or nothing matches.

    Full confidence needs consensus all along: the first piece without it is the last.
    """
    target_len = int(MAX_EXTENDED_CHAIN * confidence)
    chain = list(copied)
    n_max = NGRAM_LENGTHS[0]
    while len(chain) < target_len:
        tail = [*matcher.token_ids[-n_max:], *chain[-n_max:]][-n_max:]
        piece = matcher.match(tail)
        chain += piece
        if not piece or (confidence == 1.0 and not matcher.has_consensus(tail)):
            break
    return chain[:target_len]


@dataclass(slots=True)
class _SpineTree:
    """The published Algorithm 1. `budget` is B', root included."""

    table: AdjacencyTable
    builder: TreeBuilder
    budget: int
    frontier: Frontier = field(default_factory=deque)

    def grow(self, copied: Sequence[int]) -> None:
        spine = self.builder.add_chain(copied)
        n_branches = max(0, self.budget - 1 - len(spine))
        share = max(1, int(n_branches * SPINE_BRANCH_RATIO)) if spine and n_branches else 0
        widths = [n_branches - share, *harmonic_shares(share, len(spine))]
        for node, following, width in zip([0, *spine], [*spine, None], widths, strict=True):
            self._attach(node, width, skip=following)
        self._grow_branches()

    def _grow_branches(self) -> None:
        """Breadth first; a node's width follows its score and shrinks with depth."""
        while self.frontier and (remaining := self.budget - len(self.builder)) > 0:
            node, score = self.frontier.popleft()
            width = max(1, ceil(remaining * score))
            width = min(width, max(1, TOP_K // self.builder.depths[node]), remaining)
            self._attach(node, width, skip=None)

    def _attach(self, node: int, width: int, skip: int | None) -> None:
        """Hang up to `width` successors on `node`, leaving out the token of its child `skip`."""
        if not self.builder.is_open(node):
            return
        skipped = None if skip is None else self.builder.token_ids[skip]
        for token, score in self._scored(node):
            if width <= 0 or score < MIN_SCORE:
                return
            if token == skipped:
                continue
            child = self.builder.add(node, token, Origin.BRANCH)
            if child is None:
                return
            width -= 1
            if self.builder.depths[child] < MAX_BRANCH_DEPTH:
                self.frontier.append((child, score))

    def _scored(self, node: int) -> list[tuple[int, float]]:
        """Successors with scores that sum to 1 over the K values kept, as the paper stores them."""
        successors = self.table.successors(*self.builder.key(node))
        if successors is None:
            return []
        probabilities = successors.probabilities[:TOP_K]
        total = sum(probabilities)
        scores = (probability / total for probability in probabilities)
        return list(zip(successors.token_ids[:TOP_K], scores, strict=True))
