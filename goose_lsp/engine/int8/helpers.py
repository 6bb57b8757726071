"""The threads that share a pass: one leads, the others help when they get a core."""

from threading import Semaphore, Thread
from typing import Any

from goose_lsp.engine.int8.arrays import Shape, Slots, Step, Weights, Work
from goose_lsp.engine.int8.crew import Team, new_board, open_board
from goose_lsp.engine.int8.kernels import run_pass


class Crew:
    """Helper threads that sleep between passes. Used by one thread, the leader."""

    def __init__(self, n_threads: int, n_phases: int) -> None:
        self.n_threads = n_threads
        self.n_active = n_threads
        self._board = new_board(n_phases)
        self._epoch = 0
        self._job: tuple[Any, ...] | None = None
        self._wakers = [Semaphore(0) for _ in range(n_threads - 1)]
        self._helpers = [
            Thread(target=self._help, args=(number, waker), name=f"kernel-{number}", daemon=True)
            for number, waker in enumerate(self._wakers, start=1)
        ]
        for helper in self._helpers:
            helper.start()

    def run(self, shape: Shape, weights: Weights, slots: Slots, work: Work, step: Step) -> None:
        """One pass, on as many of the active threads as come."""
        self._epoch += 1
        open_board(self._board, self._epoch)
        self._job = (self._epoch, shape, weights, slots, work, step)
        for waker in self._wakers[: self.n_active - 1]:
            waker.release()
        run_pass(shape, weights, slots, work, step, Team(self._board, self._epoch, 0))

    def close(self) -> None:
        """End the helpers. The crew is not used afterwards."""
        self._job = None
        for waker in self._wakers:
            waker.release()
        for helper in self._helpers:
            helper.join()

    def _help(self, number: int, waker: Semaphore) -> None:
        while True:
            waker.acquire()
            job = self._job
            if job is None:
                return
            epoch, *rest = job
            run_pass(*rest, Team(self._board, epoch, number))
