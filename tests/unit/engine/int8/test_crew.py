"""Chunks of a pass: each taken once, by nobody who belongs to an earlier pass."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import numpy.typing as npt
import pytest

from goose_lsp.engine.int8.crew import (
    EPOCH_SHIFT,
    Team,
    await_all,
    finish,
    new_board,
    open_board,
    take,
)

Board = npt.NDArray[np.int64]


def opened(n_phases: int, epoch: int) -> Board:
    board = new_board(n_phases)
    open_board(board, epoch)
    return board


def taken(team: Team, phase: int, n_chunks: int) -> list[int]:
    """All chunks of a phase, as a thread takes and finishes them."""
    chunks = []
    while (chunk := take(team, phase, n_chunks)) >= 0:
        chunks.append(chunk)
        finish(team, phase)
    return chunks


def test_a_lone_thread_takes_every_chunk_in_order() -> None:
    team = Team(opened(2, 1), 1, 0)
    assert taken(team, 0, 5) == [0, 1, 2, 3, 4]
    assert take(team, 0, 5) == -1
    await_all(team, 0, 5)


def test_phases_do_not_share_chunks() -> None:
    team = Team(opened(3, 1), 1, 0)
    assert taken(team, 1, 2) == [0, 1]
    assert taken(team, 0, 1) == [0]
    assert taken(team, 2, 3) == [0, 1, 2]


def test_a_phase_without_chunks_is_over_at_once() -> None:
    team = Team(opened(1, 1), 1, 0)
    assert taken(team, 0, 0) == []
    await_all(team, 0, 0)


def test_two_threads_of_a_pass_never_get_the_same_chunk() -> None:
    board = opened(1, 1)
    first, second = Team(board, 1, 0), Team(board, 1, 1)
    assert [take(t, 0, 3) for t in (first, second, first, second, first)] == [0, 1, 2, -1, -1]


def test_opening_a_board_again_makes_every_chunk_free() -> None:
    board = opened(2, 1)
    for epoch in (1, 2, 3, 1000):
        open_board(board, epoch)
        team = Team(board, epoch, 0)
        assert taken(team, 0, 3) == [0, 1, 2]
        assert taken(team, 1, 1) == [0]
        assert board.tolist() == [
            epoch, (epoch << EPOCH_SHIFT) + 3, (epoch << EPOCH_SHIFT) + 1, 3, 1,
        ]  # fmt: skip


@pytest.mark.parametrize("late", [0, 1, 4])
def test_a_thread_of_an_earlier_pass_can_take_nothing(late: int) -> None:
    board = opened(2, 5)
    before = board.copy()
    team = Team(board, late, 1)
    for phase in (0, 1):
        assert take(team, phase, 10**6) == -1
    assert np.array_equal(board, before)


def test_a_thread_ahead_of_its_pass_can_take_nothing() -> None:
    assert take(Team(opened(1, 5), 6, 1), 0, 10) == -1


def test_a_thread_of_an_earlier_pass_does_not_wait() -> None:
    board = opened(1, 5)
    take(Team(board, 5, 0), 0, 10)
    await_all(Team(board, 4, 1), 0, 10)


def test_waiting_ends_when_another_thread_finishes_its_chunk() -> None:
    board = opened(1, 1)
    leader, helper = Team(board, 1, 0), Team(board, 1, 1)
    assert take(helper, 0, 2) == 0
    assert taken(leader, 0, 2) == [1]
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(await_all, leader, 0, 2)
        assert not waiting.done()
        finish(helper, 0)
        waiting.result(timeout=60)


def test_waiting_ends_when_the_next_pass_opens() -> None:
    board = opened(1, 1)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(await_all, Team(board, 1, 1), 0, 2)
        open_board(board, 2)
        waiting.result(timeout=60)


def test_threads_that_race_take_every_chunk_once() -> None:
    n_chunks, n_threads = 2000, 4
    board, start = opened(1, 3), Barrier(n_threads)

    def work(number: int) -> list[int]:
        start.wait(timeout=60)
        return taken(Team(board, 3, number), 0, n_chunks)

    with ThreadPoolExecutor(n_threads) as pool:
        shares = list(pool.map(work, range(n_threads)))
    assert sorted(chunk for share in shares for chunk in share) == list(range(n_chunks))
    await_all(Team(board, 3, 0), 0, n_chunks)
