"""Sharing the chunks of a pass between threads that may come late or not at all.

A pass is a fixed list of phases, each of a number of chunks. Every thread walks through the same phases:
it takes chunks while there are any, then waits until all are done. So the leader finishes a pass alone
when no helper gets a core, and a helper that wakes up late finds nothing left to take. Only a helper that loses
its core in the middle of a chunk is waited for.

`board` is an int64 array: the epoch of the pass first, then for every phase the next free chunk (with the
epoch in the upper bits, so that a helper of an earlier pass can take nothing) and the number done.
"""

import os
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba.core import types
from numba.core.types import ExternalFunction

from goose_lsp.compiled import kernel
from goose_lsp.engine.int8.simd import atomic_add, atomic_load, exchange_if

EPOCH_SHIFT = 32
# Looks at a counter before the core is offered to others: some ten microseconds.
SPINS = 2000
# The system's call for that.
give_way = ExternalFunction("SwitchToThread" if os.name == "nt" else "sched_yield", types.int32())


class Team(NamedTuple):
    """One thread's view of a pass."""

    board: npt.NDArray[np.int64]
    epoch: int
    number: int  # of this thread; 0 leads


def new_board(n_phases: int) -> npt.NDArray[np.int64]:
    return np.zeros(1 + 2 * n_phases, dtype=np.int64)


@kernel
def open_board(board: Any, epoch: int) -> None:
    """Start a pass: every chunk is free. Only when no chunk of the last one is being worked on."""
    n_phases = (len(board) - 1) // 2
    for phase in range(n_phases):
        board[1 + n_phases + phase] = 0
        atomic_add(board, 1 + phase, (epoch << EPOCH_SHIFT) - atomic_load(board, 1 + phase))
    atomic_add(board, 0, epoch - atomic_load(board, 0))


@kernel
def take(team: Team, phase: int, n_chunks: int) -> int:
    """A chunk nobody else has, or -1 when all are taken or the pass is over."""
    board, epoch = team.board, team.epoch
    while True:
        seen = atomic_load(board, 1 + phase)
        chunk: int = seen - (epoch << EPOCH_SHIFT)
        if chunk < 0 or chunk >= n_chunks:
            return -1
        if exchange_if(board, 1 + phase, seen, seen + 1):
            return chunk


@kernel
def finish(team: Team, phase: int) -> None:
    """Say that a chunk taken is done."""
    board = team.board
    atomic_add(board, 1 + (len(board) - 1) // 2 + phase, 1)


@kernel
def await_all(team: Team, phase: int, n_chunks: int) -> None:
    """Wait for the chunks others have taken, leaving them the core if they need this one."""
    board = team.board
    done = 1 + (len(board) - 1) // 2 + phase
    n_looks = 0
    while atomic_load(board, done) < n_chunks and atomic_load(board, 0) == team.epoch:
        n_looks += 1
        if n_looks > SPINS:
            give_way()
