"""Threads that share passes: who comes, that it makes no difference, and that they go."""

from functools import cache
from threading import Barrier, Lock
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from goose_lsp.engine.forward import NewTokens
from goose_lsp.engine.int8 import helpers
from goose_lsp.engine.int8.crew import Team, await_all, finish, take
from goose_lsp.engine.int8.forward import Int8Forward, Int8Model
from goose_lsp.engine.int8.helpers import Crew
from goose_lsp.engine.int8.pack import pack
from tests.tiny import BYTE_SIZED, tiny_source

TIMEOUT_S = 60


@cache
def model() -> Int8Model:
    return pack(tiny_source(config=BYTE_SIZED))


def run(crew: Crew) -> None:
    """A pass of a crew whose `run_pass` does not look at what it is given."""
    nothing: Any = None
    crew.run(nothing, nothing, nothing, nothing, nothing)


def logits_of_passes(forward: Int8Forward, n_passes: int) -> list[npt.NDArray[np.float32]]:
    """Small passes in a row, each behind the last one's tokens."""
    store, results, n_cached = forward.new_store(512), [], 0
    for number in range(n_passes):
        tokens = NewTokens.causal([number % 100, number * 7 % 100][: 1 + number % 2])
        results.append(forward.logits(store, n_cached, tokens))
        n_cached += len(tokens)
    return results


def test_many_small_passes_on_four_threads_are_those_of_one() -> None:
    alone, many = Int8Forward(model(), 512), Int8Forward(model(), 512, n_threads=4)
    for ours, theirs in zip(logits_of_passes(many, 200), logits_of_passes(alone, 200), strict=True):
        assert np.array_equal(ours, theirs)
    many.close()


def test_passes_are_the_same_while_the_number_of_threads_changes() -> None:
    alone, many = Int8Forward(model(), 512), Int8Forward(model(), 512, n_threads=3)
    token_ids = list(range(60))
    expected = alone.logits(alone.new_store(64), 0, NewTokens.causal(token_ids))
    for n in (1, 3, 2, 1, 2, 3) * 3:
        many.use_threads(n)
        ours = many.logits(many.new_store(64), 0, NewTokens.causal(token_ids))
        assert np.array_equal(ours, expected)
    many.close()


@pytest.mark.parametrize("n_active", [1, 2, 4])
def test_as_many_threads_come_as_are_active(monkeypatch: pytest.MonkeyPatch, n_active: int) -> None:
    everyone, lock = Barrier(n_active), Lock()
    seen: list[int] = []

    def meet(*arguments: Any) -> None:
        with lock:
            seen.append(arguments[-1].number)
        everyone.wait(TIMEOUT_S)

    monkeypatch.setattr(helpers, "run_pass", meet)
    crew = Crew(4, 1)
    crew.n_active = n_active
    for _ in range(3):
        run(crew)
    crew.close()
    assert sorted(seen) == sorted(list(range(n_active)) * 3)


def test_a_leader_whose_helpers_come_late_finishes_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A helper that wakes up after its pass finds nothing to take, and the next pass is whole."""
    gate = Barrier(2)
    late: list[int] = []
    taken: list[int] = []

    def walk(team: Team, record: list[int]) -> None:
        while (chunk := take(team, 0, 5)) >= 0:
            record.append(chunk)
            finish(team, 0)
        await_all(team, 0, 5)

    def pass_of(*arguments: Any) -> None:
        team = arguments[-1]
        if team.number:
            gate.wait(TIMEOUT_S)
            walk(team, late)
            gate.wait(TIMEOUT_S)
        else:
            walk(team, taken)

    monkeypatch.setattr(helpers, "run_pass", pass_of)
    crew = Crew(2, 1)
    run(crew)
    assert taken == [0, 1, 2, 3, 4]
    gate.wait(TIMEOUT_S)
    gate.wait(TIMEOUT_S)
    assert late == []
    crew.n_active = 1
    run(crew)
    assert taken == [0, 1, 2, 3, 4] * 2
    crew.close()


@pytest.mark.parametrize("n_passes", [0, 5])
def test_closing_ends_every_helper(n_passes: int) -> None:
    forward = Int8Forward(model(), 64, n_threads=3)
    logits_of_passes(forward, n_passes)
    threads = list(forward._crew._helpers)
    assert len(threads) == 2
    assert all(thread.is_alive() for thread in threads)
    forward.close()
    assert not any(thread.is_alive() for thread in threads)


def test_a_crew_of_one_has_no_helpers() -> None:
    crew = Crew(1, 1)
    assert crew._helpers == []
    crew.close()
