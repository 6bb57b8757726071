"""Whether what was drawn follows a law, for tests whose seeds are fixed."""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

Value = TypeVar("Value", bound=Hashable)
# Of the standard normal: one right generator in a million lies beyond.
Z = 4.75


def check_law(drawn: Sequence[Value], law: Mapping[Value, float]) -> None:
    """Pearson's chi-square: fails for a value the law excludes and for counts too far from it."""
    counts = Counter(drawn)
    assert counts.keys() <= {value for value, p in law.items() if p > 0}
    expected = {value: p * len(drawn) for value, p in law.items()}
    rare = [value for value, n in expected.items() if n < 5]
    cells = [(counts[value], n) for value, n in expected.items() if n >= 5]
    cells.append((sum(counts[value] for value in rare), sum(expected[value] for value in rare)))
    statistic = sum((n - mean) ** 2 / mean for n, mean in cells if mean > 1)
    assert statistic < limit(sum(mean > 1 for _, mean in cells) - 1), (counts, expected)


def limit(n_free: int) -> float:
    """The quantile of chi-square at Z (Wilson and Hilferty's approximation, 1931)."""
    if n_free == 0:
        return 1e-9
    spread = 2 / (9 * n_free)
    return float(n_free * (1 - spread + Z * spread**0.5) ** 3)
