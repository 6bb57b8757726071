"""Which request the one inference thread works on next. Pure: the loop thread calls, nobody waits.

Newest wins: of each document of each client at most one request is pending, and a newer one
supersedes both it and the one being worked on. Documents take turns in the order they asked.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from goose_lsp.cancel import CancelToken
from goose_lsp.daemon.completer import Ask
from goose_lsp.request import Completion, Reason


@dataclass(slots=True, eq=False)
class Job:
    """One request on its way. `answer` is called exactly once, on the loop thread."""

    key: tuple[int, str]  # session and uri
    request_id: int
    ask: Ask
    cancel: CancelToken
    answer: Callable[[Completion], None]
    queued_s: float = 0.0
    stopped_for: Reason | None = None  # why its work was stopped, once it was
    stats: dict[str, Any] = field(default_factory=dict)

    def stop(self, reason: Reason) -> None:
        """Ask the work to stop; the first reason counts."""
        self.stopped_for = self.stopped_for or reason
        self.cancel.cancel()

    def empty(self, reason: Reason, detail: str = "") -> Completion:
        return Completion("", self.ask.point, self.ask.point, reason, detail)


class Scheduler:
    """`start` hands a job to the worker; the worker's owner calls `finish` when it is done."""

    def __init__(self, start: Callable[[Job], None]) -> None:
        self._start = start
        self._pending: dict[tuple[int, str], Job] = {}
        self._running: Job | None = None

    @property
    def is_idle(self) -> bool:
        return self._running is None and not self._pending

    def submit(self, job: Job) -> None:
        older = self._pending.pop(job.key, None)
        if older is not None:
            older.answer(older.empty(Reason.SUPERSEDED))
        if self._running is not None and self._running.key == job.key:
            self._running.stop(Reason.SUPERSEDED)
        self._pending[job.key] = job
        self._start_next()

    def stop(self, session: int, request_id: int) -> None:
        """The client no longer wants this one; unknown ids are normal, answers cross cancels."""
        for job in self._jobs_of(session):
            if job.request_id == request_id:
                self._stop(job)

    def drop(self, session: int) -> None:
        """A client has gone: nobody waits for any of its answers."""
        for job in self._jobs_of(session):
            self._stop(job)

    def finish(self, job: Job, completion: Completion) -> None:
        assert job is self._running
        self._running = None
        if job.stopped_for is not None:
            completion = job.empty(job.stopped_for)
        job.answer(completion)
        self._start_next()

    def _stop(self, job: Job) -> None:
        job.stop(Reason.CANCELLED)
        if self._pending.pop(job.key, None) is not None and job is not self._running:
            job.answer(job.empty(Reason.CANCELLED))

    def _jobs_of(self, session: int) -> list[Job]:
        jobs = [*self._pending.values(), *([self._running] if self._running else [])]
        return [job for job in jobs if job.key[0] == session]

    def _start_next(self) -> None:
        if self._running is None and self._pending:
            job = self._pending.pop(next(iter(self._pending)))
            self._running = job
            self._start(job)
