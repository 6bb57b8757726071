from collections import Counter

import pytest

from benchmarks.measures import macro, ratio, rows_of, slowest_ratio, summary, synergies, violations
from benchmarks.policies import AUTO, COPY_ONLY, PLAIN, TABLE_ONLY, Budget, Config
from benchmarks.runs import Run
from goose_lsp.draft.tree import Origin

S, B, M = Origin.SPINE, Origin.BRANCH, Origin.MODEL


def run(length: float, *tok_s: float, **values: object) -> Run:
    """100 steps of that mean accepted length."""
    made = Run(
        n_prompts=len(tok_s),
        n_tokens=round(100 * length),
        n_committed=round(100 * length),
        n_steps=100,
        decode_s=2.0,
        tok_s=list(tok_s),
        cpu_tok_s=[2 * rate for rate in tok_s],
    )
    for name, value in values.items():
        setattr(made, name, value)
    return made


def goose(budget: Budget) -> Config:
    return Config("goose", budget)


def test_a_ratio_is_the_median_over_prompts_that_gave_tokens() -> None:
    assert ratio([20.0, 30.0, 0.0, 80.0], [10.0, 10.0, 10.0, 0.0]) == 2.5
    assert ratio([0.0], [10.0]) is None


def test_a_row_says_all_of_one_run() -> None:
    ours = run(
        *(2.5, 30.0, 50.0),
        n_drafted=Counter({S: 300, B: 500}),
        origins=Counter({S: 100, B: 50, M: 100}),
        draft_s=0.1,
        harvest_s=0.05,
        n_bypass=3,
        n_continuation=4,
        n_differing=1,
    )
    results = {"mbpp": {PLAIN: run(1.0, 20.0, 20.0), goose(8): ours}}
    row = rows_of(results, "live")[1]
    assert row == {
        "set": "mbpp", "policy": "goose", "budget": 8, "mode": "live",
        "mean_accepted_len": 2.5, "nodes_per_step": 8.0, "tok_s": 125.0,
        "speedup": 2.0, "speedup_cpu": 2.0, "draft_share": 0.05, "harvest_share": 0.025,
        "spine_share": 0.4, "branch_share": 0.2, "bonus_share": 0.4,
        "bypass_steps": 3, "continuation_steps": 4, "differing_tokens": 1,
        "n_prompts": 2, "n_tokens": 250, "n_steps": 100, "unknown_row_share": None,
    }  # fmt: skip
    ours.n_unknown = 90  # of 800 nodes and 100 roots
    replayed = rows_of(results, "replay")[1]
    assert (replayed["speedup_cpu"], replayed["unknown_row_share"]) == (None, 0.1)


def test_a_family_shows_its_better_setting_at_every_budget() -> None:
    sets = {
        name: {
            PLAIN: run(1.0, 10.0),
            Config("isotropic-3", 8): run(1.5 + i, 10.0),
            Config("isotropic-5", 8): run(1.0 + i, 10.0),
            Config("isotropic-3", 60): run(2.0, 10.0),
            Config("isotropic-5", 60): run(3.0, 10.0),
        }
        for i, name in enumerate(("mbpp", "gsm8k"))
    }
    assert summary(sets)["macro"] == {"plain": {"0": 1.0}, "isotropic": {"8": 2.0, "60": 3.0}}


def test_a_mean_over_sets_needs_all_of_them_and_only_the_macro_ones() -> None:
    sets = {
        "mbpp": {PLAIN: run(1.0, 10.0), goose(8): run(2.0, 10.0), goose(9): run(9.0, 1.0)},
        "gsm8k": {PLAIN: run(1.0, 10.0), goose(8): run(4.0, 10.0)},
        "safim": {PLAIN: run(1.0, 10.0), goose(8): run(9.0, 10.0)},
    }
    lengths = macro(sets, lambda runs, config: runs[config].mean_accepted_len)
    assert lengths["goose"] == {goose(8): 3.0}


