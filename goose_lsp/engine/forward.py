"""What the rest of the engine asks of a model: passes over tokens, and room for their keys and values.

Token ids and plain arrays go in and come out, so that who runs the arithmetic is nobody else's business.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from goose_lsp.draft.tree import DraftTree


@dataclass(frozen=True, slots=True)
class NewTokens:
    """N tokens to run behind the cached ones: which of each other they see, how deep each one lies."""

    token_ids: Sequence[int]
    visible: npt.NDArray[np.bool_]  # [N, N]
    depths: npt.NDArray[np.int64]  # [N], below the first

    @classmethod
    def causal(cls, token_ids: Sequence[int]) -> "NewTokens":
        n = len(token_ids)
        return cls(token_ids, np.tri(n, dtype=np.bool_), np.arange(n, dtype=np.int64))

    @classmethod
    def of(cls, tree: DraftTree) -> "NewTokens":
        return cls(tree.token_ids, tree.ancestor_mask(), np.array(tree.depths(), dtype=np.int64))

    def __len__(self) -> int:
        return len(self.token_ids)


@dataclass(frozen=True, slots=True)
class Scored:
    """What the target wants after each of T rows: its choice, and its k best with probabilities."""

    choices: list[int]  # [T] argmax
    top_ids: npt.NDArray[np.int_]  # [T, k], best first
    top_probabilities: npt.NDArray[np.float32]  # [T, k], of the whole vocabulary
    # A row's logits [vocab], valid until the next pass; greedy decoding asks for none.
    row_logits: Callable[[int], npt.NDArray[np.float32]] | None = None


class KVStore(Protocol):
    """Keys and values of one context, a slot a token."""

    max_tokens: int
    n_bytes: int  # when full

    def move(self, targets: Sequence[int], sources: Sequence[int]) -> None:
        """Copy slot sources[i] to targets[i], in order."""
        ...

    def copy_prefix(self, other: "KVStore", n_tokens: int) -> None:
        """Take over the first slots of another store of the same model."""
        ...


class Forward(Protocol):
    """A model that runs tokens. Used by one thread."""

    n_vocab: int
    max_tokens: int  # positions it knows
    max_rows: int  # tokens of one pass
    dtype: str
    n_weight_bytes: int  # read by a pass of one token

    def use_threads(self, n: int) -> None:
        """Run the next passes on this many threads, at most as many as were allowed at first."""
        ...

    def close(self) -> None:
        """Give back what is not memory. The last call."""
        ...

    def new_store(self, max_tokens: int) -> KVStore:
        """Raises `MemoryError` where there is no room."""
        ...

    def score(
        self, store: KVStore, n_cached: int, tokens: NewTokens, rows: Sequence[int], top_k: int
    ) -> Scored:
        """Run the tokens; score the given rows of them.

        Writes slots [n_cached, n_cached + N), which nobody sees until they are committed.
        """
        ...

    def logits(self, store: KVStore, n_cached: int, tokens: NewTokens) -> npt.NDArray[np.float32]:
        """[N, vocab] of all tokens: for tests and measurements."""
        ...
