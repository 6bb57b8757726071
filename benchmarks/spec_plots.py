"""Plots of the speculation benchmark's result: PNG and SVG through matplotlib, an optional extra."""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.policies import FAMILIES
from goose_lsp.errors import GooseError

HOW_TO_PLOT = "pip install 'goose-lsp[bench]'"
# Okabe and Ito's colours, told apart by every kind of colour vision; `goose` takes the first.
_COLOURS = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
_MARKERS = "osD^vPX*"


def check_matplotlib() -> None:
    """Raises `GooseError` without it; a long run asks first."""
    if find_spec("matplotlib") is None:
        raise GooseError(f"plots need matplotlib; get it with: {HOW_TO_PLOT}")


def save_plots(result: dict[str, Any], folder: Path) -> list[Path]:
    """Accepted length by budget and speed-up by set, each as PNG and SVG."""
    check_matplotlib()
    folder.mkdir(parents=True, exist_ok=True)
    figures = {"accepted-length": _length_figure(result), "speed-up": _speedup_figure(result)}
    files = []
    for name, figure in figures.items():
        for ending in ("png", "svg"):
            files.append(folder / f"speculation-{name}.{ending}")
            figure.savefig(files[-1], dpi=150, bbox_inches="tight")
    return files


def _length_figure(result: dict[str, Any]) -> Any:
    from matplotlib.figure import Figure  # noqa: PLC0415  optional

    figure = Figure(figsize=(8, 5))
    axes = figure.add_subplot()
    ends, ticks = [], set[int]()
    for i, (name, by_budget) in enumerate(_ordered(result["macro"])):
        points = sorted((int(b), length) for b, length in by_budget.items() if b.isdigit())
        if name == "plain" or not points:
            continue
        axes.plot(*zip(*points, strict=True), color=_colour(i), marker=_MARKERS[i % len(_MARKERS)])
        ticks.update(budget for budget, _ in points)
        ends.append((points[-1][1], points[-1][0], name, _colour(i)))
    for y, (length, budget, name, colour) in zip(_apart([e[0] for e in ends]), ends, strict=True):
        arrow = {"arrowstyle": "-", "color": colour, "lw": 0.5}
        axes.annotate(name, (budget, length), (budget * 1.15, y), color=colour, arrowprops=arrow)
    axes.set_xscale("log", base=2)
    axes.set_xticks(sorted(ticks), [str(budget) for budget in sorted(ticks)])
    axes.set_xlabel("budget (draft nodes)")
    axes.set_ylabel("tokens committed per pass")
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def _speedup_figure(result: dict[str, Any]) -> Any:
    from matplotlib.figure import Figure  # noqa: PLC0415  optional

    best = result["macro_speedup_budget"]
    names = [name for name, _ in _ordered(best) if name != "plain"]
    sets = list(dict.fromkeys(row["set"] for row in result["rows"]))
    figure = Figure(figsize=(max(6.0, 1.6 * len(sets)), 4.5))
    axes = figure.add_subplot()
    width = 0.8 / max(len(names), 1)
    for i, name in enumerate(names):
        bars = [_speedup_of(result, s, name, best[name]) for s in sets]
        places = [x - 0.4 + (i + 0.5) * width for x in range(len(sets))]
        drawn = axes.bar(places, bars, width, color=_colour(i))
        axes.bar_label(drawn, [name] + [""] * (len(sets) - 1), rotation=90, padding=2, fontsize=7)
    axes.axhline(1.0, color="#000000", lw=0.8)
    axes.set_xticks(range(len(sets)), sets, rotation=20)
    axes.set_ylabel("speed-up over plain decoding")
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def _speedup_of(result: dict[str, Any], set_name: str, policy: str, budget: object) -> float:
    """0 where the set was not run with it."""
    members = FAMILIES.get(policy, (policy,))
    found = [
        row["speedup"] or 0.0
        for row in result["rows"]
        if (row["set"], row["budget"]) == (set_name, budget) and row["policy"] in members
    ]
    return max(found, default=0.0)


def _ordered(by_policy: dict[str, Any]) -> list[tuple[str, Any]]:
    """`goose` first, so that it has its colour in every plot."""
    return sorted(by_policy.items(), key=lambda item: item[0] != "goose")


def _colour(i: int) -> str:
    return _COLOURS[i % len(_COLOURS)]


def _apart(heights: Sequence[float], gap: float = 0.12) -> list[float]:
    """The heights moved up as little as keeps labels from lying on each other."""
    moved = list(heights)
    lowest = float("-inf")
    for i in sorted(range(len(moved)), key=lambda i: moved[i]):
        moved[i] = lowest = max(moved[i], lowest + gap)
    return moved
