import os

import pytest
import torch

from goose_lsp.engine.thread import default_threads, n_allowed_cores, use_threads


@pytest.mark.parametrize(("n_cores", "n_threads"), [(1, 1), (2, 1), (3, 3), (4, 4), (64, 4)])
def test_a_small_machine_keeps_a_core_for_the_editor(n_cores: int, n_threads: int) -> None:
    assert default_threads(n_cores) == n_threads


def test_only_cores_this_process_may_use_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {3, 5, 7}, raising=False)
    assert n_allowed_cores() == 3


@pytest.mark.parametrize(("n_cores", "counted"), [(6, 6), (None, 1)])
def test_where_there_is_no_affinity_the_machine_is_counted(
    monkeypatch: pytest.MonkeyPatch, n_cores: int | None, counted: int
) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: n_cores)
    assert n_allowed_cores() == counted


@pytest.mark.parametrize(("wanted", "used"), [(0, 1), (7, 7)])
def test_zero_means_the_default_and_any_other_number_itself(
    monkeypatch: pytest.MonkeyPatch, wanted: int, used: int
) -> None:
    set_to: list[int] = []
    monkeypatch.setattr(torch, "set_num_threads", set_to.append)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 1}, raising=False)
    use_threads(wanted)
    assert set_to == [used]
