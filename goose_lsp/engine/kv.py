"""The KV cache: several contexts kept warm, each a list of committed tokens and their slots."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from goose_lsp.engine.forward import Forward, KVStore

# A context this much longer than what it shares with a new prompt is worth keeping beside it.
KEPT_TOKENS = 64


@dataclass(slots=True)
class KVContext:
    """Slots [0, n_cached) hold the keys and values of `token_ids`; slots above mean nothing between steps."""

    store: KVStore
    token_ids: list[int] = field(default_factory=list)
    last_used: int = 0

    @property
    def n_cached(self) -> int:
        return len(self.token_ids)

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
            self.store.move([target for target, _ in moved], [source for _, source in moved])
        self.append(token_ids)


class KVPool:
    """A few contexts of equal size; the one that shares most with a prompt serves it."""

    def __init__(self, forward: Forward, max_tokens: int, max_contexts: int) -> None:
        """Raises `MemoryError` where not even one context fits."""
        self._forward = forward
        self._max_tokens = max_tokens
        self._max_contexts = max_contexts
        self._clock = 0
        self.contexts = [KVContext(forward.new_store(max_tokens))]

    @property
    def n_bytes(self) -> int:
        """What all contexts take when full."""
        return sum(context.store.n_bytes for context in self.contexts)

    def select(self, token_ids: Sequence[int]) -> KVContext:
        """A context that holds the longest known prefix of `token_ids` and nothing else.

        Where that would throw away much of another context, it is copied instead: into a new one, or
        over the least recently used.
        """
        shared = [common_prefix(context.token_ids, token_ids) for context in self.contexts]
        best = max(range(len(shared)), key=lambda i: (shared[i], self.contexts[i].last_used))
        context, n_shared = self.contexts[best], shared[best]
        if context.n_cached - n_shared > KEPT_TOKENS:
            context = self._fork(context, n_shared)
        context.rewind(n_shared)
        self._clock += 1
        context.last_used = self._clock
        return context

    def clear(self) -> None:
        """Forget everything cached."""
        for context in self.contexts:
            context.rewind(0)

    def _fork(self, source: KVContext, n_tokens: int) -> KVContext:
        """A context of its own that begins as `source` does; `source` itself where it is the oldest."""
        target = self._make_room()
        if target is not source and n_tokens:
            target.store.copy_prefix(source.store, n_tokens)
            target.token_ids = source.token_ids[:n_tokens]
        return target

    def _make_room(self) -> KVContext:
        if len(self.contexts) < self._max_contexts:
            try:
                self.contexts.append(KVContext(self._forward.new_store(self._max_tokens)))
            except MemoryError:
                self._max_contexts = len(self.contexts)
            else:
                return self.contexts[-1]
        return min(self.contexts, key=lambda context: context.last_used)


def common_prefix(first: Sequence[int], second: Sequence[int]) -> int:
    """How many tokens both start with."""
    n = min(len(first), len(second))
    differing = np.flatnonzero(np.asarray(first[:n]) != np.asarray(second[:n]))
    return int(differing[0]) if len(differing) else n
