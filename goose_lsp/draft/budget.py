"""How many nodes to verify: the most committed tokens per millisecond on this device."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StepCost:
    """T(n), ms for verifying n nodes (root included), between measured points linear, flat before.

    Padding up to a cheaper size is always allowed, so the curve is its own running minimum from the
    right: it never falls as n grows.
    """

    sizes: tuple[int, ...]  # ascending, starts with 1
    times_ms: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.sizes or self.sizes[0] != 1 or list(self.sizes) != sorted(set(self.sizes)):
            raise ValueError(f"sizes {self.sizes} must ascend from 1")
        if len(self.times_ms) != len(self.sizes) or min(self.times_ms) <= 0:
            raise ValueError(f"{len(self.sizes)} sizes need as many positive times")

    def at(self, n: int) -> float:
        times = self.monotone()
        for (size, time), (next_size, next_time) in zip(
            zip(self.sizes, times, strict=True),
            zip(self.sizes[1:], times[1:], strict=True),
            strict=False,
        ):
            if n <= next_size:
                return time + (next_time - time) * (n - size) / (next_size - size)
        if len(times) == 1:
            return times[0] * n
        slope = (times[-1] - times[-2]) / (self.sizes[-1] - self.sizes[-2])
        return times[-1] + slope * (n - self.sizes[-1])

    def monotone(self) -> list[float]:
        times = list(self.times_ms)
        for i in range(len(times) - 2, -1, -1):
            times[i] = min(times[i], times[i + 1])
        return times

    def table(self, max_nodes: int) -> list[float]:
        """T for 1 … max_nodes + 1 nodes in all: entry k is the cost of k draft nodes."""
        return [self.at(k + 1) for k in range(max_nodes + 1)]


def best_n_nodes(values: Sequence[float], cost_table: Sequence[float]) -> int:
    """The k that maximises E_k / T(k + 1), with E_k = 1 + the sum of the k largest node values.

    `values` are the draft nodes' values in the order the tree grew; every k is looked at, because a
    measured T is neither convex nor smooth.
    """
    best, best_rate, expected = 0, 1.0 / cost_table[0], 1.0
    for k, value in enumerate(values[: len(cost_table) - 1], start=1):
        expected += value
        rate = expected / cost_table[k]
        if rate > best_rate:
            best, best_rate = k, rate
    return best
