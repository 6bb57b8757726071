"""The target: a model with its cache, seen as token ids in and choices out."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from goose_lsp.cancel import CancelToken
from goose_lsp.draft.tree import DraftTree
from goose_lsp.engine.fast import LlamaForward
from goose_lsp.engine.kv import KVCache
from goose_lsp.engine.model import LlamaWeights

# Prompt tokens per pass: large enough for matrix speed, small enough to notice a cancel soon.
PREFILL_CHUNK = 64


@dataclass(frozen=True, slots=True)
class Scored:
    """What the target wants after each of T rows: its choice, and its k best with probabilities."""

    choices: list[int]  # [T] argmax
    top_ids: npt.NDArray[np.int_]  # [T, k], best first
    top_probabilities: npt.NDArray[np.float32]  # [T, k], of the whole vocabulary


class Target:
    """Prefill, verify, commit. Used by one thread.

    Slots [0, n_cached) of the cache always match `cached_ids`. A tree's root is the last committed
    token and not yet cached: verification computes it as node 0.
    """

    def __init__(self, weights: LlamaWeights, max_tokens: int, top_k: int) -> None:
        self.max_tokens = min(max_tokens, weights.config.max_context_tokens)
        self.n_vocab = weights.config.n_vocab
        self._top_k = min(top_k, weights.config.n_vocab)
        self._forward = LlamaForward(weights, self.max_tokens)
        self._cache = KVCache(weights.config, self.max_tokens, weights.embedding.dtype)

    @property
    def n_cached(self) -> int:
        return self._cache.n_cached

    @property
    def cached_ids(self) -> Sequence[int]:
        return self._cache.token_ids

    def reuse(self, token_ids: Sequence[int]) -> int:
        """Keep what the cache shares with `token_ids` from the start; returns how many tokens."""
        return self._cache.reuse(token_ids)

    def clear(self) -> None:
        """Forget everything cached."""
        self._cache.rewind(0)

    def occupy(self, n_tokens: int) -> None:
        """Pretend that `n_tokens` are cached, for timing steps; `clear` before real work."""
        self._cache.rewind(0)
        self._cache.append([0] * n_tokens)

    @torch.inference_mode()
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
            chunk = list(token_ids[start : start + PREFILL_CHUNK])
            hidden = self._run(chunk, DraftMask.causal(len(chunk)))
            self._cache.append(chunk)
            if start + len(chunk) > first_scored:
                skip = max(0, first_scored - start)
                yield start + skip, self._score(hidden[skip:])

    @torch.inference_mode()
    def verify(self, tree: DraftTree) -> Scored:
        """Score every node in one pass; the rows stay uncommitted until `commit`."""
        return self._score(self._run(list(tree.token_ids), DraftMask.of(tree)))

    @torch.inference_mode()
    def commit(self, tree: DraftTree, nodes: Sequence[int]) -> None:
        """Make the root and the accepted nodes of the tree just verified part of the context."""
        token_ids = [tree.token_ids[0], *(tree.token_ids[node] for node in nodes)]
        self._cache.compact(nodes, token_ids)

    @torch.inference_mode()
    def logits(self, tree: DraftTree) -> torch.Tensor:
        """[N, vocab] of the tree's nodes, uncommitted: for tests and measurements."""
        return self._forward.logits(self._run(list(tree.token_ids), DraftMask.of(tree)))

    def _run(self, token_ids: list[int], mask: "DraftMask") -> torch.Tensor:
        n_cached, n = self.n_cached, len(token_ids)
        assert n_cached + n <= self.max_tokens, f"{n_cached} + {n} exceed {self.max_tokens} slots"
        visible = torch.ones((n, n_cached + n), dtype=torch.bool)
        visible[:, n_cached:] = mask.visible
        positions = n_cached + mask.depths
        return self._forward.hidden(torch.tensor(token_ids), positions, visible, self._cache)

    def _score(self, hidden: torch.Tensor) -> Scored:
        logits = self._forward.logits(hidden)
        top = torch.topk(logits, self._top_k, dim=-1)
        probabilities = torch.exp(top.values - torch.logsumexp(logits, dim=-1, keepdim=True))
        return Scored(logits.argmax(dim=-1).tolist(), top.indices.numpy(), probabilities.numpy())


@dataclass(frozen=True, slots=True)
class DraftMask:
    """Which of the new tokens each new token sees, and how deep it lies below the first."""

    visible: torch.Tensor  # [N, N] bool
    depths: torch.Tensor  # [N]

    @classmethod
    def causal(cls, n: int) -> "DraftMask":
        return cls(torch.ones((n, n), dtype=torch.bool).tril(), torch.arange(n))

    @classmethod
    def of(cls, tree: DraftTree) -> "DraftMask":
        return cls(torch.from_numpy(tree.ancestor_mask()), torch.tensor(tree.depths()))
