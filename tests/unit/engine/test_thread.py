import os
from pathlib import Path

import pytest

from goose_lsp.draft.budget import StepCost
from goose_lsp.engine import thread
from goose_lsp.engine.cost import LiveCost, Prices
from goose_lsp.engine.thread import (
    BUSY_FACTOR,
    PATIENCE_STEPS,
    Governor,
    cgroup_quota,
    choose_threads,
    default_threads,
    n_allowed_cores,
)


@pytest.mark.parametrize(("n_cores", "n_threads"), [(1, 1), (2, 1), (3, 3), (4, 4), (64, 4)])
def test_a_small_machine_keeps_a_core_for_the_editor(n_cores: int, n_threads: int) -> None:
    assert default_threads(n_cores) == n_threads


def test_only_cores_this_process_may_use_are_counted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(thread, "_CGROUP", tmp_path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {3, 5, 7}, raising=False)
    assert n_allowed_cores() == 3


@pytest.mark.parametrize(("n_cores", "counted"), [(6, 6), (None, 1)])
def test_where_there_is_no_affinity_the_machine_is_counted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, n_cores: int | None, counted: int
) -> None:
    monkeypatch.setattr(thread, "_CGROUP", tmp_path)
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: n_cores)
    assert n_allowed_cores() == counted


@pytest.mark.parametrize(("wanted", "used"), [(0, 1), (7, 7)])
def test_zero_means_the_default_and_any_other_number_itself(
    monkeypatch: pytest.MonkeyPatch, wanted: int, used: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 1}, raising=False)
    assert choose_threads(wanted) == used


@pytest.mark.parametrize(
    ("file", "text", "quota"),
    [
        ("cpu.max", "150000 100000\n", 1.5),
        ("cpu.max", "max 100000\n", None),
        ("cpu.max", "nonsense\n", None),
        ("cpu/cpu.cfs_quota_us", "400000\n", 4.0),
        ("cpu/cpu.cfs_quota_us", "-1\n", None),
        ("elsewhere", "", None),
    ],
)
def test_a_containers_quota_is_read(
    tmp_path: Path, file: str, text: str, quota: float | None
) -> None:
    (tmp_path / "cpu").mkdir()
    (tmp_path / "cpu" / "cpu.cfs_period_us").write_text("100000\n")
    (tmp_path / file).write_text(text)
    assert cgroup_quota(tmp_path) == quota


def test_a_quota_caps_the_cores(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "cpu.max").write_text("150000 100000")
    monkeypatch.setattr(thread, "_CGROUP", tmp_path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: set(range(8)), raising=False)
    assert n_allowed_cores() == 2


def test_threads_are_given_up_while_the_machine_is_busy_and_tried_again() -> None:
    governor = Governor(4)
    assert not governor.after_step(1.1)
    assert governor.n_active == 4
    assert governor.after_step(BUSY_FACTOR + 0.1)
    assert governor.n_active == 1
    assert not any(governor.after_step(1.0) for _ in range(PATIENCE_STEPS - 1))
    assert governor.after_step(1.0)
    assert governor.n_active == 4


def test_a_busy_spell_does_not_cost_the_other_threads_for_good() -> None:
    """Four threads are three times as fast as one, so one alone looks slow by the prices of four."""
    live, governor = LiveCost(Prices(StepCost((1, 64), (10.0, 20.0)), 1.0)), Governor(4)
    n_together = 0
    for step in range(20 + 10 * PATIENCE_STEPS):
        n = governor.n_active
        if n == 4:
            live.observe(1, 0.050 if step < 20 else 0.010)
        if governor.after_step(live.slowdown()):
            live.forget_recent()
        n_together += step >= 20 and n == 4
    assert n_together > 8 * PATIENCE_STEPS


def test_one_thread_stays_one() -> None:
    governor = Governor(1)
    assert not governor.after_step(10.0)
    assert governor.n_active == 1
