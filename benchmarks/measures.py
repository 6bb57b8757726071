"""From runs to the numbers reported: rows, means over sets, and what they say about the spine tree.

Definitions are in docs/speculation.md; the same words are the keys here.
"""

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean, median
from typing import Any

from benchmarks.policies import AUTO, COPY_ONLY, FAMILIES, PLAIN, TABLE_ONLY, Budget, Config
from benchmarks.prompts import MACRO_SETS
from benchmarks.runs import Run
from goose_lsp.draft.tree import Origin

Results = Mapping[str, Mapping[Config, Run]]  # by set
TOLERANCE = 0.01  # accepted lengths this much apart count as equal


def rows_of(results: Results, mode: str) -> list[dict[str, Any]]:
    """One row for each set, policy and budget."""
    return [
        {"set": name, "policy": config.policy, "budget": config.budget}
        | _row(run, runs[PLAIN], is_live=mode == "live")
        | {"mode": mode}
        for name, runs in results.items()
        for config, run in runs.items()
    ]


def _row(run: Run, plain: Run, *, is_live: bool) -> dict[str, Any]:
    decode_s = run.decode_s or 1.0
    n_rows = run.n_steps + sum(run.n_drafted.values())
    n_tokens = run.n_tokens or 1
    return {
        "mean_accepted_len": round(run.mean_accepted_len, 4),
        "nodes_per_step": round(sum(run.n_drafted.values()) / (run.n_steps or 1), 2),
        "tok_s": round(run.n_tokens / decode_s, 2),
        "speedup": _rounded(ratio(run.tok_s, plain.tok_s)),
        "speedup_cpu": _rounded(ratio(run.cpu_tok_s, plain.cpu_tok_s)) if is_live else None,
        "draft_share": round(run.draft_s / decode_s, 4),
        "harvest_share": round(run.harvest_s / decode_s, 4),
        "spine_share": round(run.origins[Origin.SPINE] / n_tokens, 4),
        "branch_share": round(run.origins[Origin.BRANCH] / n_tokens, 4),
        "bonus_share": round(run.origins[Origin.MODEL] / n_tokens, 4),
        "bypass_steps": run.n_bypass,
        "continuation_steps": run.n_continuation,
        "differing_tokens": run.n_differing,
        "n_prompts": run.n_prompts,
        "n_tokens": run.n_tokens,
        "n_steps": run.n_steps,
        "unknown_row_share": None if is_live else round(run.n_unknown / (n_rows or 1), 4),
    }


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> float | None:
    """The median over prompts; prompts without tokens on either side say nothing."""
    ratios = [a / b for a, b in zip(ours, theirs, strict=True) if a and b]
    return median(ratios) if ratios else None


def summary(results: Results) -> dict[str, Any]:
    """Every key of the result that compares rows."""
    macros = macro(results, lambda runs, config: runs[config].mean_accepted_len)
    speedups = macro(results, _speedup)
    best = {name: max(by_budget, key=by_budget.__getitem__) for name, by_budget in speedups.items()}
    return {
        "macro": {name: _named(by_budget, 4) for name, by_budget in macros.items()},
        "macro_speedup": {n: round(speedups[n][config], 3) for n, config in best.items()},
        "macro_speedup_budget": {n: config.budget for n, config in best.items()},
        "min_set_speedup": {
            name: _rounded(_smallest_speedup(results, config)) for name, config in best.items()
        },
        "synergy": synergies(results),
        "synergy_budget": synergy_budget(results),
        "non_degradation_violations": violations(results),
        "slowest_ratio_vs_plain": _rounded(slowest_ratio(results)),
        "goose_vs_paper_min": _rounded(_against(results, "goose-paper", best)),
    }


def macro(
    results: Results, value: Callable[[Mapping[Config, Run], Config], float | None]
) -> dict[str, dict[Config, float]]:
    """Unweighted means over the macro sets by policy and configuration; of a family its better member.

    A policy has a value at a budget only where every macro set at hand was run with it.
    """
    sets = [runs for name, runs in results.items() if name in MACRO_SETS]
    found: dict[str, dict[Budget, tuple[float, Config]]] = {}
    for config in dict.fromkeys(config for runs in sets for config in runs):
        values = [value(runs, config) if config in runs else None for runs in sets]
        known = [v for v in values if v is not None]
        if len(known) == len(sets):
            by_budget = found.setdefault(_family(config.policy), {})
            mean = fmean(known)
            if config.budget not in by_budget or mean > by_budget[config.budget][0]:
                by_budget[config.budget] = mean, config
    return {
        name: {config: mean for mean, config in by_budget.values()}
        for name, by_budget in found.items()
    }


