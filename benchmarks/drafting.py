"""What one draft costs when the context is long and the table knows a successor of everything."""

import random
from collections.abc import Sequence
from statistics import median
from time import perf_counter

import numpy as np

from benchmarks.policies import make_policy
from benchmarks.prompts import Prompt
from goose_lsp.draft.bigrams import NO_TOKEN
from goose_lsp.draft.policy import Memory

N_CONTEXT, BUDGET, MAX_DEPTH, N_DRAFTS = 100_000, 60, 64, 64
# How sure the target was of its 1st, 2nd … choice: about what is seen at real tokens.
_PROBABILITIES = (0.5, 0.2, 0.1, 0.06, 0.04, 0.03, 0.02, 0.01)


def draft_ms(prompts: Sequence[Prompt], n_context: int = N_CONTEXT) -> float:
    """Median time of one draft of `BUDGET` nodes by `goose` behind `n_context` tokens, in ms."""
    text = long_text([prompt.token_ids for prompt in prompts], n_context + N_DRAFTS)
    policy = make_policy("goose", full_memory(text), frozenset(), BUDGET, ())
    policy.extend(text[:n_context])
    times = []
    for token in text[n_context:]:
        began = perf_counter()
        policy.draft(BUDGET, MAX_DEPTH)
        times.append((perf_counter() - began) * 1e3)
        policy.extend([token])
    return median(times)


def long_text(texts: Sequence[Sequence[int]], n_tokens: int) -> list[int]:
    """Random pieces of the texts one after the other, so that much of it was there before."""
    rng = random.Random(0)
    tokens: list[int] = []
    while len(tokens) < n_tokens:
        text = rng.choice(texts)
        start = rng.randrange(len(text))
        tokens += text[start : start + rng.randint(20, 400)]
    return tokens[:n_tokens]


def full_memory(text: Sequence[int]) -> Memory:
    """A table that knows what follows every pair of the text, the true successor first."""
    memory = Memory()
    rng = np.random.default_rng(0)
    others = rng.choice(np.array(text), (len(text) - 1, len(_PROBABILITIES)))
    others[:, 0] = text[1:]
    probabilities = np.tile(np.array(_PROBABILITIES, np.float32), (len(others), 1))
    memory.table.harvest([NO_TOKEN, *text[:-2]], text[:-1], others, probabilities)
    return memory
