"""Whole passes: the same bits whatever shares a pass, and close to full precision.

What may differ between the two sides of every comparison is who else is in the pass, how the slots before
it were filled, and how many threads ran it.
"""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from goose_lsp.draft.tree import DraftTree, chain
from goose_lsp.engine.architecture import LlamaConfig
from goose_lsp.engine.fast import TorchForward
from goose_lsp.engine.forward import NewTokens
from goose_lsp.engine.int8.arrays import BLOCK
from goose_lsp.engine.int8.forward import MAX_ROWS, ByteStore, Int8Forward
from goose_lsp.engine.int8.kernels import move_slots
from goose_lsp.engine.int8.pack import pack
from goose_lsp.engine.kv import KVContext
from goose_lsp.engine.model import ModelSource, assemble
from tests.strategies import trees
from tests.tiny import BYTE_SIZED, tiny_source

Floats = npt.NDArray[np.float32]

MAX_TOKENS = 256
# A spine of four with branches at its start and in its middle.
BUSHY = DraftTree((1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11), (-1, 0, 1, 2, 3, 0, 5, 1, 7, 6, 0))


@dataclass(frozen=True)
class Variant:
    """A tiny model; `extras` are the endings of tensors that only some models have.

    At full gain attention is all but a choice of one slot, which small errors can change; less is as it is
    in a trained model.
    """

    config: LlamaConfig
    extras: tuple[str, ...] = ()
    gain: float = 1.0

    def source(self) -> ModelSource:
        """Weights that do not depend on the order in which they are read."""

        def read(name: str, shape: tuple[int, ...]) -> torch.Tensor | None:
            values: torch.Tensor | None
            if name.endswith(self.extras):
                generator = torch.Generator().manual_seed(zlib.crc32(name.encode()))
                values = torch.randn(shape, generator=generator, dtype=torch.float64)
                values = values.abs() if "norm" in name else values * 0.3
            else:
                read_by_order = tiny_source(zlib.crc32(name.encode()), self.config).read
                values = read_by_order(name, shape)
            return values if values is None or "norm" in name else values * self.gain

        return ModelSource(self.config, "tiny", read)


HEAD_NORMS = ("q_norm.weight", "k_norm.weight")
VARIANTS = {
    "two heads a KV head": Variant(BYTE_SIZED),
    "one KV head": Variant(replace(BYTE_SIZED, n_kv_heads=1)),
    "large heads": Variant(replace(BYTE_SIZED, head_size=128), extras=HEAD_NORMS),
    "everything": Variant(
        replace(BYTE_SIZED, n_vocab=97, n_layers=3), extras=(*HEAD_NORMS, ".bias", "lm_head.weight")
    ),
    "whole panels": Variant(replace(BYTE_SIZED, n_vocab=96, hidden_size=192), extras=(".bias",)),
    "three heads a KV head": Variant(replace(BYTE_SIZED, n_heads=3, n_kv_heads=1)),
    "as many KV heads": Variant(replace(BYTE_SIZED, n_kv_heads=4)),
    "seven heads a KV head": Variant(replace(BYTE_SIZED, n_heads=7, n_kv_heads=1)),
}
variants = pytest.mark.parametrize("name", VARIANTS)


@cache
def forward_of(name: str, n_threads: int = 1) -> Int8Forward:
    return Int8Forward(pack(VARIANTS[name].source()), MAX_TOKENS, n_threads)


def tokens_of(seed: int, n: int) -> list[int]:
    return [int(token) for token in np.random.default_rng(seed).integers(0, 90, n)]


def prefilled(
    forward: Int8Forward, token_ids: Sequence[int], chunks: Sequence[int] = ()
) -> KVContext:
    """A context filled in chunks of these sizes, the last one as often as it takes."""
    context = KVContext(forward.new_store(MAX_TOKENS))
    sizes = iter(chunks)
    size = 64
    while context.n_cached < len(token_ids):
        size = next(sizes, size)
        chunk = token_ids[context.n_cached : context.n_cached + size]
        forward.score(context.store, context.n_cached, NewTokens.causal(chunk), [], 1)
        context.append(chunk)
    return context


