"""Which request the one inference thread works on next. Pure: the loop thread calls, nobody waits.

Newest wins: of each document of each client at most one request is pending, and a newer one
supersedes both it and the one being worked on. Documents take turns in the order they asked.
"""

from collections.abc import Callable
from dataclasses import dataclass

from goose_lsp.cancel import CancelToken
from goose_lsp.daemon.completer import Ask
from goose_lsp.request import Completion, Reason


@dataclass(slots=True, eq=False)
class Job:
    """One request on its way. `answer` is called exactly once, on the loop thread; never after `abandon`."""

    key: tuple[int, str]  # session and uri
    request_id: int
    ask: Ask
    cancel: CancelToken
    answer: Callable[[Completion], None]
    queued_s: float = 0.0
    is_answered: bool = False

    def reply(self, completion: Completion) -> None:
        """Answer unless that has happened: work that was stopped still comes to its end."""
        if not self.is_answered:
            self.is_answered = True
            self.answer(completion)

    def stop(self, reason: Reason) -> None:
        """Answer at once and ask the work, if any, to stop."""
        self.cancel.cancel()
        self.reply(self.empty(reason))

    def abandon(self) -> None:
        """Nobody waits for the answer any more."""
        self.cancel.cancel()
        self.is_answered = True

    def empty(self, reason: Reason, detail: str = "") -> Completion:
        return Completion("", self.ask.point, self.ask.point, reason, detail)


class Scheduler:
    """`start` hands a job to the worker; the worker's owner calls `finish` when it is done."""

    def __init__(self, start: Callable[[Job], None]) -> None:
        self._start = start
        self._pending: dict[tuple[int, str], Job] = {}
        self._running: Job | None = None

    def submit(self, job: Job) -> None:
        # A dict keeps the place of a key: typing on does not send a document to the queue's end.
        older, self._pending[job.key] = self._pending.get(job.key), job
        if older is not None:
            older.stop(Reason.SUPERSEDED)
        if self._running is not None and self._running.key == job.key:
            self._running.stop(Reason.SUPERSEDED)
        self._start_next()

    def stop(self, session: int, request_id: int) -> None:
        """The client no longer wants this one; unknown ids are normal, answers cross cancels."""
        for job in self._jobs_of(session):
            if job.request_id == request_id:
                self._stop(job, Reason.CANCELLED)

    def drop(self, session: int) -> None:
        """A client has gone, and its requests with it."""
        for job in self._jobs_of(session):
            self._pending.pop(job.key, None)
            job.abandon()

    def expire(self, job: Job, *, is_loading: bool) -> None:
        """Its deadline has come. Work under way notices by itself, unless the model still loads."""
        if job is not self._running:
            self._stop(job, Reason.DEADLINE)
        elif is_loading:
            self._stop(job, Reason.MODEL_LOADING)

    def finish(self, job: Job, completion: Completion) -> None:
        assert job is self._running
        self._running = None
        job.reply(completion)
        self._start_next()

    def _stop(self, job: Job, reason: Reason) -> None:
        if self._pending.get(job.key) is job:
            del self._pending[job.key]
        job.stop(reason)

    def _jobs_of(self, session: int) -> list[Job]:
        jobs = [*self._pending.values(), *([self._running] if self._running else [])]
        return [job for job in jobs if job.key[0] == session]

    def _start_next(self) -> None:
        if self._running is None and self._pending:
            job = self._pending.pop(next(iter(self._pending)))
            self._running = job
            self._start(job)
