"""A model whose text is written in a script: for tests that need the whole path and exact answers.

Everything around it is real: prompt, decoding with drafts, endings and polishing. One token is one byte.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import sleep

import numpy as np
import numpy.typing as npt

from goose_lsp.config import Settings
from goose_lsp.daemon.load import ModelCompleter
from goose_lsp.daemon.prompter import Prompter
from goose_lsp.draft.budget import StepCost
from goose_lsp.engine.cost import LiveCost, Prices
from goose_lsp.engine.forward import KVStore, NewTokens, Scored
from goose_lsp.engine.verify import Target
from goose_lsp.tokenizer import Tokenizer
from tests.tiny import byte_tokenizer

MAX_TOKENS = 8192
_FLAT = Prices(StepCost((1, 16), (1.0, 1.01)), 1.0)


@dataclass
class Script:
    """What is written after which text: the longest matching tail, and within it the longest answer begun, decide.

    A text that no line fits ends at once.
    """

    lines: list[tuple[str, str]] = field(default_factory=list)  # (tail of the text before, answer)
    step_s: float = 0.0  # what one pass of the model takes

    @classmethod
    def read(cls, file: Path) -> "Script":
        """Of a JSON object {"lines": [[tail, answer], …], "step_s": 0.0}."""
        raw = json.loads(file.read_text(encoding="utf-8"))
        return cls([(tail, answer) for tail, answer in raw["lines"]], raw.get("step_s", 0.0))

    def write(self, file: Path) -> None:
        """Whole or not at all: the model may be reading it."""
        new = file.with_suffix(".new")
        new.write_text(json.dumps({"lines": self.lines, "step_s": self.step_s}), encoding="utf-8")
        new.replace(file)


class ScriptedForward:
    """The script as a model: certain of its next byte, certain of the end where nothing is written."""

    max_tokens = MAX_TOKENS
    max_rows = 256
    dtype = "script"
    n_weight_bytes = 0

    def __init__(self, script: Script | Path, tokenizer: Tokenizer) -> None:
        """A path is read anew at the begin of every pass."""
        self._script, self._tokenizer = script, tokenizer
        self.n_vocab = tokenizer.n_vocab
        (self._end,) = tokenizer.control_ids
        self.n_passes = 0

    def use_threads(self, n: int) -> None:
        """There are none."""

    def close(self) -> None:
        """Nothing is held."""

    def new_store(self, max_tokens: int) -> KVStore:
        return _Slots(max_tokens)

    def score(
        self, store: KVStore, n_cached: int, tokens: NewTokens, rows: Sequence[int], top_k: int
    ) -> Scored:
        assert isinstance(store, _Slots)
        self.n_passes += 1
        script = Script.read(self._script) if isinstance(self._script, Path) else self._script
        sleep(script.step_s)
        lines = [(self._ids(tail), self._ids(answer)) for tail, answer in script.lines]
        store.token_ids[n_cached : n_cached + len(tokens)] = tokens.token_ids
        choices = [self._next(store.seen(n_cached, tokens, row), lines) for row in rows]
        others = [[choice, *(i for i in range(top_k) if i != choice)][:top_k] for choice in choices]
        certain = np.zeros((len(choices), top_k), np.float32)
        certain[:, 0] = 1.0
        return Scored(choices, np.array(others, np.int64).reshape(-1, top_k), certain)

    def logits(self, store: KVStore, n_cached: int, tokens: NewTokens) -> npt.NDArray[np.float32]:
        choices = self.score(store, n_cached, tokens, range(len(tokens)), 1).choices
        return np.eye(self.n_vocab, dtype=np.float32)[choices]

    def _ids(self, text: str) -> tuple[int, ...]:
        return tuple(self._tokenizer.encode(text))

    def _next(
        self, seen: tuple[int, ...], lines: Sequence[tuple[tuple[int, ...], tuple[int, ...]]]
    ) -> int:
        best, choice = (-1, -1), self._end
        for tail, answer in lines:
            for n in range(len(answer) + 1):
                rank = (len(tail), n)
                if rank > best and _ends_with(seen, (*tail, *answer[:n])):
                    best, choice = rank, answer[n] if n < len(answer) else self._end
        return choice


class _Slots:
    """A store that keeps the tokens themselves."""

    n_bytes = 1

    def __init__(self, max_tokens: int) -> None:
        self.max_tokens = max_tokens
        self.token_ids: list[int] = [0] * max_tokens

    def move(self, targets: Sequence[int], sources: Sequence[int]) -> None:
        for target, source in zip(targets, sources, strict=True):
            self.token_ids[target] = self.token_ids[source]

    def copy_prefix(self, other: KVStore, n_tokens: int) -> None:
        assert isinstance(other, _Slots)
        self.token_ids[:n_tokens] = other.token_ids[:n_tokens]

    def seen(self, n_cached: int, tokens: NewTokens, row: int) -> tuple[int, ...]:
        """What row `row` attends to, itself last."""
        nodes = np.flatnonzero(tokens.visible[row]).tolist()
        return (*self.token_ids[:n_cached], *(tokens.token_ids[node] for node in nodes))


def _ends_with(whole: tuple[int, ...], end: tuple[int, ...]) -> bool:
    return whole[len(whole) - len(end) :] == end if len(end) <= len(whole) else False


def scripted_completer(script: Script | Path, settings: Settings | None = None) -> ModelCompleter:
    """The daemon's completer with the script in the place of a model."""
    tokenizer = byte_tokenizer()
    target = Target(ScriptedForward(script, tokenizer), top_k=8, max_contexts=4)
    prompter = Prompter(tokenizer, has_snippets=False)
    return ModelCompleter(
        "scripted", target, tokenizer, LiveCost(_FLAT), settings or Settings(), prompter
    )
