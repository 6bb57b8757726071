"""The 8-bit kernels as a model: buffers, threads and the cache's layout around one machine-code pass."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from goose_lsp.engine.architecture import LlamaConfig
from goose_lsp.engine.forward import KVStore, NewTokens, Scored
from goose_lsp.engine.int8.arrays import (
    ATTENTION_ROWS,
    BLOCK,
    PANEL,
    Linear,
    Shape,
    Slots,
    Step,
    Weights,
    Work,
)
from goose_lsp.engine.int8.helpers import Crew
from goose_lsp.engine.int8.kernels import PHASES_A_LAYER, PHASES_OF_HEAD, move_slots
from goose_lsp.engine.int8.rows import GROUP

# Tokens of one pass, at most: a tree of 80 nodes and its root.
MAX_ROWS = 96
MAX_TOP_K = 16
# Slots of a context: 255 · 127 a slot must not overflow 32 bits where values are added up.
MAX_SLOTS = 65_536


@dataclass(frozen=True, slots=True)
class Int8Model:
    """What a converted model consists of."""

    config: LlamaConfig
    weights: Weights
    embedding: npt.NDArray[np.float16]  # [vocab, hidden]


class ByteStore:
    """Keys and values rounded to bytes, with a scale a head and slot."""

    def __init__(self, config: LlamaConfig, max_tokens: int) -> None:
        n_layers, n_kv, size = config.n_layers, config.n_kv_heads, config.head_size
        self.max_tokens = max_tokens
        n = -(-max_tokens // BLOCK) * BLOCK
        # Untouched pages of fresh zeros take no memory.
        self.slots = Slots(
            keys=np.zeros((n_layers, n_kv, n // BLOCK, size // 4, BLOCK, 4), dtype=np.uint8),
            key_scales=np.zeros((n_layers, n_kv, n), dtype=np.float32),
            values=np.zeros((n_layers, n_kv, size // BLOCK, n // 4, BLOCK, 4), dtype=np.int8),
            value_scales=np.zeros((n_layers, n_kv, n), dtype=np.float32),
        )
        self.n_bytes = sum(array.nbytes for array in self.slots)

    def move(self, targets: Sequence[int], sources: Sequence[int]) -> None:
        move_slots(self.slots, np.array(targets, np.int64), np.array(sources, np.int64))

    def copy_prefix(self, other: KVStore, n_tokens: int) -> None:
        assert isinstance(other, ByteStore)
        mine, theirs = self.slots, other.slots
        # Whole blocks: the slots behind the prefix mean nothing in either store.
        n_blocks, n_fours = -(-n_tokens // BLOCK), -(-n_tokens // 4)
        mine.keys[:, :, :n_blocks] = theirs.keys[:, :, :n_blocks]
        mine.values[:, :, :, :n_fours] = theirs.values[:, :, :, :n_fours]
        mine.key_scales[:, :, :n_tokens] = theirs.key_scales[:, :, :n_tokens]
        mine.value_scales[:, :, :n_tokens] = theirs.value_scales[:, :, :n_tokens]


class Int8Forward:
    """Runs tokens through a converted model. Results are bit-equal whatever shares the pass."""

    def __init__(self, model: Int8Model, max_tokens: int, n_threads: int = 1) -> None:
        config = model.config
        self.dtype = "int8"
        self.n_vocab = config.n_vocab
        self.max_tokens = min(max_tokens, config.max_context_tokens, MAX_SLOTS)
        self.max_rows = MAX_ROWS
        self._model = model
        cos, sin = rotation(config, self.max_tokens)
        self._weights = _frozen(model.weights._replace(cos=cos, sin=sin))
        self._shape = shape_of(config)
        self._work = new_work(config, model.weights, self.max_tokens, n_threads)
        self._crew = Crew(n_threads, config.n_layers * PHASES_A_LAYER + PHASES_OF_HEAD)
        self.n_weight_bytes = sum(
            linear.weights.nbytes for linear in model.weights if isinstance(linear, Linear)
        )

    @property
    def n_threads(self) -> int:
        return self._crew.n_threads

    def use_threads(self, n: int) -> None:
        """Run the next passes on this many threads, at most as many as the model was made with."""
        self._crew.n_active = max(1, min(n, self._crew.n_threads))

    def new_store(self, max_tokens: int) -> ByteStore:
        store = ByteStore(self._model.config, max_tokens)
        store.move([], [])  # compiled here, not in the first step that accepts a branch
        return store

    def score(
        self, store: KVStore, n_cached: int, tokens: NewTokens, rows: Sequence[int], top_k: int
    ) -> Scored:
        self._run(store, n_cached, tokens, rows)
        k = min(top_k, MAX_TOP_K, self.n_vocab)
        ids = self._work.best_ids[: len(rows), :k].copy()
        probabilities = self._work.best_values[: len(rows), :k].copy()
        logits = self._work.logits[: len(rows), : self.n_vocab]
        return Scored(ids[:, 0].tolist(), ids, probabilities, logits.__getitem__)

    def logits(self, store: KVStore, n_cached: int, tokens: NewTokens) -> npt.NDArray[np.float32]:
        self._run(store, n_cached, tokens, range(len(tokens)))
        return self._work.logits[: len(tokens), : self.n_vocab].copy()

    def close(self) -> None:
        """End the helper threads."""
        self._crew.close()

    def _run(self, store: KVStore, n_cached: int, tokens: NewTokens, rows: Sequence[int]) -> None:
        assert isinstance(store, ByteStore)
        n, hidden = len(tokens), self._model.config.hidden_size
        # The kernels check no bounds.
        if n > MAX_ROWS or n_cached + n > store.max_tokens:
            raise ValueError(f"{n} tokens behind {n_cached} do not fit into a pass or its context")
        self._work.x[:n, :hidden] = self._model.embedding[list(tokens.token_ids)]
        self._work.x[:n, hidden:] = 0.0
        step = Step(
            positions=n_cached + tokens.depths,
            visible=np.ascontiguousarray(tokens.visible),
            n_cached=n_cached,
            scored=np.array(rows, dtype=np.int64),
        )
        self._crew.run(self._shape, self._weights, store.slots, self._work, step)


def _frozen(weights: Weights) -> Weights:
    """The same arrays, read-only as mapped ones are: for numba another type, and one is compiled for."""
    for value in weights:
        for array in value if isinstance(value, Linear) else (value,):
            array.setflags(write=False)
    return weights


def warm_up() -> None:
    """Compile, or fetch from disk, all kernels: a pass of the smallest model there is."""
    config = LlamaConfig(
        n_layers=1,
        hidden_size=GROUP,
        n_heads=1,
        n_kv_heads=1,
        head_size=BLOCK,
        intermediate_size=GROUP,
        n_vocab=PANEL,
        max_context_tokens=2,
        rope_theta=10_000.0,
        norm_eps=1e-5,
    )

    def linear(n_rows: int) -> Linear:
        n_panels = -(-n_rows // PANEL)
        weights = np.zeros((1, n_panels, GROUP // 4, PANEL, 4), dtype=np.uint8)
        return Linear(weights, np.zeros((1, n_panels * PANEL), dtype=np.float32))

    vector, none = np.ones((1, GROUP), dtype=np.float32), np.zeros((1, 0), dtype=np.float32)
    qkv = linear(3 * BLOCK)
    weights = Weights(
        *(vector, qkv, np.zeros_like(qkv.scales), none, none, linear(BLOCK), vector),
        *(linear(2 * GROUP), linear(GROUP), vector, linear(PANEL), vector, vector),
    )
    forward = Int8Forward(Int8Model(config, weights, np.zeros((PANEL, GROUP), np.float16)), 2)
    forward.score(forward.new_store(2), 0, NewTokens.causal([0]), [0], 1)


def shape_of(config: LlamaConfig) -> Shape:
    return Shape(
        config.n_layers,
        config.n_heads,
        config.n_kv_heads,
        config.head_size,
        config.hidden_size,
        config.intermediate_size,
        config.n_vocab,
        config.norm_eps,
    )


def rotation(
    config: LlamaConfig, max_tokens: int
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """cos and sin of every position's angles, [max_tokens, D/2]."""
    exponents = np.arange(0, config.head_size, 2) / config.head_size
    frequencies = (1.0 / config.rope_theta**exponents).astype(np.float32)
    angles = np.outer(np.arange(max_tokens, dtype=np.float32), frequencies)
    return np.cos(angles), np.sin(angles)


