"""The promise: a draft changes speed, never output. Plain decoding is the oracle."""

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goose_lsp.cancel import CancelToken
from goose_lsp.draft.accept import Acceptance
from goose_lsp.draft.bigrams import AdjacencyTable
from goose_lsp.draft.drafter import Drafter
from goose_lsp.draft.policy import Memory, PlainPolicy, Policy
from goose_lsp.draft.tree import DraftTree
from goose_lsp.engine.decode import DecodeLimits, Decoder
from goose_lsp.engine.load import LoadOptions, load_model
from goose_lsp.engine.verify import Target
from tests.fakes import cache_dir, embedded_model, read_data_set
from tests.strategies import trees
from tests.tiny import TINY, tiny_target

END = frozenset({0})
prompts = st.lists(st.integers(0, TINY.n_vocab - 1), min_size=1, max_size=24)


class DrawnPolicy:
    """Drafts whatever hypothesis draws: noise, deep trees, end tokens in the middle."""

    def __init__(self, draw: Callable[[int], DraftTree]) -> None:
        self._draw = draw
        self._last = -1

    def extend(self, token_ids: Sequence[int]) -> None:
        self._last = token_ids[-1]

    def draft(self, max_nodes: int, max_depth: int) -> DraftTree:
        del max_nodes, max_depth  # a hostile source does not care
        return self._draw(self._last)

    def learn(self, tree: DraftTree, acceptance: Acceptance) -> None:
        pass


def decode(
    target: Target, policy: Policy, prompt: list[int], n: int, table: AdjacencyTable | None = None
) -> list[int]:
    limits = DecodeLimits(n, max_nodes=12, end_ids=END)
    decoder = Decoder(target, policy, limits, CancelToken(), table)
    decoder.prefill(prompt)
    tokens = [token for step in decoder.steps() for token, _ in step]
    stats = decoder.stats
    assert stats.n_tokens == len(tokens) <= n
    assert stats.n_steps <= stats.n_accepted + stats.n_steps <= len(tokens) + 14
    return tokens


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 5), prompts, st.data())
def test_hostile_random_trees_leave_the_output_as_it_is(
    seed: int, prompt: list[int], data: st.DataObject
) -> None:
    plain = decode(tiny_target(seed), PlainPolicy(), prompt, 20)
    hostile = DrawnPolicy(lambda root: data.draw(trees(n_vocab=TINY.n_vocab, root=root)))
    assert decode(tiny_target(seed), hostile, prompt, 20) == plain


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 5), prompts, st.data())
def test_trees_that_hold_the_truth_leave_the_output_as_it_is(
    seed: int, prompt: list[int], data: st.DataObject
) -> None:
    plain = decode(tiny_target(seed), PlainPolicy(), prompt, 20)
    produced: list[int] = []

    def truth_with_noise(root: int) -> DraftTree:
        """Part of the true continuation as a scattered path among wrong siblings."""
        start = len(policy_context) - len(prompt)
        true_path = plain[start : start + data.draw(st.integers(0, 6))]
        token_ids, parents, last = [root], [-1], 0
        for token in true_path:
            if data.draw(st.booleans()):
                wrong = (token + 1) % TINY.n_vocab
                token_ids.append(wrong)
                parents.append(last)
            token_ids.append(token)
            parents.append(last)
            last = len(token_ids) - 1
        return DraftTree(tuple(token_ids), tuple(parents))

    policy = DrawnPolicy(truth_with_noise)
    policy_context: list[int] = []
    remember = policy.extend

    def extend(token_ids: Sequence[int]) -> None:
        policy_context.extend(token_ids)
        remember(token_ids)

    policy.extend = extend  # type: ignore[method-assign]
    produced = decode(tiny_target(seed), policy, prompt, 20)
    assert produced == plain


@settings(max_examples=40, deadline=None)
@given(st.lists(prompts, min_size=1, max_size=3))
def test_spine_trees_with_shared_memory_leave_the_output_as_it_is(asked: list[list[int]]) -> None:
    target, memory = tiny_target(max_tokens=80), Memory(AdjacencyTable(k=4))
    for prompt in asked:
        drafter = Drafter(memory, END)
        assert decode(target, drafter, prompt, 30, memory.table) == decode(
            tiny_target(max_tokens=80), PlainPolicy(), prompt, 30
        )


@given(prompts, st.integers(1, 6))
@settings(max_examples=30, deadline=None)
def test_a_full_cache_ends_the_text_in_both_modes_alike(prompt: list[int], n_left: int) -> None:
    max_tokens = len(prompt) + n_left
    table = AdjacencyTable(k=4)
    drafter = Drafter(Memory(table), END)
    plain = decode(tiny_target(max_tokens=max_tokens), PlainPolicy(), prompt, 50)
    assert decode(tiny_target(max_tokens=max_tokens), drafter, prompt, 50, table) == plain


@pytest.mark.model
@pytest.mark.timeout(900)
def test_the_embedded_model_says_the_same_on_twenty_real_prompts() -> None:
    records = read_data_set("humaneval")[:20]
    options = LoadOptions("auto", 1024, 1, cache_dir())
    model = load_model("embedded", embedded_model(), options)
    ends = model.tokenizer.control_ids
    target, memory = Target(model.forward, 8), Memory()

    def run(prompt: list[int], policy: Policy, memory: AdjacencyTable | None) -> list[int]:
        target.clear()
        decoder = Decoder(target, policy, DecodeLimits(48, 16, ends), CancelToken(), memory)
        decoder.prefill(prompt)
        return [token for step in decoder.steps() for token, _ in step]

    for record in records:
        prompt = model.tokenizer.encode(record["prefix"])
        drafter = Drafter(memory, ends)
        assert run(prompt, drafter, memory.table) == run(prompt, PlainPolicy(), None), record["id"]
