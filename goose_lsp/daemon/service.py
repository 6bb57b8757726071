"""From messages to actions. Knows sessions and the schedule, no sockets."""

import logging
import os
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePath
from time import monotonic
from typing import NoReturn

from goose_lsp import __version__
from goose_lsp.cancel import CancelToken
from goose_lsp.daemon.adoption import is_ordinary
from goose_lsp.daemon.completer import Ask
from goose_lsp.daemon.lookahead import LookAhead
from goose_lsp.daemon.schedule import Job, Later, Scheduler
from goose_lsp.daemon.session import Session
from goose_lsp.daemon.worker import Worker
from goose_lsp.daemon.workspaces import Workspaces
from goose_lsp.errors import ProtocolError
from goose_lsp.index.secrets import is_secret_name
from goose_lsp.ipc.messages import (
    Accepted,
    AskStatus,
    Cancel,
    ChangeDocument,
    CloseDocument,
    Complete,
    FilesChanged,
    Message,
    OpenDocument,
    OpenWorkspace,
    Rejected,
    Resync,
    Shutdown,
    Status,
)
from goose_lsp.ipc.uri import origin_of, path_of
from goose_lsp.ipc.values import completion_to_wire, empty_completion
from goose_lsp.request import Completion, Point, Reason, Trigger
from goose_lsp.text.document import Document

Send = Callable[[Message], None]
Answer = Callable[[Completion], None]

# Wider is a mistake, not an indentation.
_MAX_TAB_SIZE = 16

_logger = logging.getLogger(__name__)


