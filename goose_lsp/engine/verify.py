"""The target: a model with its cache, seen as token ids in and choices out."""

import logging
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from goose_lsp.cancel import CancelToken
from goose_lsp.draft.tree import DraftTree
from goose_lsp.engine.forward import Forward, NewTokens, Scored
from goose_lsp.engine.kv import KVPool
from goose_lsp.errors import ModelLoadError

log = logging.getLogger(__name__)

# Prompt tokens per pass: large enough for matrix speed, small enough to notice a cancel soon.
PREFILL_CHUNK = 64
# More contexts than this are hardly ever hot; a shorter context than this holds no useful prompt.
MAX_CONTEXTS, MIN_CONTEXT = 8, 512


class Target:
    """Prefill, verify, commit. Used by one thread.

    Slots [0, n_cached) of the context at hand always match `cached_ids`. A tree's root is the last
    committed token and not yet cached: verification computes it as node 0.
    """

    def __init__(
        self, forward: Forward, top_k: int, max_contexts: int = 1, max_tokens: int = 0
    ) -> None:
        """Raises `MemoryError` where the cache of one context does not fit."""
        self.forward = forward
        self.max_tokens = max_tokens or forward.max_tokens
        self.max_rows = forward.max_rows
        self.n_vocab = forward.n_vocab
        self.chunk = PREFILL_CHUNK
        self._top_k = min(top_k, forward.n_vocab)
        self._pool = KVPool(forward, self.max_tokens, max_contexts)
        self._context = self._pool.contexts[0]

    @property
    def n_cached(self) -> int:
        return self._context.n_cached

    @property
    def cached_ids(self) -> Sequence[int]:
        return self._context.token_ids

    @property
    def cache_bytes(self) -> int:
        """What the cache takes when full."""
        return self._pool.n_bytes

    def reuse(self, token_ids: Sequence[int]) -> int:
        """Take the context that shares most with `token_ids` from the start; returns how many tokens."""
        self._context = self._pool.select(token_ids)
        return self.n_cached

    def clear(self) -> None:
        """Forget everything cached."""
        self._pool.clear()

    def occupy(self, n_tokens: int) -> None:
        """Pretend that `n_tokens` are cached, for timing steps; `clear` before real work."""
        self.clear()
        self._context.append([0] * n_tokens)

    def prefill(
        self, token_ids: Sequence[int], cancel: CancelToken, n_scored: int = 0
    ) -> Iterator[tuple[int, Scored]]:
        """Cache the tokens after those already cached, a chunk at a time.

        Yields (index of the first row, scores) for chunks that hold any of the last `n_scored`
        tokens. Raises `CancelledError` between chunks; what was cached until then stays valid.
        """
        first_scored = len(token_ids) - n_scored
        while self.n_cached < len(token_ids):
            cancel.check()
            start = self.n_cached
            chunk = list(token_ids[start : start + self.chunk])
            skip = min(max(0, first_scored - start), len(chunk))
            scored = self._score(NewTokens.causal(chunk), range(skip, len(chunk)))
            self._context.append(chunk)
            if skip < len(chunk):
                yield start + skip, scored

    def verify(self, tree: DraftTree) -> Scored:
        """Score every node in one pass; the rows stay uncommitted until `commit`."""
        return self._score(NewTokens.of(tree), range(len(tree)))

    def commit(self, tree: DraftTree, nodes: Sequence[int]) -> None:
        """Make the root and the accepted nodes of the tree just verified part of the context."""
        token_ids = [tree.token_ids[0], *(tree.token_ids[node] for node in nodes)]
        self._context.compact(nodes, token_ids)

    def logits(self, tree: DraftTree) -> npt.NDArray[np.float32]:
        """[N, vocab] of the tree's nodes, uncommitted: for tests and measurements."""
        self._check_room(len(tree))
        return self.forward.logits(self._context.store, self.n_cached, NewTokens.of(tree))

    def _score(self, tokens: NewTokens, rows: Sequence[int]) -> Scored:
        self._check_room(len(tokens))
        context = self._context
        return self.forward.score(context.store, context.n_cached, tokens, rows, self._top_k)

    def _check_room(self, n: int) -> None:
        if self.n_cached + n > self.max_tokens:
            raise ValueError(f"{self.n_cached} + {n} exceed {self.max_tokens} slots")


def new_target(forward: Forward, top_k: int, cache_bytes: int) -> Target:
    """A target whose cache fits into memory: as many contexts as the bytes allow, at least one.

    Where not even one fits, with a shorter context; raises `ModelLoadError` where that is too short to
    complete anything.
    """
    n_tokens = forward.max_tokens
    while True:
        try:
            size = forward.new_store(n_tokens).n_bytes
            contexts = max(1, min(MAX_CONTEXTS, cache_bytes // size))
            return Target(forward, top_k, contexts, n_tokens)
        except MemoryError:
            if n_tokens <= MIN_CONTEXT:
                raise ModelLoadError(
                    f"no memory for a cache of {n_tokens} tokens; close something or use a smaller model"
                ) from None
            log.warning("no memory for a context of %d tokens; trying half", n_tokens)
            n_tokens = max(MIN_CONTEXT, n_tokens // 2)
