"""Plots of the speculation benchmark's result: PNG and SVG through matplotlib, an optional extra."""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.policies import FAMILIES
from goose_lsp.errors import GooseError

HOW_TO_PLOT = "pip install 'goose-lsp[bench]'"
# Colour and marker of what is drawn: Okabe and Ito's colours, told apart by every kind of colour vision.
_STYLES = {
    "goose": ("#D55E00", "o"),
    "goose-paper": ("#0072B2", "s"),
    "pld": ("#009E73", "D"),
    "token-recycling": ("#CC79A7", "^"),
    "isotropic": ("#E69F00", "v"),
    "sequoia": ("#56B4E9", "P"),
    "suffix": ("#000000", "X"),
    "sam-switch": ("#999999", "*"),
}
_LABEL_GAP = 0.045  # of the axis


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
    for name, by_budget in _plotted(result["macro"]):
        points = sorted((int(b), length) for b, length in by_budget.items() if b.isdigit())
        if points:
            colour, marker = _STYLES[name]
            axes.plot(*zip(*points, strict=True), color=colour, marker=marker)
            ticks.update(budget for budget, _ in points)
            ends.append((*points[-1], name))
    gap = _LABEL_GAP * (axes.get_ylim()[1] - axes.get_ylim()[0])
    heights = apart([length for _, length, _ in ends], gap)
    for height, (budget, length, name) in zip(heights, ends, strict=True):
        colour = _STYLES[name][0]
        style = {"color": colour, "arrowprops": {"arrowstyle": "-", "color": colour, "lw": 0.5}}
        axes.annotate(name, (budget, length), (budget * 1.25, height), va="center", **style)
    axes.set_xscale("log", base=2)
    axes.set_xticks(sorted(ticks), [str(budget) for budget in sorted(ticks)])
    axes.set_xlabel("budget (draft nodes)")
    axes.set_ylabel("tokens committed per pass")
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def _speedup_figure(result: dict[str, Any]) -> Any:
    from matplotlib.figure import Figure  # noqa: PLC0415  optional

    best = result["macro_speedup_budget"]
    names = [name for name, _ in reversed(_plotted(best))]
    sets = list(dict.fromkeys(row["set"] for row in result["rows"]))
    figure = Figure(figsize=(max(6.0, 1.8 * len(sets)), 4.5))
    axes = figure.add_subplot()
    width = 0.8 / max(len(names), 1)
    for i, name in enumerate(names):
        bars = [_speedup_of(result, s, name, best[name]) for s in sets]
        places = [x - 0.4 + (i + 0.5) * width for x in range(len(sets))]
        drawn = axes.bar(places, bars, width, color=_STYLES[name][0])
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


def _plotted(by_policy: dict[str, Any]) -> list[tuple[str, Any]]:
    """What is drawn, `goose` last and so on top; each policy has its colour in every plot."""
    return [(name, by_policy[name]) for name in reversed(_STYLES) if name in by_policy]


def apart(heights: Sequence[float], gap: float) -> list[float]:
    """The heights moved as little as keeps them `gap` apart, in their order (least squares).

    Less `gap` a place, the new heights may not fall: neighbours that would are averaged.
    """
    order = sorted(range(len(heights)), key=heights.__getitem__)
    blocks: list[tuple[float, int]] = []  # mean, size
    for place, i in enumerate(order):
        mean, size = heights[i] - place * gap, 1
        while blocks and blocks[-1][0] > mean:
            below, n = blocks.pop()
            mean, size = (mean * size + below * n) / (size + n), size + n
        blocks.append((mean, size))
    levels = [mean for mean, size in blocks for _ in range(size)]
    moved = {i: levels[place] + place * gap for place, i in enumerate(order)}
    return [moved[i] for i in range(len(heights))]
