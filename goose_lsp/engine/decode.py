"""Decoding: draft, verify, accept, commit, until something says enough."""

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from time import perf_counter

from goose_lsp.cancel import CancelToken
from goose_lsp.draft.accept import Acceptance, accept_greedy, accept_sampled
from goose_lsp.draft.bigrams import NO_TOKEN, AdjacencyTable
from goose_lsp.draft.policy import Policy
from goose_lsp.draft.tree import DraftTree, Origin, chain
from goose_lsp.engine.forward import Scored
from goose_lsp.engine.opening import Opening
from goose_lsp.engine.sample import Sampling, draw_token
from goose_lsp.engine.verify import Target

log = logging.getLogger(__name__)


@dataclass(slots=True)
class DecodeStats:
    """Counts of one request. n_tokens = n_accepted + n_steps before the end is cut off."""

    n_prompt_tokens: int = 0
    n_prefilled: int = 0
    n_steps: int = 0
    n_drafted: int = 0
    n_accepted: int = 0
    n_tokens: int = 0
    prefill_s: float = 0.0
    decode_s: float = 0.0
    draft_s: float = 0.0  # part of decode_s

    @property
    def mean_accepted_len(self) -> float:
        """Committed tokens per forward pass, bonus included."""
        return (self.n_accepted + self.n_steps) / self.n_steps if self.n_steps else 0.0


@dataclass(frozen=True, slots=True)
class DecodeLimits:
    max_new_tokens: int
    max_nodes: int  # draft budget, root not counted
    end_ids: frozenset[int]  # the text ends before any of these
    n_harvested: int = 512  # prompt tokens, counted from its end, whose successors are remembered


