"""Which request the one inference thread works on next. Pure: the loop thread calls, nobody waits.

Newest wins: of each document of each client at most one request is waiting, and a newer one
supersedes both it and the one being worked on. Where the newer text goes on as the work does
(`adoption.py`), the older request is answered and its work serves the newer one. Documents take turns
in the order they asked. Idle work gives way to any request.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

from goose_lsp.cancel import CancelToken
from goose_lsp.daemon.adoption import Progress, served, typed_since
from goose_lsp.daemon.completer import Ask
from goose_lsp.request import Completion, Reason

Later = Callable[[float, Callable[[], None]], object]
"""Call back on the loop thread after some seconds; `loop.call_later`."""

# Editors stop the old request before they send the next, some a little before: VS Code waits 50 ms.
LINGER_S = 0.1


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
    progress: Progress = field(init=False)

    def __post_init__(self) -> None:
        self.progress = Progress(self.cancel.cancel)
        self.ask = replace(self.ask, on_text=self.progress.put)

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
    """`start` hands a job to the worker; the worker's owner calls `finish` when it is done.

    Without `later` cancelled work stops at once, although a newer request may be about to adopt it.
    """

    def __init__(self, start: Callable[[Job], None], later: Later | None = None) -> None:
        self._start = start
        self._later = later
        self._pending: dict[tuple[int, str], Job] = {}
        self._running: Job | None = None
        self._adopter: Job | None = None  # waits for the running job's work, whose key it shares
        self.n_adopted = 0

    def submit(self, job: Job) -> None:
        if self._adopt(job):
            return
        self.stop_look_ahead()
        self._stop_running(job.key, Reason.SUPERSEDED)
        # A dict keeps the place of a key: typing on does not send a document to the queue's end.
        older, self._pending[job.key] = self._pending.get(job.key), job
        if older is not None:
            older.stop(Reason.SUPERSEDED)
        self._start_next()

    def supersede(self, key: tuple[int, str]) -> None:
        """A newer request of the document has been answered without work. A look-ahead goes on."""
        if (older := self._pending.pop(key, None)) is not None:
            older.stop(Reason.SUPERSEDED)
        if not self._is_looking_ahead:
            self._stop_running(key, Reason.SUPERSEDED)

    def look_ahead(self, job: Job) -> bool:
        """Work on it if there is nothing else to do; whether that is so."""
        if self._running is not None:
            return False
        self._running = job
        self._start(job)
        return True

    def stop_look_ahead(self) -> None:
        if self._running is not None and self._is_looking_ahead:
            self._running.abandon()

    def stop(self, session: int, request_id: int) -> None:
        """The client no longer wants this one; unknown ids are normal, answers cross cancels."""
        for job in self._jobs_of(session):
            if job.request_id == request_id and not job.is_answered:
                self._cancel(job)

    def drop(self, session: int) -> None:
        """A client has gone, and its requests with it."""
        for job in self._jobs_of(session):
            self._pending.pop(job.key, None)
            job.abandon()

    def expire(self, job: Job, *, is_loading: bool) -> None:
        """Its deadline has come. Work under way notices by itself, unless the model still loads."""
        is_at_work = job in (self._running, self._adopter)
        if job.is_answered or (is_at_work and not is_loading):
            return
        if is_at_work:
            self._stop_running(job.key, Reason.MODEL_LOADING)
        else:
            del self._pending[job.key]
            job.stop(Reason.DEADLINE)

    def finish(self, job: Job, completion: Completion) -> None:
        assert job is self._running
        adopter, self._running, self._adopter = self._adopter, None, None
        job.reply(completion)
        if adopter is not None and not adopter.is_answered:
            self._serve(adopter, served(job.ask, completion, adopter.ask))
        self._start_next()

    @property
    def _is_looking_ahead(self) -> bool:
        running = self._running
        return running is not None and running.ask.is_look_ahead and self._adopter is None

    def _adopt(self, job: Job) -> bool:
        """Let the running work serve this request too, if it can."""
        running = self._running
        if running is None or running.key != job.key or running.cancel.is_cancelled:
            return False
        typed = typed_since(running.ask, running.progress.text, job.ask)
        if typed is None:
            return False
        # Nothing of this document is pending: whatever did not agree would have stopped the work.
        for older in (running, self._adopter):
            if older is not None:
                older.reply(older.empty(Reason.SUPERSEDED))
        self._adopter = job
        running.progress.typed = typed
        running.cancel.follow(job.cancel)
        return True

    def _serve(self, adopter: Job, completion: Completion | None) -> None:
        if completion is not None:
            self.n_adopted += 1
            adopter.reply(completion)
        else:  # the one that has waited longest
            self._pending = {adopter.key: adopter, **self._pending}

    def _stop_running(self, key: tuple[int, str], reason: Reason) -> None:
        """Stop the work for this document, if that is what is being done."""
        if self._running is None or self._running.key != key:
            return
        if self._adopter is not None:
            self._adopter.stop(reason)
            self._adopter = None
        self._running.stop(reason)

    def _cancel(self, job: Job) -> None:
        running = self._running
        if running is not None and job in (running, self._adopter):
            self._adopter = None
            self._linger(running)
        else:
            del self._pending[job.key]
        job.reply(job.empty(Reason.CANCELLED))

    def _linger(self, running: Job) -> None:
        """Nobody waits for this work now, but the request that comes next may adopt it."""
        if self._later is None or not running.progress.text:
            running.cancel.cancel()
        else:
            self._later(LINGER_S, partial(self._end_unwanted, running))

    def _end_unwanted(self, job: Job) -> None:
        if job is self._running and self._adopter is None:
            job.cancel.cancel()

    def _jobs_of(self, session: int) -> list[Job]:
        jobs = [*self._pending.values(), self._running, self._adopter]
        return [job for job in jobs if job is not None and job.key[0] == session]

    def _start_next(self) -> None:
        if self._running is None and self._pending:
            job = self._pending.pop(next(iter(self._pending)))
            self._running = job
            self._start(job)