def logits_of(forward: Int8Forward, context: KVContext, tokens: NewTokens) -> Floats:
    return forward.logits(context.store, context.n_cached, tokens)


def slots_of(context: KVContext) -> list[npt.NDArray[Any]]:
    """What is stored of every committed token, token by token: keys, values and their scales."""
    store = context.store
    assert isinstance(store, ByteStore)
    keys, key_scales, values, value_scales = store.slots
    at = range(context.n_cached)
    return [
        np.array([keys[:, :, slot // BLOCK, :, slot % BLOCK] for slot in at]),
        np.array([values[:, :, :, slot // 4, :, slot % 4] for slot in at]),
        np.array([key_scales[:, :, slot] for slot in at]),
        np.array([value_scales[:, :, slot] for slot in at]),
    ]


def check_same_slots(ours: KVContext, theirs: KVContext) -> None:
    assert ours.token_ids == theirs.token_ids
    for mine, other in zip(slots_of(ours), slots_of(theirs), strict=True):
        assert np.array_equal(mine, other)


def check_same_logits(forward: Int8Forward, contexts: tuple[KVContext, KVContext]) -> None:
    ours, theirs = (logits_of(forward, context, NewTokens.of(BUSHY)) for context in contexts)
    assert np.array_equal(ours, theirs)


def check_paths_alone(name: str, prompt: list[int], tree: DraftTree) -> None:
    forward = forward_of(name)
    logits = logits_of(forward, prefilled(forward, prompt), NewTokens.of(tree))
    context = prefilled(forward, prompt)
    for node in range(len(tree)):
        path = [tree.token_ids[i] for i in tree.path(node)]
        alone = logits_of(forward, context, NewTokens.of(chain(tree.token_ids[0], path)))
        assert np.array_equal(logits[node], alone[-1])


@variants
@pytest.mark.parametrize("n_cached", [0, 57, 60, 130, 187])
def test_a_node_is_scored_as_if_its_path_were_run_alone(name: str, n_cached: int) -> None:
    check_paths_alone(name, tokens_of(n_cached, n_cached), BUSHY)


@pytest.mark.parametrize("name", ["two heads a KV head", "everything"])
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1000), n_cached=st.integers(0, 200), tree=trees(n_vocab=90))
def test_any_node_of_any_tree_is_scored_as_its_path_alone(
    name: str, seed: int, n_cached: int, tree: DraftTree
) -> None:
    check_paths_alone(name, tokens_of(seed, n_cached), tree)


@variants
def test_rows_before_and_behind_change_nothing(name: str) -> None:
    """One chain run alone, then with others between its tokens that it does not see."""
    forward, prompt = forward_of(name), tokens_of(1, 70)
    context, path = prefilled(forward, prompt), tokens_of(2, 7)
    alone = logits_of(forward, context, NewTokens.causal(path))
    for n_before in (1, 2, 6):
        for n_behind in (0, 1, 5):
            n = n_before + len(path) + n_behind
            own = np.arange(n_before, n_before + len(path))
            visible = np.eye(n, dtype=np.bool_)
            visible[np.ix_(own, own)] = np.tri(len(path), dtype=np.bool_)
            depths = np.zeros(n, dtype=np.int64)
            depths[own] = np.arange(len(path))
            token_ids = [*tokens_of(3, n_before), *path, *tokens_of(4, n_behind)]
            together = logits_of(forward, context, NewTokens(token_ids, visible, depths))
            assert np.array_equal(together[own], alone)


@variants
def test_however_a_prompt_is_cut_into_passes_it_fills_the_same_slots(name: str) -> None:
    forward, prompt = forward_of(name), tokens_of(5, 150)
    whole = prefilled(forward, prompt)
    after = logits_of(forward, whole, NewTokens.of(BUSHY))
    for chunks in ([1], [63, 2, 64], [96], [7], [1, 62, 3]):
        context = prefilled(forward, prompt, chunks)
        check_same_slots(context, whole)
        assert np.array_equal(logits_of(forward, context, NewTokens.of(BUSHY)), after)


@pytest.mark.parametrize("name", ["two heads a KV head", "everything"])
@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 1000),
    n=st.integers(60, 200),
    chunks=st.lists(st.integers(1, MAX_ROWS), min_size=1, max_size=8),
)
def test_any_cut_of_any_prompt_fills_the_same_slots(
    name: str, seed: int, n: int, chunks: list[int]
) -> None:
    forward, prompt = forward_of(name), tokens_of(seed, n)
    check_same_slots(prefilled(forward, prompt, chunks), prefilled(forward, prompt))


@variants
@pytest.mark.parametrize("n_cached", [0, 60, 121])
def test_slots_after_a_commit_are_those_of_a_fresh_prefill(name: str, n_cached: int) -> None:
    forward, prompt = forward_of(name), tokens_of(n_cached, n_cached)
    for node in (4, 8, 9, 10):
        context = prefilled(forward, prompt)
        logits_of(forward, context, NewTokens.of(BUSHY))
        nodes = BUSHY.path(node)
        committed = [BUSHY.token_ids[0], *(BUSHY.token_ids[n] for n in nodes)]
        context.compact(nodes, committed)
        fresh = prefilled(forward, [*prompt, *committed])
        check_same_slots(context, fresh)
        check_same_logits(forward, (context, fresh))


@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 1000),
    n_cached=st.integers(50, 140),
    drafts=st.lists(trees(n_vocab=90), min_size=1, max_size=4),
    data=st.data(),
)
def test_any_row_of_commits_leaves_the_slots_of_a_fresh_prefill(
    seed: int, n_cached: int, drafts: list[DraftTree], data: st.DataObject
) -> None:
    forward = forward_of("two heads a KV head")
    context = prefilled(forward, tokens_of(seed, n_cached))
    for tree in drafts:
        logits_of(forward, context, NewTokens.of(tree))
        nodes = tree.path(data.draw(st.integers(0, len(tree) - 1)))
        context.compact(nodes, [tree.token_ids[0], *(tree.token_ids[n] for n in nodes)])
    check_same_slots(context, prefilled(forward, context.token_ids))


