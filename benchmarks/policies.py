"""Drafting policies by name: the one place that knows how each is made."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from importlib import import_module
from typing import Any

from goose_lsp.draft.drafter import Drafter
from goose_lsp.draft.policy import IsFinal, Memory, PlainPolicy, Policy
from goose_lsp.errors import GooseError

AUTO = "auto"  # the policy chooses the budget of every step by the engine's own prices
Budget = int | str  # draft nodes without the root, or AUTO
MakeBaseline = Callable[[Memory, IsFinal, int], Policy]

COPY_ONLY, TABLE_ONLY = "goose-copy-only", "goose-table-only"
# Either source of `goose` alone: what its trees must not fall behind.
_SWITCHES: dict[str, dict[str, Any]] = {
    "goose": {},
    COPY_ONLY: {"use_table": False},
    TABLE_ONLY: {"use_copies": False},
}
MAX_NODES = 95  # the 8-bit kernels take a pass of 96 rows, root included
# Policies with several settings: a reader gets the better one.
FAMILIES: dict[str, tuple[str, ...]] = {
    "pld": ("pld-transformers", "pld"),
    "isotropic": ("isotropic-3", "isotropic-5"),
}
# The published algorithm adds up to two thirds to its budget where a match is good.
_BORROWED = {"goose-paper": 5 / 3}
QUICK = ("plain", "pld", "token-recycling", "isotropic", "sequoia", "goose-paper", "goose")
ALL = (*QUICK[:2], "token-recycling-static", *QUICK[2:5], "suffix", "sam-switch", *QUICK[5:])
# Policies that never look at the adjacency table: filling it would only slow them down.
_WITHOUT_TABLE = frozenset({"plain", "pld-transformers", "pld", "suffix", COPY_ONLY})


class MissingPolicyError(GooseError):
    """This version has no policy of that name."""


@dataclass(frozen=True, slots=True)
class Config:
    policy: str
    budget: Budget


PLAIN = Config("plain", 0)


def expand(names: Sequence[str]) -> list[str]:
    """Every setting of the named families, each once, in order."""
    return list(dict.fromkeys(m for name in names for m in FAMILIES.get(name, (name,))))


def configs_of(names: Sequence[str], budgets: Sequence[Budget]) -> list[Config]:
    """All pairs that make sense: only `goose` chooses its own budget, plain decoding has none."""
    return [
        Config(name, budget)
        for name in expand(names)
        for budget in budgets
        if name != "plain" and (budget != AUTO or name == "goose")
    ]


def uses_table(name: str) -> bool:
    return name not in _WITHOUT_TABLE


def max_nodes(config: Config, cost_table: Sequence[float]) -> int:
    """Draft nodes a step may have; a policy may keep below it."""
    if not isinstance(config.budget, int):
        return len(cost_table) - 1
    return min(int(config.budget * _BORROWED.get(config.policy, 1.0)), MAX_NODES)


def make_policy(
    name: str, memory: Memory, end_ids: frozenset[int], budget: Budget, cost_table: Sequence[float]
) -> Policy:
    """A drafter for one request; raises `MissingPolicyError`. Nothing is drafted after an end id.

    `cost_table` holds T for 1, 2, … nodes in any unit; it counts under the budget `AUTO` only.
    """
    if name == "plain":
        return PlainPolicy()
    if name in _SWITCHES:
        switches = _SWITCHES[name]
        if not switches.keys() <= {field.name for field in fields(Drafter)}:
            raise MissingPolicyError(f"goose has no switch {', '.join(switches)} yet for {name}")
        prices = cost_table if budget == AUTO else ()
        return Drafter(memory, end_ids, prices, **switches)
    if not isinstance(budget, int):
        raise GooseError(f"{name} takes a number of nodes as budget, not {budget!r}")
    makers = baselines()
    if name not in makers:
        known = ", ".join(["plain", *_SWITCHES, *makers])
        raise MissingPolicyError(f"there is no policy {name}; known here: {known}")
    return makers[name](memory, end_ids.__contains__, budget)


def baselines() -> Mapping[str, MakeBaseline]:
    """The rivals by name; empty where this version has none."""
    try:
        module = import_module("goose_lsp.draft.baselines")
    except ModuleNotFoundError:
        return {}
    found: Mapping[str, MakeBaseline] = getattr(module, "BASELINES", {})
    return found


def missing(names: Sequence[str]) -> dict[str, str]:
    """Which of the policies cannot be made, and why."""
    faults: dict[str, str] = {}
    for name in expand(names):
        try:
            make_policy(name, Memory(), frozenset(), 1, ())
        except MissingPolicyError as error:
            faults[name] = str(error)
    return faults
