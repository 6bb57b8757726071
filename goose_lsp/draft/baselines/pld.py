"""Prompt lookup (Saxena, 2023): copy what followed an earlier occurrence of the last tokens."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from goose_lsp.draft.accept import Acceptance
from goose_lsp.draft.baselines.builder import Limits, TreeBuilder
from goose_lsp.draft.baselines.occurrence import OccurrenceIndex
from goose_lsp.draft.policy import IsFinal
from goose_lsp.draft.tree import DraftTree

# What transformers copies at most, and the longest n-gram it looks for is 2 (its defaults in 5.24).
TRANSFORMERS_TOKENS = 10
MAX_MATCH_LEN = 10

Rule = Callable[[OccurrenceIndex], int | None]  # the index at which copying starts


def oldest_bigram(index: OccurrenceIndex) -> int | None:
    """The first occurrence of the last two tokens, else of the last one, as transformers searches."""
    text = index.token_ids
    after = index.after_pair(text) or index.after_token(text)
    return after[0] if after else None


def latest_longest(index: OccurrenceIndex) -> int | None:
    """The most recent occurrence of the longest suffix, counting at most `MAX_MATCH_LEN` tokens."""
    match = index.longest(index.token_ids, MAX_MATCH_LEN)
    return match.next_idx if match else None


@dataclass(slots=True)
class PromptLookup:
    """One chain of at most `max_tokens`, shorter where the context ends."""

    is_final: IsFinal
    rule: Rule
    max_tokens: int
    index: OccurrenceIndex = field(default_factory=OccurrenceIndex)

    def extend(self, token_ids: Sequence[int]) -> None:
        self.index.extend(token_ids)

    def draft(self, max_nodes: int, max_depth: int) -> DraftTree:
        text = self.index.token_ids
        limits = Limits(min(max_nodes, self.max_tokens), max_depth, self.is_final)
        builder = TreeBuilder(text[-2:], limits)
        start = self.rule(self.index)
        if start is not None:
            builder.add_chain(text[start : start + max(0, limits.max_nodes)])
        return builder.build()

    def learn(self, tree: DraftTree, acceptance: Acceptance) -> None:
        """Nothing: where to copy from is all it knows."""
