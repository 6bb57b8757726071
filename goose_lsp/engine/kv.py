"""The KV cache: keys and values of the committed tokens, and room for the step at hand."""

from collections.abc import Sequence

import torch

from goose_lsp.engine.model import LlamaConfig


class KVCache:
    """Preallocated rows for one context.

    Slots [0, n_cached) hold the keys and values of `token_ids`; slots above mean nothing between
    steps. Keys are stored rotated to their token's position, which is its slot once committed.
    """

    def __init__(self, config: LlamaConfig, max_tokens: int, dtype: torch.dtype) -> None:
        shape = (config.n_layers, config.n_kv_heads, max_tokens, config.head_size)
        self.keys = torch.zeros(shape, dtype=dtype)
        self.values = torch.zeros(shape, dtype=dtype)
        self.token_ids: list[int] = []

    @property
    def max_tokens(self) -> int:
        return self.keys.shape[2]

    @property
    def n_cached(self) -> int:
        return len(self.token_ids)

    def reuse(self, token_ids: Sequence[int]) -> int:
        """Keep the longest common prefix with `token_ids`, drop the rest; returns its length."""
        n = 0
        for cached, wanted in zip(self.token_ids, token_ids, strict=False):
            if cached != wanted:
                break
            n += 1
        self.rewind(n)
        return n

    def rewind(self, n_tokens: int) -> None:
        """Forget all but the first `n_tokens`."""
        del self.token_ids[n_tokens:]

    def append(self, token_ids: Sequence[int]) -> None:
        """Commit rows just written, in order, at [n_cached, n_cached + T)."""
        self.token_ids.extend(token_ids)

    def compact(self, nodes: Sequence[int], token_ids: Sequence[int]) -> None:
        """Commit the root and the accepted `nodes` of a tree just written; nodes ascend.

        `token_ids` are the root's and the nodes' tokens. With c = n_cached and N tree nodes, before:
          [0, c)      committed
          [c, c + N)  the tree, in node order; node 0 is the root
        After, with c' = c + 1 + len(nodes):
          [0, c')     committed
          [c', …)     stale until overwritten
        A node never lies below its place in the path, so moving front to back is safe. Nodes that
        already lie in place (a spine accepted from its start) are not touched.
        """
        start = self.n_cached
        moved = [(start + 1 + i, start + node) for i, node in enumerate(nodes) if node != i + 1]
        if moved:
            targets, sources = (torch.tensor(column) for column in zip(*moved, strict=True))
            self.keys[:, :, targets] = self.keys[:, :, sources]
            self.values[:, :, targets] = self.values[:, :, sources]
        self.append(token_ids)
