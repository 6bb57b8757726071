"""Drawing a token at a temperature, so that speculation cannot change which.

A draw adds noise to the logits and takes the largest sum (Gumbel-max). The noise is a function of seed,
position and token id alone: whoever reaches a position with the same logits draws the same token, whether
one token a pass or down a tree.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]
Hashes = npt.NDArray[np.uint64]

# Increment and multipliers of splitmix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number
# generators", 2014): output number i of a stream depends on its start and on i alone.
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MULTIPLIERS = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
_SHIFTS = (np.uint64(30), np.uint64(27), np.uint64(31))
# Noise of 52 bits lies within (-3.7, 36.8): who is further behind than both together never wins.
_NOISE_RANGE = 40.5


@dataclass(frozen=True, slots=True)
class Sampling:
    """How tokens are drawn. Raises `ValueError` for values that mean nothing."""

    temperature: float = 0.0  # 0: always the most probable token
    top_k: int = 0  # only the k most probable; 0: all
    top_p: float = 1.0  # only the fewest, most probable first, that hold this much; 1: all
    seed: int = 0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.temperature) and self.temperature >= 0):
            raise ValueError(f"temperature is {self.temperature}; it must be finite and at least 0")
        if self.top_k < 0:
            raise ValueError(f"top_k is {self.top_k}; it must be at least 0")
        if not 0 <= self.top_p <= 1:
            raise ValueError(f"top_p is {self.top_p}; it must lie between 0 and 1")
        if not 0 <= self.seed < 1 << 64:
            raise ValueError(f"seed is {self.seed}; it must lie between 0 and 2**64 - 1")


def draw_token(logits: Floats, position: int, sampling: Sampling) -> int:
    """One token from [vocab] logits, at least one of them finite; `position` counts the tokens before it."""
    if not sampling.temperature:
        return int(logits.argmax())
    token_ids, scaled = candidates(logits, sampling)
    near = np.flatnonzero(scaled > -_NOISE_RANGE)
    token_ids, scaled = token_ids[near], scaled[near]
    return int(token_ids[np.argmax(scaled + gumbel(sampling.seed, position, token_ids))])


def candidates(logits: Floats, sampling: Sampling) -> tuple[npt.NDArray[np.int64], Doubles]:
    """(ids that may be drawn, ascending; their log probabilities, the best one's taken as 0).

    Temperature, then top-k, then top-p; of equal logits at an edge the lower ids stay.
    """
    # Both tops go by the logits as they are: scaling keeps their order but may make neighbours equal.
    token_ids = _largest(logits, sampling.top_k or len(logits))
    scaled = _scale(logits[token_ids].astype(np.float64), sampling.temperature)
    if sampling.top_p < 1:
        kept = _largest(logits[token_ids], _nucleus_len(scaled, sampling.top_p))
        token_ids, scaled = token_ids[kept], scaled[kept]
    return token_ids, scaled


def gumbel(seed: int, position: int, token_ids: npt.NDArray[np.int64]) -> Doubles:
    """Standard Gumbel noise of every token id at a position: -log(-log(u)), u uniform in (0, 1)."""
    # Every position's stream starts at its own output of the seed's stream.
    start = splitmix64(np.array([seed], np.uint64), np.array([position], np.uint64))
    bits = splitmix64(start, token_ids.astype(np.uint64))
    # 52 bits and a half: with 53 the largest would round to 1, whose noise is infinite.
    uniform = ((bits >> np.uint64(12)) + 0.5) * 2.0**-52
    noise: Doubles = -np.log(-np.log(uniform))
    return noise


def splitmix64(start: Hashes, number: Hashes) -> Hashes:
    """Output `number`, counted from 0, of the stream that starts at `start`."""
    mixed: Hashes = start + (number + np.uint64(1)) * _GOLDEN
    mixed = (mixed ^ (mixed >> _SHIFTS[0])) * _MULTIPLIERS[0]
    mixed = (mixed ^ (mixed >> _SHIFTS[1])) * _MULTIPLIERS[1]
    mixed ^= mixed >> _SHIFTS[2]
    return mixed


def _scale(logits: Doubles, temperature: float) -> Doubles:
    # The best one is 0 at every temperature, and what a tiny one drives out of range can never win.
    with np.errstate(over="ignore"):
        scaled: Doubles = (logits - logits.max()) / temperature
    return scaled


def _largest(values: Floats, n: int) -> npt.NDArray[np.int64]:
    """Indices of the n largest values, ascending; of equals the first, and all where there are no more."""
    if n >= len(values):
        return np.arange(len(values))
    smallest = np.partition(values, -n)[-n]
    above, equal = np.flatnonzero(values > smallest), np.flatnonzero(values == smallest)
    return np.sort(np.concatenate((above, equal[: n - len(above)])))


def _nucleus_len(scaled: Doubles, top_p: float) -> int:
    """How many of the most probable reach `top_p` < 1 of the total; at least one."""
    weights = np.exp(scaled)
    total = weights.sum()
    # All that lie below this hold less than 1 - top_p together: they need no sorting.
    heavy = weights[weights >= (1 - top_p) * total / len(weights)]
    return int(np.searchsorted(np.cumsum(np.sort(heavy)[::-1]), top_p * total)) + 1