@variants
@pytest.mark.parametrize("n_shared", [1, 63, 64, 66, 129])
def test_a_copied_prefix_serves_as_well_as_its_own(name: str, n_shared: int) -> None:
    forward, prompt = forward_of(name), tokens_of(6, 140)
    source = prefilled(forward, prompt)
    copy = prefilled(forward, tokens_of(7, 200))  # a store with other things in it
    copy.store.copy_prefix(source.store, n_shared)
    copy.token_ids = prompt[:n_shared]
    fresh = prefilled(forward, prompt[:n_shared])
    check_same_slots(copy, fresh)
    check_same_logits(forward, (copy, fresh))


@variants
def test_what_a_rewound_context_held_leaves_no_trace(name: str) -> None:
    forward, prompt = forward_of(name), tokens_of(8, 200)
    context = prefilled(forward, prompt)
    context.rewind(75)
    fresh = prefilled(forward, prompt[:75])
    check_same_logits(forward, (context, fresh))


@variants
def test_any_number_of_threads_computes_the_same_bits(name: str) -> None:
    alone, many = forward_of(name), forward_of(name, n_threads=3)
    prompt = tokens_of(9, 150)
    contexts = [prefilled(forward, prompt, [64, 17]) for forward in (alone, many)]
    check_same_slots(*contexts)
    wide = NewTokens.causal(tokens_of(10, 90))
    for tokens in (NewTokens.of(BUSHY), wide, NewTokens.causal([5])):
        ours, theirs = (
            logits_of(forward, context, tokens)
            for forward, context in zip((alone, many), contexts, strict=True)
        )
        assert np.array_equal(ours, theirs)


@variants
def test_logits_are_close_to_full_precision(name: str) -> None:
    source = replace(VARIANTS[name], gain=0.4).source()
    exact = TorchForward(assemble(source, torch.float32), MAX_TOKENS)
    store, prompt = exact.new_store(MAX_TOKENS), tokens_of(11, 90)
    exact.logits(store, 0, NewTokens.causal(prompt))
    forward = Int8Forward(pack(source), MAX_TOKENS)
    context = prefilled(forward, prompt)
    for tokens in (NewTokens.of(BUSHY), NewTokens.causal(tokens_of(12, 60))):
        ours, theirs = logits_of(forward, context, tokens), exact.logits(store, 90, tokens)
        assert np.corrcoef(ours.ravel(), theirs.ravel())[0, 1] > 0.99
        error = np.linalg.norm(ours - theirs, axis=1) / np.linalg.norm(theirs, axis=1)
        # About 0.06 and 0.16 as measured.
        assert error.mean() < 0.12
        assert error.max() < 0.3


