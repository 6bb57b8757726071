"""The device's own price list: T(n), what it costs to verify n nodes in one pass, and what a prompt costs."""

import json
import logging
import math
import os
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from goose_lsp.cancel import CancelToken
from goose_lsp.draft.budget import StepCost
from goose_lsp.draft.tree import chain
from goose_lsp.engine.verify import PREFILL_CHUNK, Target

log = logging.getLogger(__name__)

# Nodes in all, root included. Kept few: the measurement is part of every load.
SIZES = (1, 2, 4, 8, 16, 32, 64)
# Cached tokens while measuring; a typical prompt.
N_CONTEXT = 512
# The longest a pass over a prompt may take, where 8 tokens do not take longer.
CHUNK_MS = 100.0
# A measurement goes on for so long and so often at most.
LIMIT_S, REPEATS = 1.6, 5
# Kept prices stand while none of a few fresh looks is off by more than this factor from the others.
TOLERANCE = 1.5
# A size's price follows the median of this many live steps once half of them are seen.
N_LIVE = 32
# Steps by whose median the machine is called busy.
N_RECENT = 8
# Bounds of what a kept price can be.
MAX_SIZE, MIN_MS = 1024, 1e-6


@dataclass(frozen=True, slots=True)
class Prices:
    """What was measured at once, in ms."""

    step: StepCost
    prefill_token_ms: float

    def scaled(self, factor: float) -> "Prices":
        """The same shape on a machine that takes `factor` times as long."""
        times = tuple(time * factor for time in self.step.times_ms)
        return Prices(StepCost(self.step.sizes, times), self.prefill_token_ms * factor)

    def to_json(self) -> dict[str, object]:
        return {
            "sizes": self.step.sizes,
            "times_ms": self.step.times_ms,
            "prefill_token_ms": self.prefill_token_ms,
        }


def measure(
    target: Target,
    sizes: tuple[int, ...] = SIZES,
    repeats: int = REPEATS,
    clock: Callable[[], float] = perf_counter,
) -> Prices:
    """Time verification at each size, harvest included, and a chunk of prompt; the fastest try counts.

    Sizes take turns, so that a busy moment of the machine falls on all of them alike. Sizes that do not fit
    into the context are left out. Clears the cache.
    """
    sizes = sizes_for(target, sizes)
    n_context = min(N_CONTEXT, target.max_tokens - max(*sizes, 2))
    target.occupy(n_context)
    target.verify(chain(0, []))  # the first pass of a process pays for lazy set-up
    fastest = dict.fromkeys(sizes, math.inf)
    began = clock()
    for _ in range(repeats):
        for n in sizes:
            fastest[n] = min(fastest[n], _time_step(target, n, clock))
        if clock() - began > LIMIT_S:
            break
    prefill_ms = _time_prefill(target, clock)
    target.clear()
    return Prices(StepCost(sizes, tuple(fastest.values())), prefill_ms)


