"""The speculation benchmark's tables for people."""

from typing import Any

from rich.console import Console
from rich.table import Table

MIN_WIDTH = 132  # columns; a file or a pipe takes as many as the tables need


def print_tables(result: dict[str, Any]) -> None:
    console = Console()
    console.width = max(console.width, MIN_WIDTH)
    console.print(_macro_table(result))
    console.print(_set_table(result))
    console.print(_rest_table(result))
    for name, fault in result["missing_policies"].items():
        console.print(f"left out: {name}: {fault}", markup=False)


def _macro_table(result: dict[str, Any]) -> Table:
    """Accepted lengths by budget, and the speed-up at the best one."""
    macro, speedups = result["macro"], result["macro_speedup"]
    budgets = list(dict.fromkeys(b for by_budget in macro.values() for b in by_budget))
    budgets.sort(key=lambda budget: int(budget) if budget.isdigit() else 1 << 30)
    table = Table("policy", *budgets, "speed-up", "at", "slowest set", title="mean accepted length")
    for name, by_budget in macro.items():
        lengths = [f"{by_budget[b]:.2f}" if b in by_budget else "" for b in budgets]
        at = str(result["macro_speedup_budget"].get(name, ""))
        slowest = _number(result["min_set_speedup"].get(name))
        table.add_row(name, *lengths, _number(speedups.get(name)), at, slowest)
    return table


def _set_table(result: dict[str, Any]) -> Table:
    """`goose` on every set, at its own choice of budget or the largest one."""
    columns = ("set", "budget", "accepted", "nodes", "tok/s", "speed-up", "draft", "harvest")
    table = Table(
        *columns, "spine", "branch", "bonus", "synergy", "differing", title="goose by set"
    )
    rows = {row["set"]: row for row in result["rows"] if row["policy"] == "goose"}
    for name, row in rows.items():
        shares = [f"{row[key]:.0%}" for key in ("draft_share", "harvest_share")]
        shares += [f"{row[f'{kind}_share']:.0%}" for kind in ("spine", "branch", "bonus")]
        table.add_row(
            *(name, str(row["budget"]), f"{row['mean_accepted_len']:.2f}"),
            *(f"{row['nodes_per_step']:.1f}", f"{row['tok_s']:.1f}", _number(row["speedup"])),
            *(*shares, _number(result["synergy"].get(name)), str(row["differing_tokens"])),
        )
    return table


def _rest_table(result: dict[str, Any]) -> Table:
    table = Table("", "", title=f"{result['mode']}, {result['n']} prompts")
    for key in ("slowest_ratio_vs_plain", "goose_vs_paper_min", "draft_ms_at_60"):
        table.add_row(key, _number(result[key]))
    for fault in result["non_degradation_violations"]:
        place = f"{fault['set']} at {fault['budget']}"
        table.add_row("behind one source", f"{place}: {fault['ours']} < {fault['best']}")
    return table


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