def test_speed_ups_are_those_of_the_best_budget() -> None:
    sets = {
        name: {PLAIN: run(1.0, 10.0), goose(8): run(2.0, fast), goose(60): run(4.0, 8.0)}
        for name, fast in (("mbpp", 14.0), ("gsm8k", 22.0))
    }
    found = summary(sets)
    assert found["macro_speedup"]["goose"] == 1.8
    assert found["macro_speedup_budget"]["goose"] == 8
    assert found["min_set_speedup"]["goose"] == 1.4


def test_synergy_compares_the_gain_of_the_tree_with_that_of_its_parts() -> None:
    tree = run(4.0, 10.0, n_drafted=Counter({S: 720, B: 1180}))  # 7.2 and 11.8 nodes a step
    runs = {
        PLAIN: run(1.0, 10.0),
        goose(8): run(2.0, 10.0),
        goose(20): tree,
        Config(COPY_ONLY, 7): run(2.5, 10.0),
        Config(TABLE_ONLY, 12): run(2.0, 10.0),
    }
    assert synergies({"mbpp": runs}) == {"mbpp": pytest.approx(3.0 / 2.5 - 1)}
    assert summary({"mbpp": runs})["synergy_budget"] == 20
    del runs[Config(TABLE_ONLY, 12)]
    assert synergies({"mbpp": runs}) == {}


def test_sources_that_gain_nothing_have_no_synergy() -> None:
    tree = run(1.5, 10.0, n_drafted=Counter({S: 100, B: 100}))
    parts = {Config(name, 1): run(1.0, 10.0) for name in (COPY_ONLY, TABLE_ONLY)}
    assert synergies({"mbpp": {PLAIN: run(1.0, 10.0), goose(2): tree, **parts}}) == {}


@pytest.mark.parametrize(("ours", "n_faults"), [(2.98, 0), (2.96, 1), (3.2, 0)])
def test_a_tree_may_be_one_percent_behind_its_better_source(ours: float, n_faults: int) -> None:
    runs = {
        goose(8): run(ours, 10.0),
        goose(AUTO): run(1.1, 10.0),
        Config(COPY_ONLY, 8): run(3.0, 10.0),
        Config(TABLE_ONLY, 8): run(2.0, 10.0),
    }
    faults = violations({"mbpp": runs})
    assert len(faults) == n_faults
    for fault in faults:
        assert fault == {
            "set": "mbpp", "budget": 8, "best_policy": COPY_ONLY, "ours": ours, "best": 3.0,
        }  # fmt: skip


def test_the_slowest_ratio_is_that_of_the_budget_goose_chooses_itself() -> None:
    plain = run(1.0, 10.0)
    runs = {PLAIN: plain, goose(60): run(4.0, 5.0), goose(AUTO): run(2.0, 15.0)}
    on_random = {PLAIN: plain, goose(60): run(1.0, 3.0), goose(AUTO): run(1.0, 9.5)}
    assert slowest_ratio({"mbpp": runs, "random": on_random}) == 0.95
    del runs[goose(AUTO)]
    assert slowest_ratio({"mbpp": runs}) == 0.5


def test_the_paper_is_met_at_its_best_budget_on_the_set_where_it_does_best() -> None:
    paper_8, paper_60 = Config("goose-paper", 8), Config("goose-paper", 60)
    plain = {PLAIN: run(1.0, 10.0)}
    sets = {
        "mbpp": {**plain, goose(8): run(2.0, 20.0), paper_8: run(2.0, 16.0), paper_60: run(3.0, 8.0)},
        "gsm8k": {**plain, goose(8): run(2.0, 18.0), paper_8: run(2.0, 12.0), paper_60: run(3.0, 9.0)},
    }  # fmt: skip
    assert summary(sets)["goose_vs_paper_min"] == 1.25
    assert summary({"mbpp": plain})["goose_vs_paper_min"] is None
