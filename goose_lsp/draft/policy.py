"""What decoding needs of a drafter, and what drafters keep between requests."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from goose_lsp.draft.accept import Acceptance
from goose_lsp.draft.bigrams import AdjacencyTable
from goose_lsp.draft.candidates import Cells, new_cells
from goose_lsp.draft.recall import MAX_MATCH_LEN, NO_TOKEN, Recall
from goose_lsp.draft.tree import DraftTree, chain


class Policy(Protocol):
    """Drafts for one request."""

    def extend(self, token_ids: Sequence[int]) -> None:
        """Take tokens that are now part of the context."""
        ...

    def draft(self, max_nodes: int, max_depth: int) -> DraftTree:
        """A tree whose root is the context's last token, of at most `max_nodes` further nodes."""
        ...

    def learn(self, tree: DraftTree, acceptance: Acceptance) -> None:
        """See what the target did with a draft, before the context grows."""
        ...


@dataclass(slots=True)
class PlainPolicy:
    """No drafts: one token per pass."""

    last_token: int = -1

    def extend(self, token_ids: Sequence[int]) -> None:
        if token_ids:
            self.last_token = token_ids[-1]

    def draft(self, max_nodes: int, max_depth: int) -> DraftTree:
        del max_nodes, max_depth
        return chain(self.last_token, [])

    def learn(self, tree: DraftTree, acceptance: Acceptance) -> None:
        pass


@dataclass(slots=True)
class Memory:
    """What drafting has learned of one model; survives requests. `extras` are baselines' own."""

    table: AdjacencyTable = field(default_factory=AdjacencyTable)
    cells: Cells = field(default_factory=new_cells)
    earlier: Recall = field(
        default_factory=Recall
    )  # what earlier requests held that the present one lacks
    extras: dict[str, object] = field(default_factory=dict)
    _context: list[int] = field(default_factory=list)
    _known: deque[int] = field(default_factory=lambda: deque(maxlen=64))

    def begin(self, prompt_ids: Sequence[int]) -> None:
        """A request begins: what the last one held beyond their common start becomes an earlier text."""
        n = 0
        for old, new in zip(self._context, prompt_ids, strict=False):
            if old != new:
                break
            n += 1
        # A few shared tokens lead into it, so that a match finds the place.
        lost = self._context[max(0, n - MAX_MATCH_LEN) :] if n < len(self._context) else []
        # Asked again and answered alike: known already.
        digest = hash(tuple(lost))
        if lost and digest not in self._known:
            self.earlier.extend([*lost, NO_TOKEN])
            self._known.append(digest)
        self._context = list(prompt_ids)

    def go_on(self, token_ids: Sequence[int]) -> None:
        """The request's context has grown."""
        self._context.extend(token_ids)


IsFinal = Callable[[int], bool]  # whether nothing is drafted after a token
