"""What was generated for earlier requests, bounded: the oldest outputs make room."""

from collections import deque
from itertools import chain

from goose_lsp.draft.baselines.occurrence import OccurrenceIndex

SEPARATOR = -1  # between outputs in the index; no token, so no match reaches across
MAX_TOKENS = 1 << 16


class PastOutputs:
    """An index over finished outputs. The one being written joins it when the next one begins."""

    def __init__(self, max_tokens: int = MAX_TOKENS) -> None:
        self._max_tokens = max_tokens
        self._outputs: deque[list[int]] = deque()
        self._n_tokens = 0
        self._current: list[int] = []
        self.index = OccurrenceIndex()

    def __len__(self) -> int:
        """Tokens held in finished outputs."""
        return self._n_tokens

    def begin(self) -> list[int]:
        """File the current output; the list returned is the next one, for its writer to extend."""
        if self._current:
            self._file(self._current[-self._max_tokens :])
        self._current = []
        return self._current

    def _file(self, output: list[int]) -> None:
        self._outputs.append(output)
        self._n_tokens += len(output)
        if self._n_tokens <= self._max_tokens:
            self.index.extend([*output, SEPARATOR])
        else:
            self._evict()

    def _evict(self) -> None:
        # A quarter goes at once: the index is rebuilt rarely, and always between requests.
        while self._n_tokens > self._max_tokens * 3 // 4 and len(self._outputs) > 1:
            self._n_tokens -= len(self._outputs.popleft())
        kept = ([*output, SEPARATOR] for output in self._outputs)
        self.index = OccurrenceIndex(chain.from_iterable(kept))
