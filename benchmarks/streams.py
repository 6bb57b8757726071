"""Recorded target passes: what the target said along plain decoding and wherever a draft looked.

A row is the target's choice after some tokens and its k best with probabilities. Rows are kept under
(number of context tokens, drafted tokens after them) with the context grown as far as the drafted
tokens are plain decoding's own: (105,) is on the path, (105, 7, 9) is 7, 9 after its first 105 tokens.
So one pass serves every policy that comes by, whatever its steps.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from goose_lsp.draft.tree import DraftTree
from goose_lsp.engine.forward import Scored
from goose_lsp.errors import GooseError

Key = tuple[int, ...]
FORMAT = 1


@dataclass(slots=True)
class Stream:
    """One prompt's recording; row 0 is the unknown row: no successors."""

    set_name: str
    prompt_ids: list[int]
    max_new_tokens: int
    end_id: int  # stands for an unknown choice: decoding ends where the recording does
    top_k: int
    choices: list[int] = field(default_factory=list)  # plain decoding's, an end token included
    prompt_start: int = 0  # index of the first prompt token that has a row
    prompt_rows: list[Scored] = field(default_factory=list)  # of the prompt, in order
    memo: dict[Key, int] = field(default_factory=dict)  # → row
    _chosen: list[int] = field(default_factory=list)  # [M] by row
    _top_ids: list[npt.NDArray[np.int_]] = field(default_factory=list)  # [M] of [k]
    _top_probabilities: list[npt.NDArray[np.float32]] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not self._chosen:
            self._append(self.end_id, np.zeros(self.top_k, np.int32), np.zeros(self.top_k))

    def keys(self, n_context: int, tree: DraftTree) -> list[Key]:
        """Where each node's row is kept; `n_context` counts the root."""
        keys: list[Key] = [(n_context,)]
        for token, parent in zip(tree.token_ids[1:], tree.parents[1:], strict=True):
            key = keys[parent]
            is_on_path = len(key) == 1 and self._choice_after(key[0]) == token
            keys.append((key[0] + 1,) if is_on_path else (*key, token))
        return keys

    def add(self, n_context: int, tree: DraftTree, scored: Scored) -> None:
        """Keep the rows of one pass that are new."""
        for node, key in enumerate(self.keys(n_context, tree)):
            if key not in self.memo:
                self.memo[key] = len(self._chosen)
                self._append(
                    scored.choices[node], scored.top_ids[node], scored.top_probabilities[node]
                )

    def look_up(self, n_context: int, tree: DraftTree) -> Scored:
        """The recorded rows of a tree; unknown ones have the probabilities 0."""
        keys = self.keys(n_context, tree)
        rows = [self.memo.get(key, 0) for key in keys]
        choices = [
            self._chosen[row] if row or len(key) > 1 else self._choice_after(key[0])
            for key, row in zip(keys, rows, strict=True)
        ]
        top_ids = np.stack([self._top_ids[row] for row in rows])
        return Scored(choices, top_ids, np.stack([self._top_probabilities[row] for row in rows]))

    def _choice_after(self, n_context: int) -> int:
        i = n_context - len(self.prompt_ids)
        return self.choices[i] if 0 <= i < len(self.choices) else self.end_id

    def _append(
        self, choice: int, top_ids: npt.NDArray[Any], top_probabilities: npt.NDArray[Any]
    ) -> None:
        self._chosen.append(choice)
        self._top_ids.append(top_ids.astype(np.int32))
        self._top_probabilities.append(top_probabilities.astype(np.float32))

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        keys = sorted(self.memo, key=lambda key: self.memo[key])
        return {
            "numbers": np.array([self.max_new_tokens, self.end_id, self.top_k, self.prompt_start]),
            "prompt_ids": np.array(self.prompt_ids, np.int32),
            "choices": np.array(self.choices, np.int32),
            "prompt_top_ids": _joined([rows.top_ids for rows in self.prompt_rows], np.int32),
            "prompt_top_probabilities": _joined(
                [rows.top_probabilities for rows in self.prompt_rows], np.float32
            ),
            "key_lens": np.array([len(key) for key in keys], np.int32),
            "key_tokens": np.array([token for key in keys for token in key], np.int32),
            "chosen": np.array(self._chosen, np.int32),
            "top_ids": np.stack(self._top_ids),
            "top_probabilities": np.stack(self._top_probabilities),
        }

    @classmethod
    def from_arrays(cls, set_name: str, arrays: dict[str, npt.NDArray[Any]]) -> "Stream":
        max_new_tokens, end_id, top_k, prompt_start = arrays["numbers"].tolist()
        top_ids, top_probabilities = arrays["prompt_top_ids"], arrays["prompt_top_probabilities"]
        rows = Scored(top_ids[:, 0].tolist(), top_ids, top_probabilities)
        tokens = iter(arrays["key_tokens"].tolist())
        keys = [tuple(next(tokens) for _ in range(n)) for n in arrays["key_lens"].tolist()]
        return cls(
            set_name,
            arrays["prompt_ids"].tolist(),
            *(max_new_tokens, end_id, top_k),
            choices=arrays["choices"].tolist(),
            prompt_start=prompt_start,
            prompt_rows=[rows] if len(top_ids) else [],
            memo={key: row for row, key in enumerate(keys, start=1)},
            _chosen=arrays["chosen"].tolist(),
            _top_ids=list(arrays["top_ids"]),
            _top_probabilities=list(arrays["top_probabilities"]),
        )