class Service:
    """Everything the daemon can be asked. Lives on the loop thread; nothing here waits."""

    def __init__(  # noqa: PLR0913, PLR0917  what a daemon is made of
        self,
        worker: Worker,
        scheduler: Scheduler,
        model_name: str,
        shutdown: Callable[[], None],
        later: Later,
        clock: Callable[[], float] = monotonic,
        workspaces: Workspaces | None = None,  # None: nothing is indexed
        *,
        looks_ahead: bool = False,
    ) -> None:
        self._worker = worker
        self._scheduler = scheduler
        self._model_name = model_name
        self._shutdown = shutdown
        self._later = later
        self._clock = clock
        # One that never learns of a model never starts anything.
        self._workspaces = workspaces or Workspaces(Path(), _no_workspace)
        self._look_ahead = LookAhead(scheduler, later) if looks_ahead else None
        self._started_s = clock()
        self._sessions: dict[int, Session] = {}
        self._n_requests = 0
        self._n_opened = 0
        self._answered: Counter[str] = Counter()
        self._counts: Counter[str] = Counter()

    @property
    def n_clients(self) -> int:
        return len(self._sessions)

    def connect(self, client: str) -> Session:
        self._n_opened += 1
        session = Session(self._n_opened, client)
        self._sessions[session.number] = session
        return session

    def disconnect(self, session: Session) -> None:
        """Drop the client's documents and stop its work."""
        self._sessions.pop(session.number, None)
        self._scheduler.drop(session.number)
        self._workspaces.leave(session.number)
        if self._look_ahead is not None:
            self._look_ahead.leave(session)

    def finish(self, job: Job, completion: Completion) -> None:
        """The inference thread is done with this job; what it made is kept, wanted or not."""
        session = self._sessions.get(job.key[0])
        if session is not None and job.key[1] in session.documents and is_ordinary(job.ask):
            session.suggestions(job.key[1]).add(job.ask, completion)
        self._scheduler.finish(job, completion)

    def receive(self, session: Session, message: Message, send: Send) -> None:
        """Act on one message; raises `ProtocolError` on one that a client never sends."""
        match message:
            case OpenDocument() | ChangeDocument() | CloseDocument():
                self._take_document(session, message, send)
            case OpenWorkspace(folders):
                self._workspaces.open(session.number, folders)
            case FilesChanged(paths):
                self._workspaces.touch(session.number, paths)
            case Complete():
                self._complete(session, message, send)
            case Accepted() | Rejected():
                self._take_verdict(session, message)
            case Cancel(request_id):
                self._scheduler.stop(session.number, request_id)
            case AskStatus(request_id):
                send(self._status(request_id))
            case Shutdown():
                self._shutdown()
            case _:
                raise ProtocolError(f"a client does not send {type(message).__name__}")

    def _take_document(
        self, session: Session, message: OpenDocument | ChangeDocument | CloseDocument, send: Send
    ) -> None:
        """Mirror what the client's editor holds, and tell the index."""
        match message:
            case OpenDocument():
                session.open(message)
            case CloseDocument():
                session.close(message)
            case ChangeDocument():
                if not session.change(message):
                    send(Resync(message.uri))
                    return
        if origin_of(message.uri) != message.uri:
            return
        document = session.documents.get(message.uri)
        snapshot = document.snapshot() if document else None
        self._workspaces.document_changed(session.number, message.uri, snapshot)

    def _take_verdict(self, session: Session, verdict: Accepted | Rejected) -> None:
        if verdict.uri not in session.documents:
            return
        suggestions = session.suggestions(verdict.uri)
        match verdict:
            case Accepted(_, text):
                self._counts["accepted"] += 1
                suggestions.accept(text)
            case Rejected(_, text):
                self._counts["rejected"] += 1
                suggestions.reject(text)

    def _complete(self, session: Session, request: Complete, send: Send) -> None:
        self._n_requests += 1
        answer = partial(self._answer, session, request, send)
        point = Point(request.line, request.column)
        document = session.documents.get(request.uri)
        if document is None:
            send(Resync(request.uri))
            answer(empty_completion(point, Reason.UNKNOWN_DOCUMENT))
        elif document.version != request.version:
            if document.version < request.version:
                send(Resync(request.uri))
            detail = f"asked for version {request.version}, held is {document.version}"
            answer(empty_completion(point, Reason.STALE_VERSION, detail))
        elif not document.contains(point):
            answer(empty_completion(point, Reason.POSITION_OUTSIDE))
        elif is_secret_name(PurePath(_path_of(request.uri))):
            detail = "files of this name hold secrets; nothing of them is read"
            answer(empty_completion(point, Reason.IGNORED_FILE, detail))
        else:
            ask = self._ask(session, request, document)
            if not self._answer_from_cache(session, ask, answer):
                self._submit(session, request, ask, answer)

    def _ask(self, session: Session, request: Complete, document: Document) -> Ask:
        return Ask(
            document,
            Point(request.line, request.column),
            max(0, request.max_new_tokens),
            request.policy,
            request.is_isolated,
            request.wants_trace,
            Trigger(request.trigger) if request.trigger in set(Trigger) else Trigger.AUTOMATIC,
            self._workspaces.live(session.number),
            _path_of(request.uri),
            _indent_unit(request),
        )

    def _answer_from_cache(self, session: Session, ask: Ask, answer: Answer) -> bool:
        """Whether the request could be answered at once, with what is left of a suggestion."""
        if not is_ordinary(ask):
            return False
        started_s = self._clock()
        found = session.suggestions(ask.document.uri).find(ask)
        if found is None:
            return False
        self._counts["from_cache"] += 1
        self._counts["typed_through"] += found.completion.stats["n_typed"] > 0
        self._counts["look_aheads_used"] += found.kept.is_look_ahead
        self._scheduler.supersede((session.number, ask.document.uri))
        found.completion.stats["total_ms"] = round((self._clock() - started_s) * 1e3, 2)
        answer(found.completion)
        return True

    def _submit(self, session: Session, request: Complete, ask: Ask, answer: Answer) -> None:
        now_s = self._clock()
        limit_s = request.deadline_ms / 1e3 if request.deadline_ms > 0 else None
        ask = replace(ask, document=ask.document.snapshot())
        cancel = CancelToken(None if limit_s is None else now_s + limit_s, self._clock)
        key = (session.number, request.uri)
        job = Job(key, request.request_id, ask, cancel, answer, now_s)
        self._scheduler.submit(job)
        if limit_s is not None:
            self._later(limit_s, partial(self._expire, job))

    def _expire(self, job: Job) -> None:
        self._scheduler.expire(job, is_loading=self._worker.model_state == "loading")

    def _answer(
        self, session: Session, request: Complete, send: Send, completion: Completion
    ) -> None:
        completion = self._offered(session, request, completion)
        self._answered[completion.reason.value] += 1
        reply = partial(completion_to_wire, request.request_id, request.uri, request.version)
        try:
            send(reply(completion))
        except Exception:
            # Too large, or statistics that the wire does not know: one request's loss, no more.
            _logger.exception("the answer to request %d cannot be sent", request.request_id)
            point = Point(request.line, request.column)
            send(reply(empty_completion(point, Reason.INTERNAL_ERROR, "see the daemon's log")))

    def _offered(self, session: Session, request: Complete, completion: Completion) -> Completion:
        """The completion as it may be shown, in a document that is still as the request meant it."""
        document = session.documents.get(request.uri)
        if document is None or document.version != request.version:
            return completion
        ask = self._ask(session, request, document)
        if not is_ordinary(ask):
            return completion
        completion = session.suggestions(request.uri).offer(document, completion)
        if completion.text and self._look_ahead is not None:
            self._look_ahead.answered(session, ask, completion)
        return completion

    def _status(self, request_id: int) -> Status:
        return Status(
            request_id=request_id,
            pid=os.getpid(),
            version=__version__,
            model=self._model_name,
            model_state=self._worker.model_state,
            detail=self._worker.detail,
            uptime_s=round(self._clock() - self._started_s, 1),
            n_clients=self.n_clients,
            n_documents=sum(len(session.documents) for session in self._sessions.values()),
            index=self._workspaces.status(),
            counters={
                "requests": self._n_requests,
                "answered": dict(self._answered),
                **self._work_saved(),
            },
        )

    def _work_saved(self) -> dict[str, int]:
        names = ("from_cache", "typed_through", "look_aheads_used", "accepted", "rejected")
        return {
            **{name: self._counts[name] for name in names},
            "adopted": self._scheduler.n_adopted,
            "look_aheads": self._look_ahead.n_started if self._look_ahead else 0,
        }


def _path_of(uri: str) -> str:
    return path_of(origin_of(uri)) or ""


def _indent_unit(request: Complete) -> str:
    if not request.insert_spaces:
        return "\t"
    return " " * request.tab_size if 0 < request.tab_size <= _MAX_TAB_SIZE else ""


def _no_workspace(*_: object) -> NoReturn:
    raise AssertionError("no workspace is indexed here")
