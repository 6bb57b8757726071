"""The device's own price list: T(n), what it costs to verify n nodes in one pass."""

from collections.abc import Callable
from time import perf_counter

from goose_lsp.draft.budget import StepCost
from goose_lsp.draft.tree import chain
from goose_lsp.engine.verify import Target

# Nodes in all, root included. Kept few: the measurement is part of every load.
SIZES = (1, 2, 4, 8, 16, 32)
# Cached tokens while measuring; a typical prompt.
N_CONTEXT = 512


def measure_step_cost(
    target: Target,
    sizes: tuple[int, ...] = SIZES,
    repeats: int = 3,
    clock: Callable[[], float] = perf_counter,
) -> StepCost:
    """Time verification at each size, harvest included; the fastest of `repeats` counts.

    Sizes take turns, so that a busy moment of the machine falls on all of them alike. Clears the cache.
    """
    n_context = min(N_CONTEXT, target.max_tokens - max(sizes))
    target.occupy(n_context)
    fastest = dict.fromkeys(sizes, float("inf"))
    target.verify(chain(0, []))  # the first pass of a process pays for lazy set-up
    for _ in range(repeats):
        for n in sizes:
            tree = chain(0, [0] * (n - 1))
            started = clock()
            target.verify(tree)
            fastest[n] = min(fastest[n], clock() - started)
    target.clear()
    return StepCost(sizes, tuple(seconds * 1e3 for seconds in fastest.values()))
