"""Tree rows against chain rows, and the cache against a fresh prefill, in fp64 and fp32."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from goose_lsp.cancel import CancelToken
from goose_lsp.draft.tree import DraftTree, chain
from goose_lsp.engine.fast import TensorStore
from goose_lsp.engine.verify import PREFILL_CHUNK, Target
from goose_lsp.errors import CancelledError
from tests.strategies import trees
from tests.tiny import tiny_target

prompts = st.lists(st.integers(0, 23), min_size=1, max_size=20)


def prefilled(token_ids: list[int], dtype: torch.dtype = torch.float64) -> Target:
    target = tiny_target(dtype=dtype)
    list(target.prefill(token_ids, CancelToken()))
    return target


def stored(target: Target) -> TensorStore:
    store = target._context.store
    assert isinstance(store, TensorStore)
    return store


@settings(max_examples=40, deadline=None)
@given(prompts, trees())
def test_a_node_is_scored_as_if_its_path_were_run_alone(prompt: list[int], tree: DraftTree) -> None:
    logits = prefilled(prompt).logits(tree)
    for node in range(len(tree)):
        path = [tree.token_ids[i] for i in tree.path(node)]
        alone = prefilled(prompt).logits(chain(tree.token_ids[0], path))[-1]
        # Hidden states and head run in fp64; only the result is rounded to fp32.
        assert np.allclose(logits[node], alone, rtol=0, atol=1e-5)


@settings(max_examples=40, deadline=None)
@given(prompts, trees(), st.data())
def test_the_cache_after_a_commit_equals_a_fresh_prefill(
    prompt: list[int], tree: DraftTree, data: st.DataObject
) -> None:
    nodes = tree.path(data.draw(st.integers(0, len(tree) - 1)))
    target = prefilled(prompt)
    target.verify(tree)
    target.commit(tree, nodes)
    fresh = prefilled([*prompt, tree.token_ids[0], *(tree.token_ids[n] for n in nodes)])
    assert target.cached_ids == fresh.cached_ids
    n = fresh.n_cached
    for ours, theirs in (
        (stored(target).keys, stored(fresh).keys),
        (stored(target).values, stored(fresh).values),
    ):
        assert torch.allclose(ours[:, :, :n], theirs[:, :, :n], rtol=0, atol=1e-10)


def test_prefill_reports_scores_of_the_wanted_tail_only() -> None:
    target = tiny_target()
    token_ids = [i % 24 for i in range(PREFILL_CHUNK + 10)]
    scored = list(target.prefill(token_ids, CancelToken(), n_scored=15))
    assert [(start, len(chunk.choices)) for start, chunk in scored] == [
        (PREFILL_CHUNK - 5, 5),
        (PREFILL_CHUNK, 10),
    ]


def test_a_cancelled_prefill_leaves_a_valid_prefix() -> None:
    target = tiny_target()
    token_ids = [i % 24 for i in range(PREFILL_CHUNK + 10)]
    cancel = CancelToken()
    chunks = target.prefill(token_ids, cancel, n_scored=len(token_ids))
    next(chunks)
    cancel.cancel()
    with pytest.raises(CancelledError):
        next(chunks)
    assert target.cached_ids == token_ids[:PREFILL_CHUNK]


def test_probabilities_are_of_the_whole_vocabulary() -> None:
    scored = tiny_target().verify(chain(3, [4, 5]))
    logits = torch.from_numpy(tiny_target().logits(chain(3, [4, 5])))
    expected = logits.softmax(-1).topk(4).values.numpy()
    assert abs(scored.top_probabilities - expected).max() < 1e-6
    assert scored.choices == logits.argmax(-1).tolist()
