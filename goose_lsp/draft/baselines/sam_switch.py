"""Copy or table, never both, in the manner of SAM-Decoding (Hu et al., 2024).

A long enough match of the context's tail gives a chain of copied tokens; otherwise token recycling
drafts a tree. The longest match is found with an index of pairs instead of a suffix automaton.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from goose_lsp.draft.accept import Acceptance
from goose_lsp.draft.baselines.builder import Limits, TreeBuilder
from goose_lsp.draft.baselines.occurrence import OccurrenceIndex
from goose_lsp.draft.baselines.token_recycling import TokenRecycling
from goose_lsp.draft.tree import DraftTree

MIN_MATCH_LEN = 5
MAX_COPIED = 40
# Occurrences that match further than this count as equal; the most recent is copied.
MAX_MATCH_LEN = 32


@dataclass(slots=True)
class SamSwitch:
    otherwise: TokenRecycling
    index: OccurrenceIndex = field(default_factory=OccurrenceIndex)

    def extend(self, token_ids: Sequence[int]) -> None:
        self.index.extend(token_ids)
        self.otherwise.extend(token_ids)

    def draft(self, max_nodes: int, max_depth: int) -> DraftTree:
        text = self.index.token_ids
        match = self.index.longest(text, MAX_MATCH_LEN)
        if match is None or match.match_len < MIN_MATCH_LEN:
            return self.otherwise.draft(max_nodes, max_depth)
        n_copied = min(MAX_COPIED, max_nodes, self.otherwise.budget)
        builder = TreeBuilder(text[-2:], Limits(n_copied, max_depth, self.otherwise.is_final))
        builder.add_chain(text[match.next_idx : match.next_idx + MAX_COPIED])
        return builder.build()

    def learn(self, tree: DraftTree, acceptance: Acceptance) -> None:
        self.otherwise.learn(tree, acceptance)
