"""In the manner of SuffixDecoding (Oliaro et al., 2025): trees of continuations by how often they came.

Two texts are searched, the request's own (prompt and output) and past outputs. Every length of the tail
that occurs there makes one candidate tree, grown by count ratios; the one expected to be accepted
furthest is drafted. Counts are those of a suffix tree, taken from lists of occurrences instead.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count, islice

from goose_lsp.draft.accept import Acceptance
from goose_lsp.draft.baselines.builder import Limits, TreeBuilder
from goose_lsp.draft.baselines.occurrence import OccurrenceIndex
from goose_lsp.draft.baselines.past_outputs import PastOutputs
from goose_lsp.draft.policy import IsFinal
from goose_lsp.draft.tree import DraftTree, Origin

MIN_PROBABILITY = 0.1  # of a path; the published default
FACTOR = 1.0  # nodes per matched token; the published default
MAX_MATCH_LEN = 32
# Occurrences counted for one length, the most recent: the ratios need no more.
MAX_OCCURRENCES = 128


@dataclass(slots=True)
class SuffixDecoding:
    """Drafts for one request; `outputs` outlive it."""

    outputs: PastOutputs
    is_final: IsFinal
    budget: int
    factor: float = FACTOR
    index: OccurrenceIndex = field(default_factory=OccurrenceIndex)
    _output: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self._output = self.outputs.begin()

    def extend(self, token_ids: Sequence[int]) -> None:
        if self.index.token_ids:  # the first tokens are the prompt
            self._output.extend(token_ids)
        self.index.extend(token_ids)

    def draft(self, max_nodes: int, max_depth: int) -> DraftTree:
        max_nodes = min(max_nodes, self.budget)
        tail = self.index.token_ids[-MAX_MATCH_LEN:]
        best, best_score = TreeBuilder(tail, Limits(0, 0, self.is_final)), 0.0
        for index in (self.index, self.outputs.index):
            for match_len, after in by_match_len(index, tail):
                size = min(max_nodes, max(1, int(self.factor * match_len)))
                if size <= best_score:  # no path probability exceeds 1, and sizes only fall
                    break
                builder = TreeBuilder(tail, Limits(size, max_depth, self.is_final))
                score = grow_by_count(builder, index.token_ids, after)
                if score > best_score:
                    best, best_score = builder, score
        return best.build()

    def learn(self, tree: DraftTree, acceptance: Acceptance) -> None:
        """Nothing: the counts are all it knows."""


def by_match_len(index: OccurrenceIndex, tail: Sequence[int]) -> Iterator[tuple[int, list[int]]]:
    """(length, indices of what followed the tail's last `length` tokens), longest first.

    Lengths with the same occurrences as a longer one are left out: their tree is a part of its tree.
    """
    matches = list(islice(index.matches(tail, MAX_MATCH_LEN), MAX_OCCURRENCES))
    for match_len in sorted({match.match_len for match in matches}, reverse=True):
        yield match_len, [match.next_idx for match in matches if match.match_len >= match_len]
    after = index.after_token(tail)
    if len(after) > len(matches):
        yield 1, list(after[: -MAX_OCCURRENCES - 1 : -1])


def grow_by_count(builder: TreeBuilder, text: Sequence[int], after: Sequence[int]) -> float:
    """Add the most probable node until none is left above `MIN_PROBABILITY`; returns the sum.

    `after` are the indices at which the occurrences of the root go on. A child's probability is the
    share of its parent's occurrences that go on with it.
    """
    heap: list[tuple[float, int, int, int, list[int]]] = []
    order = count()  # equal probabilities: the more recent occurrence first
    score = 0.0

    def push_children(node: int, probability: float, occurrences: Sequence[int]) -> None:
        for token, going_on in _by_next_token(text, occurrences).items():
            child = probability * len(going_on) / len(occurrences)
            if child >= MIN_PROBABILITY:
                heappush(heap, (-child, next(order), node, token, going_on))

    if builder.is_open(0):
        push_children(0, 1.0, after)
    while heap and builder.n_left > 0:
        negative_probability, _, parent, token, occurrences = heappop(heap)
        node = builder.add(parent, token, Origin.SPINE)
        if node is not None:
            score -= negative_probability
            if builder.is_open(node):
                push_children(node, -negative_probability, occurrences)
    return score


def _by_next_token(text: Sequence[int], occurrences: Sequence[int]) -> dict[int, list[int]]:
    """Next token → where its occurrences go on; ends of texts have none."""
    by_token: dict[int, list[int]] = {}
    for idx in occurrences:
        if idx < len(text) and text[idx] >= 0:
            by_token.setdefault(text[idx], []).append(idx + 1)
    return by_token