def new_work(config: LlamaConfig, weights: Weights, max_tokens: int, n_threads: int) -> Work:
    """Buffers for passes of up to MAX_ROWS tokens on up to `n_threads` threads."""
    rows, kv, size = MAX_ROWS, config.n_kv_heads, config.head_size
    group = config.n_heads // kv
    n_inputs = max(config.hidden_size, config.intermediate_size, config.n_heads * size)
    n_slots = -(-max_tokens // BLOCK) * BLOCK

    def floats(*shape: int) -> npt.NDArray[np.float32]:
        return np.zeros(shape, dtype=np.float32)

    return Work(
        x=floats(rows, weights.output.scales.shape[1]),
        normed=floats(rows, config.hidden_size),
        rounded=np.zeros(rows * n_inputs, dtype=np.int8),
        scales=floats(rows, n_inputs // GROUP),
        starts=np.zeros((rows, n_inputs // GROUP), dtype=np.int32),
        qkv=floats(rows, weights.qkv.scales.shape[1]),
        gate_up=floats(rows, weights.gate_up.scales.shape[1]),
        gated=floats(rows, config.intermediate_size),
        queries=np.zeros((kv, rows * group, size), dtype=np.int8),
        query_scales=floats(kv, rows * group),
        query_starts=np.zeros((kv, rows * group), dtype=np.int32),
        attended=floats(kv, rows * group, size),
        merged=floats(rows, config.n_heads * size),
        bytes=np.zeros((rows, size), dtype=np.int8),
        scores=floats(n_threads, max(ATTENTION_ROWS, group), n_slots),
        weights=np.zeros((n_threads, max(ATTENTION_ROWS, group), n_slots), dtype=np.uint8),
        factors=floats(n_threads, max(ATTENTION_ROWS, group)),
        ones=np.ones(BLOCK, dtype=np.float32),
        zeros=np.zeros(n_threads * max(ATTENTION_ROWS, group), dtype=np.int32),
        logits=floats(rows, weights.head.scales.shape[1]),
        best_ids=np.zeros((rows, MAX_TOP_K), dtype=np.int64),
        best_values=floats(rows, MAX_TOP_K),
    )
