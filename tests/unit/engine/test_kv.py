from collections.abc import Sequence

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from goose_lsp.engine import kv
from goose_lsp.engine.fast import TensorStore, TorchForward
from goose_lsp.engine.kv import KVContext, KVPool, common_prefix
from tests.tiny import TINY, tiny_weights

tokens = st.lists(st.integers(0, 2), max_size=8)


def context_of(token_ids: list[int], max_tokens: int = 32) -> tuple[KVContext, TensorStore]:
    """A context in which every row holds its slot's number."""
    store = TensorStore(TINY, max_tokens, torch.float32)
    numbers = torch.arange(max_tokens, dtype=torch.float32)[:, None]
    store.keys[:] = numbers
    store.values[:] = -numbers
    return KVContext(store, list(token_ids)), store


@given(tokens, tokens)
def test_the_common_prefix_is_as_long_as_it_can_be(first: list[int], second: list[int]) -> None:
    n = common_prefix(first, second)
    assert first[:n] == second[:n]
    assert n == min(len(first), len(second)) or first[n] != second[n]


@given(st.integers(0, 8), st.sets(st.integers(1, 12), max_size=6))
def test_compaction_brings_the_accepted_rows_together(start: int, nodes: set[int]) -> None:
    context, store = context_of([0] * start)
    path = sorted(nodes)
    context.compact(path, [7] * (len(path) + 1))
    rows = [0, *path]
    assert context.n_cached == start + len(rows)
    for i, node in enumerate(rows):
        assert torch.all(store.keys[:, :, start + i] == start + node)
        assert torch.all(store.values[:, :, start + i] == -(start + node))
    assert torch.all(store.keys[:, :, : max(start, 1), 0] == torch.arange(max(start, 1)))


def test_a_spine_accepted_from_its_start_moves_nothing() -> None:
    context, store = context_of([1, 2])
    before = store.keys.clone()
    context.compact([1, 2, 3], [3, 4, 5, 6])
    assert torch.equal(store.keys, before)
    assert context.token_ids == [1, 2, 3, 4, 5, 6]


def pool_of(max_contexts: int) -> KVPool:
    return KVPool(TorchForward(tiny_weights(), 256), 256, max_contexts)


def fill(context: KVContext, token_ids: Sequence[int]) -> None:
    """Commit tokens whose rows hold the token and its place, as a model's depend on its context."""
    store = context.store
    assert isinstance(store, TensorStore)
    for slot in range(context.n_cached, len(token_ids)):
        store.keys[:, :, slot] = 1000.0 * slot + token_ids[slot]
    context.append(token_ids[context.n_cached :])


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 1), max_size=6), min_size=1, max_size=12), st.integers(1, 3)
)
def test_whatever_was_asked_before_a_context_holds_a_prefix_of_what_is_asked(
    asked: list[list[int]], max_contexts: int
) -> None:
    pool = pool_of(max_contexts)
    for parts in asked:
        # Long runs, so that forks are worth it.
        wanted = [token for token in parts for _ in range(40)]
        best = max(common_prefix(context.token_ids, wanted) for context in pool.contexts)
        context = pool.select(wanted)
        assert context.token_ids == wanted[: context.n_cached]
        assert context.n_cached == best
        fill(context, wanted)
        assert isinstance(context.store, TensorStore)
        expected = [1000.0 * slot + token for slot, token in enumerate(wanted)]
        assert context.store.keys[0, 0, : len(wanted), 0].tolist() == expected
        assert len(pool.contexts) <= max_contexts


def test_two_documents_in_turn_stay_warm_and_a_third_takes_the_oldests_place() -> None:
    pool = pool_of(2)
    first, second, third = ([number] * 100 for number in (1, 2, 3))
    for wanted in (first, second, first, second):
        fill(pool.select(wanted), wanted)
    assert pool.select(first).n_cached == 100
    assert pool.select(third).n_cached == 0
    assert pool.select(second).n_cached == 0, "the least recently used made room"
    assert pool.n_bytes == 2 * pool.contexts[0].store.n_bytes


def test_a_short_difference_is_rewound_in_place() -> None:
    pool = pool_of(2)
    wanted = [1] * 100
    context = pool.select(wanted)
    fill(context, wanted + [5] * kv.KEPT_TOKENS)
    assert pool.select([*wanted, 6]) is context
    assert len(pool.contexts) == 1


def test_a_pool_that_cannot_grow_goes_on_with_what_it_has() -> None:
    forward = TorchForward(tiny_weights(), 256)
    pool = KVPool(forward, 256, 3)
    fill(pool.select([1] * 100), [1] * 100)

    def no_memory(max_tokens: int) -> TensorStore:
        raise MemoryError(max_tokens)

    forward.new_store = no_memory  # type: ignore[method-assign]
    assert pool.select([2] * 100).n_cached == 0
    assert len(pool.contexts) == 1