def synergy_budget(results: Results) -> int | None:
    """The largest number of nodes that `goose` was run with."""
    return max(_goose_budgets(results), default=None)


def synergies(results: Results) -> dict[str, float]:
    """(τ - 1) ÷ ((τ_s - 1) + (τ_b - 1)) - 1 by set.

    τ is the tree's accepted length at `synergy_budget`; τ_s and τ_b are those of its spine's source and
    of its branches' source alone, each with as many nodes as the tree gave it in the mean.
    """
    budget = synergy_budget(results)
    found: dict[str, float] = {}
    for name, runs in results.items():
        tree = runs.get(Config("goose", budget)) if budget else None
        parts = [runs.get(config) for config in parts_of(tree)] if tree else []
        if tree is not None and parts and None not in parts:
            apart = sum(part.mean_accepted_len - 1.0 for part in parts if part is not None)
            if apart > 0.0:
                found[name] = round((tree.mean_accepted_len - 1.0) / apart - 1.0, 4)
    return found


def parts_of(tree: Run) -> list[Config]:
    """The sources alone, with the nodes they had in the tree."""
    shares = {COPY_ONLY: Origin.SPINE, TABLE_ONLY: Origin.BRANCH}
    return [Config(name, round(tree.per_step(origin))) for name, origin in shares.items()]


def violations(results: Results) -> list[dict[str, Any]]:
    """Where a tree is accepted less far than one of its sources alone at the same budget."""
    found = []
    for name, runs in results.items():
        for budget in _goose_budgets({name: runs}):
            singles = [Config(single, budget) for single in (COPY_ONLY, TABLE_ONLY)]
            lengths = {c.policy: runs[c].mean_accepted_len for c in singles if c in runs}
            ours = runs[Config("goose", budget)].mean_accepted_len
            best = max(lengths, key=lengths.__getitem__, default=None)
            if best is not None and ours < lengths[best] * (1.0 - TOLERANCE):
                found.append(
                    {"set": name, "budget": budget, "best_policy": best}
                    | {"ours": round(ours, 4), "best": round(lengths[best], 4)}
                )
    return found


def slowest_ratio(results: Results) -> float | None:
    """`goose` against plain decoding on the set where it gains least, choosing its own budget."""
    ratios = []
    for runs in results.values():
        ours = [config for config in runs if config.policy == "goose"]
        chosen = [config for config in ours if config.budget == AUTO] or ours
        ratios += [r for config in chosen if (r := _speedup(runs, config)) is not None]
    return min(ratios, default=None)


def _against(results: Results, rival: str, best: Mapping[str, Config]) -> float | None:
    """The smallest median ratio of rates over the sets, each side at its best budget."""
    if "goose" not in best or rival not in best:
        return None
    pairs = [
        (runs[best["goose"]], runs[best[rival]])
        for runs in results.values()
        if best["goose"] in runs and best[rival] in runs
    ]
    ratios = [r for ours, theirs in pairs if (r := ratio(ours.tok_s, theirs.tok_s)) is not None]
    return min(ratios, default=None)


def _smallest_speedup(results: Results, config: Config) -> float | None:
    sets = [runs for set_name, runs in results.items() if set_name in MACRO_SETS]
    return min((r for runs in sets if (r := _speedup(runs, config)) is not None), default=None)


def _speedup(runs: Mapping[Config, Run], config: Config) -> float | None:
    return ratio(runs[config].tok_s, runs[PLAIN].tok_s)


def _goose_budgets(results: Results) -> list[int]:
    configs = (config for runs in results.values() for config in runs)
    return sorted({b for c in configs if c.policy == "goose" and isinstance(b := c.budget, int)})


def _family(policy: str) -> str:
    return next((name for name, members in FAMILIES.items() if policy in members), policy)


def _named(by_config: Mapping[Config, float], digits: int) -> dict[str, float]:
    return {str(config.budget): round(value, digits) for config, value in by_config.items()}


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
