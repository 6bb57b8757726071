"""The promise holds for the rivals too: whatever they draft, the output is plain decoding's."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goose_lsp.cancel import CancelToken
from goose_lsp.draft.baselines import BASELINES
from goose_lsp.draft.bigrams import AdjacencyTable
from goose_lsp.draft.policy import Memory, PlainPolicy, Policy
from goose_lsp.engine.decode import DecodeLimits, Decoder
from goose_lsp.engine.verify import Target
from tests.tiny import TINY, tiny_target

END = frozenset({0})
prompts = st.lists(st.integers(0, TINY.n_vocab - 1), min_size=1, max_size=24)


def decode(
    target: Target, policy: Policy, prompt: list[int], table: AdjacencyTable | None = None
) -> tuple[list[int], int]:
    """(output, accepted draft tokens)."""
    decoder = Decoder(target, policy, DecodeLimits(30, 12, END), CancelToken(), table)
    decoder.prefill(prompt)
    return [token for step in decoder.steps() for token, _ in step], decoder.stats.n_accepted


@pytest.mark.parametrize("name", sorted(BASELINES))
@settings(max_examples=10, deadline=None)
@given(st.integers(0, 5), st.lists(prompts, min_size=1, max_size=2), st.integers(1, 12))
def test_output_is_plain_decodings(
    name: str, seed: int, asked: list[list[int]], budget: int
) -> None:
    target, memory = tiny_target(seed, max_tokens=50), Memory(AdjacencyTable(k=4))
    for prompt in asked:
        policy = BASELINES[name](memory, END.__contains__, budget)
        plain, _ = decode(tiny_target(seed, max_tokens=50), PlainPolicy(), prompt)
        assert decode(target, policy, prompt, memory.table)[0] == plain


@pytest.mark.parametrize("name", sorted(BASELINES))
def test_asked_twice_every_baseline_has_something_accepted(name: str) -> None:
    """A repeated prompt, its own text in it: copies, past outputs and the table all know the way."""
    target, memory = tiny_target(3), Memory(AdjacencyTable(k=4))
    prompt = [5, 9, 2]
    prompt += decode(tiny_target(3), PlainPolicy(), prompt)[0]
    for _ in range(2):
        policy = BASELINES[name](memory, END.__contains__, 12)
        _, n_accepted = decode(target, policy, prompt, memory.table)
    assert n_accepted > 0
