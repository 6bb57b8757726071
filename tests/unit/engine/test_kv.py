import torch
from hypothesis import given
from hypothesis import strategies as st

from goose_lsp.engine.kv import KVCache
from tests.tiny import TINY


def cache_of(token_ids: list[int], max_tokens: int = 32) -> KVCache:
    """A cache in which every row holds its slot's number."""
    cache = KVCache(TINY, max_tokens, torch.float32)
    numbers = torch.arange(max_tokens, dtype=torch.float32)[:, None]
    cache.keys[:] = numbers
    cache.values[:] = -numbers
    cache.append(token_ids)
    return cache


@given(st.lists(st.integers(0, 2), max_size=8), st.lists(st.integers(0, 2), max_size=8))
def test_reuse_keeps_exactly_the_common_prefix(cached: list[int], wanted: list[int]) -> None:
    cache = cache_of(cached)
    n = cache.reuse(wanted)
    assert cache.token_ids == cached[:n] == wanted[:n]
    assert n == min(len(cached), len(wanted)) or cached[n] != wanted[n]


@given(st.integers(0, 8), st.sets(st.integers(1, 12), max_size=6))
def test_compaction_brings_the_accepted_rows_together(start: int, nodes: set[int]) -> None:
    cache = cache_of([0] * start)
    path = sorted(nodes)
    cache.compact(path, [7] * (len(path) + 1))
    rows = [0, *path]
    assert cache.n_cached == start + len(rows)
    for i, node in enumerate(rows):
        assert torch.all(cache.keys[:, :, start + i] == start + node)
        assert torch.all(cache.values[:, :, start + i] == -(start + node))
    assert torch.all(cache.keys[:, :, : max(start, 1), 0] == torch.arange(max(start, 1)))


def test_a_spine_accepted_from_its_start_moves_nothing() -> None:
    cache = cache_of([1, 2])
    before = cache.keys.clone()
    cache.compact([1, 2, 3], [3, 4, 5, 6])
    assert torch.equal(cache.keys, before)
    assert cache.token_ids == [1, 2, 3, 4, 5, 6]
