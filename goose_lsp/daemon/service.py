"""From messages to actions. Knows sessions and the schedule, no sockets."""

import logging
import os
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path, PurePath
from time import monotonic
from typing import NoReturn

from goose_lsp import __version__
from goose_lsp.cancel import CancelToken
from goose_lsp.daemon.completer import Ask
from goose_lsp.daemon.schedule import Job, Scheduler
from goose_lsp.daemon.session import Session
from goose_lsp.daemon.worker import Worker
from goose_lsp.daemon.workspaces import Workspaces
from goose_lsp.errors import ProtocolError
from goose_lsp.index.secrets import is_secret_name
from goose_lsp.ipc.messages import (
    AskStatus,
    Cancel,
    ChangeDocument,
    CloseDocument,
    Complete,
    FilesChanged,
    Message,
    OpenDocument,
    OpenWorkspace,
    Resync,
    Shutdown,
    Status,
)
from goose_lsp.ipc.uri import path_of
from goose_lsp.ipc.values import completion_to_wire, empty_completion
from goose_lsp.request import Completion, Point, Reason, Trigger
from goose_lsp.text.document import Document

Send = Callable[[Message], None]
Answer = Callable[[Completion], None]
Later = Callable[[float, Callable[[], None]], object]
"""Call back on the loop thread after some seconds; `loop.call_later`."""

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
    ) -> None:
        self._worker = worker
        self._scheduler = scheduler
        self._model_name = model_name
        self._shutdown = shutdown
        self._later = later
        self._clock = clock
        # One that never learns of a model never starts anything.
        self._workspaces = workspaces or Workspaces(Path(), _no_workspace)
        self._started_s = clock()
        self._sessions: dict[int, Session] = {}
        self._n_requests = 0
        self._n_opened = 0
        self._answered: Counter[str] = Counter()

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
        document = session.documents.get(message.uri)
        snapshot = document.snapshot() if document else None
        self._workspaces.document_changed(session.number, message.uri, snapshot)

    def _complete(self, session: Session, request: Complete, send: Send) -> None:
        self._n_requests += 1
        answer = partial(self._answer, request, send)
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
        elif (path := path_of(request.uri)) is not None and is_secret_name(PurePath(path)):
            detail = "files of this name hold secrets; nothing of them is read"
            answer(empty_completion(point, Reason.IGNORED_FILE, detail))
        else:
            self._submit(session, request, document.snapshot(), answer)

    def _submit(
        self, session: Session, request: Complete, snapshot: Document, answer: Answer
    ) -> None:
        now_s = self._clock()
        limit_s = request.deadline_ms / 1e3 if request.deadline_ms > 0 else None
        ask = Ask(
            snapshot,
            Point(request.line, request.column),
            max(0, request.max_new_tokens),
            request.policy,
            request.is_isolated,
            request.wants_trace,
            Trigger(request.trigger) if request.trigger in set(Trigger) else Trigger.AUTOMATIC,
            self._workspaces.live(session.number),
            path_of(request.uri) or "",
        )
        cancel = CancelToken(None if limit_s is None else now_s + limit_s, self._clock)
        key = (session.number, request.uri)
        job = Job(key, request.request_id, ask, cancel, answer, now_s)
        self._scheduler.submit(job)
        if limit_s is not None:
            self._later(limit_s, partial(self._expire, job))

    def _expire(self, job: Job) -> None:
        self._scheduler.expire(job, is_loading=self._worker.model_state == "loading")

    def _answer(self, request: Complete, send: Send, completion: Completion) -> None:
        self._answered[completion.reason.value] += 1
        reply = partial(completion_to_wire, request.request_id, request.uri, request.version)
        try:
            send(reply(completion))
        except Exception:
            # Too large, or statistics that the wire does not know: one request's loss, no more.
            _logger.exception("the answer to request %d cannot be sent", request.request_id)
            point = Point(request.line, request.column)
            send(reply(empty_completion(point, Reason.INTERNAL_ERROR, "see the daemon's log")))

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
            counters={"requests": self._n_requests, "answered": dict(self._answered)},
        )


def _no_workspace(*_: object) -> NoReturn:
    raise AssertionError("no workspace is indexed here")