@dataclass(slots=True)
class Decoder:
    """One request's decoding. `steps` yields the committed tokens of every step with their origins.

    The table, when given, learns the target's successors at every prompt position newly computed and at
    every verified node, accepted or rejected.
    """

    target: Target
    policy: Policy
    limits: DecodeLimits
    cancel: CancelToken
    table: AdjacencyTable | None = None
    on_step: Callable[[int, float], None] | None = (
        None  # told nodes and seconds of every verification
    )
    clock: Callable[[], float] = perf_counter
    stats: DecodeStats = field(default_factory=DecodeStats)
    sampling: Sampling | None = None  # None: greedy
    opening: Opening | None = None  # what the text has to begin with, where it is greedy

    def prefill(self, prompt_ids: Sequence[int]) -> None:
        """Bring all but the prompt's last token into the cache; that one is the first tree's root.

        Raises `CancelledError` when asked to stop.
        """
        assert prompt_ids, "a prompt has at least one token"
        started = self.clock()
        self.stats.n_prompt_tokens = len(prompt_ids)
        body = prompt_ids[:-1]
        self.stats.n_prefilled = len(prompt_ids) - self.target.reuse(body)
        n_scored = self.limits.n_harvested if self.table is not None else 0
        for start, scored in self.target.prefill(body, self.cancel, n_scored):
            known = [NO_TOKEN, NO_TOKEN, *body[: start + len(scored.choices)]]
            self._harvest(known[start:-2], known[start + 1 : -1], known[start + 2 :], scored)
        self.policy.extend(prompt_ids)
        self._last = [NO_TOKEN, NO_TOKEN, *body][-2:]
        self.stats.prefill_s = self.clock() - started

    def steps(self) -> Iterator[list[tuple[int, Origin]]]:
        """Decode until an end token, a limit or cancellation (`CancelledError`, between steps)."""
        while (n_left := self._n_left()) > 0:
            self.cancel.check()
            started = self.clock()
            max_nodes = min(self.limits.max_nodes, self._room())
            # The bonus token comes on top of the accepted depth.
            max_depth = n_left - 1 if not self._must_open() else 0
            tree = self._checked(self.policy.draft(max_nodes, max_depth))
            self.stats.draft_s += self.clock() - started
            acceptance = self._step(tree)
            committed = [
                *((tree.token_ids[node], _origin(tree, node)) for node in acceptance.nodes),
                (acceptance.bonus_token, Origin.MODEL),
            ]
            kept = _until_end(committed, self.limits.end_ids)[:n_left]
            self.stats.n_tokens += len(kept)
            self.stats.decode_s += self.clock() - started
            if kept:
                yield kept
            if len(kept) < len(committed):
                return

    def _step(self, tree: DraftTree) -> Acceptance:
        started = self.clock()
        scored = self.target.verify(tree)
        if self.on_step is not None:
            self.on_step(len(tree), self.clock() - started)
        acceptance = self._accept(tree, scored)
        self.target.commit(tree, acceptance.nodes)
        # Before the harvest: afterwards the table holds this step's answers and would score itself on them.
        self.policy.learn(tree, acceptance)
        self._harvest(*self._contexts(tree), scored)
        accepted = [tree.token_ids[node] for node in acceptance.nodes]
        self.policy.extend([*accepted, acceptance.bonus_token])
        self._last = [*self._last, tree.token_ids[0], *accepted][-2:]
        self.stats.n_steps += 1
        self.stats.n_drafted += len(tree) - 1
        self.stats.n_accepted += len(accepted)
        return acceptance

    def _accept(self, tree: DraftTree, scored: Scored) -> Acceptance:
        if self.sampling is None:
            choices = list(scored.choices)
            if self.opening is not None and self._must_open():
                choices[0] = self.opening.choose(scored.top_ids[0].tolist())
            return accept_greedy(tree, choices)
        sampling, row_logits = self.sampling, scored.row_logits
        assert row_logits is not None, "sampling needs a target that shows its logits"
        # Of the token after the root: all before it are cached, the root is not.
        position = self.target.n_cached + 1
        return accept_sampled(
            tree, lambda node, depth: draw_token(row_logits(node), position + depth, sampling)
        )

    def _must_open(self) -> bool:
        return self.opening is not None and bool(self.opening.left) and self.sampling is None

    def _checked(self, tree: DraftTree) -> DraftTree:
        """The draft, or none where it cannot be verified: a broken source must not cost the answer."""
        n_vocab, fault = self.target.n_vocab, ""
        wrong = [token for token in tree.token_ids[1:] if not 0 <= token < n_vocab]
        if wrong:
            fault = f"token {wrong[0]}, outside the vocabulary of {n_vocab}"
        elif len(tree) - 1 > self._room():
            fault = f"{len(tree) - 1} nodes where {self._room()} fit"
        if not fault:
            return tree
        log.warning("%s drafted %s; its draft is dropped", type(self.policy).__name__, fault)
        return chain(tree.token_ids[0], [])

    def _contexts(self, tree: DraftTree) -> tuple[list[int], list[int], Sequence[int]]:
        """For every node the two tokens before it, and its own."""
        previous = [self._last[1], *(tree.token_ids[parent] for parent in tree.parents[1:])]
        before = [self._last[0], *(previous[parent] for parent in tree.parents[1:])]
        return before, previous, tree.token_ids

    def _harvest(
        self, before: list[int], previous: list[int], current: Sequence[int], scored: Scored
    ) -> None:
        if self.table is not None:
            self.table.harvest(
                previous, current, scored.top_ids, scored.top_probabilities, before=before
            )

    def _n_left(self) -> int:
        """Tokens still wanted; 0 too when the cache has no slot for another root."""
        return self.limits.max_new_tokens - self.stats.n_tokens if self._room() >= 0 else 0

    def _room(self) -> int:
        """Draft nodes that still fit into the cache, and into a pass, beside the root."""
        return min(self.target.max_tokens - self.target.n_cached, self.target.max_rows) - 1

    # The two tokens before the next tree's root.
    _last: list[int] = field(default_factory=lambda: [NO_TOKEN, NO_TOKEN])


def _origin(tree: DraftTree, node: int) -> Origin:
    return tree.origins[node] if tree.origins else Origin.BRANCH


def _until_end(
    committed: list[tuple[int, Origin]], end_ids: frozenset[int]
) -> list[tuple[int, Origin]]:
    for i, (token, _) in enumerate(committed):
        if token in end_ids:
            return committed[:i]
    return committed