Name = tuple[str, tuple[int, ...]]  # set, prompt


@dataclass(slots=True)
class Recording:
    """Streams, and what a replay has to know of the engine they come from.

    All but the stream at hand are kept as arrays: a full run sees millions of rows.
    """

    model: str
    dtype: str
    max_tokens: int  # of a context
    end_ids: list[int]
    sizes: list[int]  # nodes
    times_ms: list[float]  # T(n) of those sizes
    packed: dict[Name, dict[str, npt.NDArray[Any]]] = field(default_factory=dict)
    _open: Stream | None = None

    def find(self, set_name: str, prompt_ids: Sequence[int]) -> Stream | None:
        """The prompt's stream, which is at hand until another one is."""
        name = set_name, tuple(prompt_ids)
        if self._open is None or _name(self._open) != name:
            self.put_away()
            found = self.packed.get(name)
            self._open = None if found is None else Stream.from_arrays(set_name, found)
        return self._open

    def start(self, stream: Stream) -> None:
        """A new stream, at hand until another one is."""
        self.put_away()
        self._open = stream

    def put_away(self) -> None:
        if self._open is not None:
            self.packed[_name(self._open)] = self._open.to_arrays()
            self._open = None

    def save(self, file: Path) -> None:
        """As one compressed `.npz` without pickles."""
        self.put_away()
        header = [FORMAT, self.model, self.dtype, self.max_tokens, self.end_ids]
        header += [self.sizes, self.times_ms, [set_name for set_name, _ in self.packed]]
        arrays = {"header": np.array(json.dumps(header))}
        for number, stream in enumerate(self.packed.values()):
            arrays |= {f"{number}/{part}": array for part, array in stream.items()}
        file.parent.mkdir(parents=True, exist_ok=True)
        temporary = file.with_name(f"{file.name}.partial")
        with temporary.open("wb") as stream_file:
            np.savez_compressed(stream_file, allow_pickle=False, **arrays)
        temporary.replace(file)

    @classmethod
    def load(cls, file: Path) -> "Recording":
        """Raises `GooseError` where the file is missing or not such a recording."""
        try:
            with file.open("rb") as opened, np.load(opened, allow_pickle=False) as arrays:
                version, *values, set_names = json.loads(str(arrays["header"]))
                if version != FORMAT:
                    raise GooseError(f"{file} has format {version}, not {FORMAT}; record it anew")
                recording = cls(*values)
                for number, set_name in enumerate(set_names):
                    part = _part(arrays, number)
                    recording.packed[set_name, tuple(part["prompt_ids"].tolist())] = part
        except (OSError, EOFError, ValueError, KeyError, BadZipFile) as error:
            raise GooseError(f"{file} is no recording: {error}") from None
        return recording


def _name(stream: Stream) -> Name:
    return stream.set_name, tuple(stream.prompt_ids)


def _part(arrays: Any, number: int) -> dict[str, npt.NDArray[Any]]:
    prefix = f"{number}/"
    return {n.removeprefix(prefix): arrays[n] for n in arrays.files if n.startswith(prefix)}


def _joined(parts: Sequence[npt.NDArray[Any]], dtype: type) -> npt.NDArray[Any]:
    return np.concatenate(parts).astype(dtype) if parts else np.zeros((0, 1), dtype)