def sizes_for(target: Target, sizes: tuple[int, ...] = SIZES) -> tuple[int, ...]:
    """Those that fit into half the context and into a pass."""
    most = min(target.max_tokens // 2, target.max_rows)
    return tuple(n for n in sizes if n <= most) or (1,)


def best_threads(
    target: Target, most: int, clock: Callable[[], float] = perf_counter, repeats: int = 3
) -> int:
    """How many threads verify eight nodes fastest; fewer where more gain less than a twentieth."""
    n_nodes = min(8, target.max_tokens // 2)
    target.occupy(min(N_CONTEXT, target.max_tokens - n_nodes))
    fastest = dict.fromkeys(range(1, most + 1), math.inf)
    for _ in range(repeats):
        for n in fastest:
            target.forward.use_threads(n)
            fastest[n] = min(fastest[n], _time_step(target, n_nodes, clock))
    target.clear()
    limit = 1.05 * min(fastest.values())
    best = next(n for n, time in fastest.items() if time <= limit)
    target.forward.use_threads(best)
    return best


def _time_step(target: Target, n: int, clock: Callable[[], float]) -> float:
    tree = chain(0, [0] * (n - 1))
    started = clock()
    target.verify(tree)
    return (clock() - started) * 1e3


def _time_prefill(target: Target, clock: Callable[[], float]) -> float:
    n = min(PREFILL_CHUNK, target.max_tokens // 2)
    target.occupy(target.max_tokens - n if target.max_tokens < N_CONTEXT + n else N_CONTEXT)
    token_ids = [*target.cached_ids, *[0] * n]
    started = clock()
    list(target.prefill(token_ids, CancelToken()))
    return (clock() - started) * 1e3 / n


def chunk_for(prefill_token_ms: float) -> int:
    """Prompt tokens per pass, so that a request overtaken by typing is noticed within `CHUNK_MS`."""
    return max(8, min(PREFILL_CHUNK, int(CHUNK_MS / prefill_token_ms)))


class PriceBook:
    """Prices on disk, by what they depend on: model, dtype, device, threads. Damage means measuring anew."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def price(self, key: str, target: Target) -> Prices:
        """Kept prices, at today's pace, if a few fresh steps agree with their shape; else fresh ones, kept."""
        kept = self._read().get(key)
        pace = None if kept is None else _pace(kept, target)
        if kept is not None and pace is not None:
            return kept.scaled(pace)
        prices = measure(target)
        self._write({**self._read(), key: prices})
        return prices

    def _read(self) -> dict[str, Prices]:
        try:
            return dict(_parse(json.loads(self._file.read_text("utf-8"))))
        except (OSError, ValueError, AttributeError, RecursionError):
            return {}

    def _write(self, book: dict[str, Prices]) -> None:
        temporary = self._file.with_name(f"{self._file.name}.{os.getpid()}")
        text = json.dumps({key: prices.to_json() for key, prices in book.items()}, indent=1)
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_text(text, "utf-8")
            temporary.replace(self._file)
        except OSError as error:
            log.debug("%s: %s", self._file, error)


def _parse(document: dict[str, Any]) -> Iterator[tuple[str, Prices]]:
    """The entries that can be prices; others are left out."""
    for key, entry in document.items():
        with suppress(ValueError, TypeError, KeyError, AttributeError):
            sizes, times = tuple(entry["sizes"]), tuple(entry["times_ms"])
            prefill_ms = entry["prefill_token_ms"]
            if all(type(n) is int and n <= MAX_SIZE for n in sizes) and all(
                isinstance(t, float | int) and MIN_MS <= t < math.inf for t in (*times, prefill_ms)
            ):
                yield key, Prices(StepCost(sizes, times), prefill_ms)


def _pace(kept: Prices, target: Target) -> float | None:
    """How much longer a few fresh steps take than the kept prices say; None where the shape has changed."""
    if kept.step.sizes != sizes_for(target):
        return None
    looks = [n for n in kept.step.sizes if n in {1, 8, 32}]
    fresh = measure(target, tuple(looks), repeats=2)
    ratios = [fresh.step.at(n) / kept.step.at(n) for n in looks]
    return median(ratios) if max(ratios) / min(ratios) < TOLERANCE else None


@dataclass(slots=True)
class LiveCost:
    """Measured prices corrected by the steps that were really run."""

    prices: Prices
    _live: dict[int, deque[float]] = field(default_factory=dict)  # size → live ÷ measured
    _recent: deque[float] = field(default_factory=lambda: deque(maxlen=N_RECENT))

    def observe(self, n_nodes: int, seconds: float) -> None:
        """One verification of n nodes took this long."""
        base = self.prices.step
        ratio = seconds * 1e3 / base.at(n_nodes)
        size = min(base.sizes, key=lambda s: abs(math.log(s / n_nodes)))
        self._live.setdefault(size, deque(maxlen=N_LIVE)).append(ratio)
        self._recent.append(ratio)

    def slowdown(self) -> float:
        """Live ÷ measured, the median of the last few steps; 1 until there are some."""
        return median(self._recent) if len(self._recent) == N_RECENT else 1.0

    def forget_recent(self) -> None:
        """Judge anew: the conditions have changed."""
        self._recent.clear()

    def step_cost(self) -> StepCost:
        """T(n) as it is now. Sizes seldom run move with the others, so that the shape stays."""
        known = {s: median(r) for s, r in self._live.items() if len(r) >= N_LIVE // 2}
        if not known:
            return self.prices.step
        common = median(known.values())
        base = self.prices.step
        factors = [known.get(size, common) for size in base.sizes]
        times = (t * factor for t, factor in zip(base.times_ms, factors, strict=True))
        return StepCost(base.sizes, tuple(times))