@variants
def test_some_scored_rows_are_scored_as_all_would_be(name: str) -> None:
    forward = forward_of(name)
    context, tokens = prefilled(forward, tokens_of(13, 80)), NewTokens.causal(tokens_of(14, 40))
    everything = forward.score(context.store, 80, tokens, range(40), 4)
    logits = logits_of(forward, context, tokens)
    for rows in ([39], [0], [0, 7, 8, 31], list(range(20, 40)), []):
        some = forward.score(context.store, 80, tokens, rows, 4)
        assert some.choices == [everything.choices[row] for row in rows]
        assert np.array_equal(some.top_ids, everything.top_ids[rows])
        assert np.array_equal(some.top_probabilities, everything.top_probabilities[rows])
    assert everything.choices == logits.argmax(1).tolist()
    assert np.array_equal(everything.top_ids, np.argsort(-logits, axis=1, kind="stable")[:, :4])
    wide = np.exp(logits.astype(np.float64) - logits.max(1, keepdims=True))
    probabilities = np.take_along_axis(wide / wide.sum(1, keepdims=True), everything.top_ids, 1)
    assert np.allclose(everything.top_probabilities, probabilities, rtol=1e-4, atol=1e-30)


@pytest.mark.parametrize("max_tokens", [64, 65, 100, 128])
def test_a_context_may_grow_to_its_very_last_slot(max_tokens: int) -> None:
    name = "two heads a KV head"
    token_ids = tokens_of(15, max_tokens)
    small = Int8Forward(pack(VARIANTS[name].source()), max_tokens)
    store, n_last = small.new_store(max_tokens), 11
    for start in range(0, max_tokens - n_last, 9):
        end = min(start + 9, max_tokens - n_last)
        small.score(store, start, NewTokens.causal(token_ids[start:end]), [], 1)
    last = small.logits(store, max_tokens - n_last, NewTokens.causal(token_ids[-n_last:]))
    roomy = forward_of(name)
    context = prefilled(roomy, token_ids[:-n_last])
    assert np.array_equal(last, logits_of(roomy, context, NewTokens.causal(token_ids[-n_last:])))


def test_a_pass_may_be_as_wide_as_its_buffers() -> None:
    forward, token_ids = forward_of("two heads a KV head"), tokens_of(16, MAX_ROWS)
    context = prefilled(forward, [])
    wide = logits_of(forward, context, NewTokens.causal(token_ids))
    halves = prefilled(forward, token_ids[:50])
    rest = logits_of(forward, halves, NewTokens.causal(token_ids[50:]))
    assert np.array_equal(wide[50:], rest)


def test_only_new_slots_are_written() -> None:
    forward = forward_of("large heads")
    context = prefilled(forward, tokens_of(17, 70))
    before = slots_of(context)
    logits_of(forward, context, NewTokens.of(BUSHY))
    assert all(map(np.array_equal, before, slots_of(context)))
    store = context.store
    assert isinstance(store, ByteStore)
    assert not store.slots.key_scales[:, :, 70 + len(BUSHY) :].any()
    assert not store.slots.value_scales[:, :, 70 + len(BUSHY) :].any()


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 129), st.integers(0, 129)), max_size=12))
def test_slots_are_moved_whole_and_in_order(moves: list[tuple[int, int]]) -> None:
    forward = forward_of("large heads")
    context = prefilled(forward, tokens_of(18, 130))
    expected = slots_of(context)
    for target, source in moves:
        for stored in expected:
            stored[target] = stored[source]
    store = context.store
    assert isinstance(store, ByteStore)
    targets = np.array([target for target, _ in moves], dtype=np.int64)
    sources = np.array([source for _, source in moves], dtype=np.int64)
    move_slots(store.slots, targets, sources)
    assert all(map(np.array_equal, expected, slots_of(context)))
