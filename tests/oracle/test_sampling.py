"""The promise at a temperature: the tokens drawn down a tree are those plain decoding draws."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from random import Random

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from goose_lsp.cancel import CancelToken
from goose_lsp.draft.accept import Acceptance
from goose_lsp.draft.bigrams import AdjacencyTable
from goose_lsp.draft.drafter import Drafter
from goose_lsp.draft.policy import Memory, PlainPolicy, Policy
from goose_lsp.draft.tree import DraftTree, chain
from goose_lsp.engine.decode import DecodeLimits, Decoder
from goose_lsp.engine.sample import Sampling
from goose_lsp.engine.verify import Target
from tests.laws import check_law
from tests.strategies import trees
from tests.tiny import int8_target, tiny_target

END = frozenset({0})
N = 24
PROMPT = [3, 1, 4, 1, 5, 9, 2, 6]
prompts = st.lists(st.integers(0, 23), min_size=1, max_size=24)
samplings = st.builds(
    Sampling,
    st.sampled_from([0.3, 0.8, 1.0, 1.5]),
    st.sampled_from([0, 0, 3, 10]),
    st.sampled_from([0.5, 0.95, 1.0]),
    st.integers(0, 2**32 - 1),
)


@cache
def float64_target(seed: int) -> Target:
    return tiny_target(seed, torch.float64, max_tokens=128)


@cache
def cached_int8_target(seed: int) -> Target:
    return int8_target(seed, max_tokens=128)


TARGETS = pytest.mark.parametrize("target_of", [float64_target, cached_int8_target])
TargetOf = Callable[[int], Target]


@dataclass(slots=True)
class TreePolicy:
    """Drafts what a function of the context says."""

    make: Callable[[list[int]], DraftTree]
    context: list[int] = field(default_factory=list)

    def extend(self, token_ids: Sequence[int]) -> None:
        self.context.extend(token_ids)

    def draft(self, max_nodes: int, max_depth: int) -> DraftTree:
        del max_nodes, max_depth  # a hostile source does not care
        return self.make(self.context)

    def learn(self, tree: DraftTree, acceptance: Acceptance) -> None:
        pass


def decode(
    target: Target,
    policy: Policy,
    prompt: list[int],
    sampling: Sampling | None,
    table: AdjacencyTable | None = None,
    n: int = N,
) -> tuple[list[int], int]:
    """(output, accepted draft tokens), with nothing cached before."""
    target.clear()
    limits = DecodeLimits(n, max_nodes=12, end_ids=END)
    decoder = Decoder(target, policy, limits, CancelToken(), table, sampling=sampling)
    decoder.prefill(prompt)
    return [token for step in decoder.steps() for token, _ in step], decoder.stats.n_accepted


def plain(target: Target, prompt: list[int], sampling: Sampling | None, n: int = N) -> list[int]:
    return decode(target, PlainPolicy(), prompt, sampling, n=n)[0]


def truth_with_noise(
    context: list[int], prompt: list[int], truth: list[int], random: Random
) -> DraftTree:
    """Part of the true continuation as a scattered path among wrong siblings."""
    start = len(context) - len(prompt)
    token_ids, parents, last = [context[-1]], [-1], 0
    for token in truth[start : start + random.randint(0, 6)]:
        if random.random() < 0.5:
            token_ids.append((token + 1) % 24 if token < 24 else token - 1)
            parents.append(last)
        token_ids.append(token)
        parents.append(last)
        last = len(token_ids) - 1
    return DraftTree(tuple(token_ids), tuple(parents))


@TARGETS
@settings(max_examples=40, deadline=None)
@given(st.integers(0, 3), prompts, samplings, st.data())
def test_hostile_random_trees_leave_the_draws_as_they_are(
    target_of: TargetOf, seed: int, prompt: list[int], sampling: Sampling, data: st.DataObject
) -> None:
    target = target_of(seed)
    hostile = TreePolicy(lambda context: data.draw(trees(n_vocab=24, root=context[-1])))
    drafted, _ = decode(target, hostile, prompt, sampling)
    assert drafted == plain(target, prompt, sampling)


@TARGETS
@settings(max_examples=40, deadline=None)
@given(st.integers(0, 3), prompts, samplings, st.randoms(use_true_random=False))
def test_trees_that_hold_the_draws_to_come_leave_them_as_they_are(
    target_of: TargetOf, seed: int, prompt: list[int], sampling: Sampling, random: Random
) -> None:
    target = target_of(seed)
    truth = plain(target, prompt, sampling)
    policy = TreePolicy(lambda context: truth_with_noise(context, prompt, truth, random))
    assert decode(target, policy, prompt, sampling)[0] == truth


@TARGETS
@settings(max_examples=25, deadline=None)
@given(st.lists(prompts, min_size=1, max_size=3), samplings)
def test_the_drafter_leaves_the_draws_as_they_are(
    target_of: TargetOf, asked: list[list[int]], sampling: Sampling
) -> None:
    target, memory = target_of(0), Memory(AdjacencyTable(k=4))
    for prompt in asked:
        drafted, _ = decode(target, Drafter(memory, END), prompt, sampling, memory.table)
        assert drafted == plain(target, prompt, sampling)


@TARGETS
@pytest.mark.parametrize("seed", range(5))
def test_right_drafts_are_accepted_at_a_temperature_too(target_of: TargetOf, seed: int) -> None:
    target, sampling = target_of(seed), Sampling(1.0, seed=seed)
    truth = plain(target, PROMPT, sampling)
    ahead = TreePolicy(lambda context: chain(context[-1], truth[len(context) - len(PROMPT) :][:4]))
    drafted, n_accepted = decode(target, ahead, PROMPT, sampling)
    assert drafted == truth
    assert n_accepted >= len(truth) - 1 - len(truth) // 5


@TARGETS
def test_another_seed_draws_other_tokens_and_no_temperature_draws_the_best(
    target_of: TargetOf,
) -> None:
    target = target_of(1)
    texts = {tuple(plain(target, PROMPT, Sampling(1.0, seed=seed))) for seed in range(10)}
    assert len(texts) == 10
    assert plain(target, PROMPT, Sampling(0.0, seed=5)) == plain(target, PROMPT, None)


@TARGETS
@pytest.mark.parametrize("n_kept", [1, 2, 5])
def test_draws_depend_on_the_place_in_the_context_alone(target_of: TargetOf, n_kept: int) -> None:
    """A request that starts where another has been goes on as that one did."""
    target, sampling = target_of(2), Sampling(1.0, seed=7)
    drawn = plain(target, PROMPT, sampling)
    assert len(drawn) > n_kept
    resumed = plain(target, PROMPT + drawn[:n_kept], sampling, n=N - n_kept)
    assert resumed == drawn[n_kept:]


@TARGETS
@pytest.mark.parametrize("children", [[], [5], list(range(1, 24))], ids=len)
def test_the_first_token_follows_the_models_law_whatever_the_tree(
    target_of: TargetOf, children: list[int]
) -> None:
    target = target_of(0)
    tree = DraftTree((PROMPT[-1], *children), (-1, *[0] * len(children)))
    limits = DecodeLimits(1, max_nodes=30, end_ids=frozenset())
    target.clear()
    drawn = []
    for seed in range(1500):
        policy, sampling = TreePolicy(lambda _: tree), Sampling(1.0, seed=seed)
        decoder = Decoder(target, policy, limits, CancelToken(), sampling=sampling)
        decoder.prefill(PROMPT)
        ((token, _),) = next(decoder.steps())
        drawn.append(token)
    target.reuse(PROMPT[:-1])
    logits = target.logits(chain(PROMPT[-1], []))[0].astype(np.float64)
    probabilities = np.exp(logits - logits.max())
    check_law(drawn, dict(enumerate(probabilities / probabilities.sum())))
