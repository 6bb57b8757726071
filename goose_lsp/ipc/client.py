"""A client's view of the daemon: always there to be asked, whether a daemon runs or not."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import count
from time import monotonic

from goose_lsp.config import Settings
from goose_lsp.errors import DaemonUnavailableError, GooseError, ProtocolError
from goose_lsp.ipc.connection import Connection, connect
from goose_lsp.ipc.endpoint import Endpoint
from goose_lsp.ipc.messages import (
    AskStatus,
    Cancel,
    ChangeDocument,
    CloseDocument,
    Complete,
    CompleteReply,
    OpenDocument,
    Shutdown,
    Status,
)
from goose_lsp.ipc.spawn import StartedDaemon, start_daemon
from goose_lsp.ipc.values import completion_from_wire, edits_to_wire, empty_completion
from goose_lsp.request import Completion, Edit, Point, Reason, Trigger

DocumentText = Callable[[str], tuple[int, str, str] | None]
"""The version, language and text of an open document; None if it is not open after all."""

# A hung daemon must not hang the editor; an honest one answers at the deadline.
_GRACE_S = 5.0
# Without a deadline the longest honest answer is a first one, after loading a large model.
_MAX_ANSWER_S = 600.0
_HANDSHAKE_S = 10.0
_STATUS_S = 5.0
# Between looks at a daemon that is starting or ending: short against either.
_POLL_S = 0.05

_logger = logging.getLogger(__name__)


class DaemonClient:
    """Sends documents and requests; connects, starts and restarts the daemon as needed.

    Belongs to one event loop. What `open`, `change` and `complete` send arrives in the order of the
    calls. Without `document_text` the last opened text stands in for it, and `change` is refused.
    """

    def __init__(
        self,
        settings: Settings,
        client: str,
        *,
        document_text: DocumentText | None = None,
        spawn: Callable[[Settings], StartedDaemon] = start_daemon,
    ) -> None:
        self._settings = settings
        self._client = client
        self._spawn = spawn
        self._endpoint = Endpoint(settings.runtime_dir)
        self._document_text = document_text
        self._opened: dict[str, tuple[int, str, str]] = {}  # used without `document_text`
        self._sent_versions: dict[str, int | None] = {}  # open uris; None: not sent yet
        self._connection: Connection | None = None
        self._connecting = asyncio.Lock()
        self._request_ids = count(1)

    async def open(self, uri: str, version: int, language: str, text: str) -> None:
        if self._document_text is None:
            self._opened[uri] = (version, language, text)
        self._sent_versions[uri] = None
        if (connection := self._live_connection()) is not None:
            self._send_text(connection, uri, (version, language, text))

    async def change(
        self, uri: str, from_version: int, version: int, edits: Sequence[Edit]
    ) -> None:
        assert self._document_text is not None, "changes need document_text"
        connection, sent = self._live_connection(), self._sent_versions.get(uri)
        # A document re-opened after a reconnect may already hold this change.
        if connection is not None and sent is not None and sent < version:
            self._sent_versions[uri] = version
            connection.send(ChangeDocument(uri, from_version, version, edits_to_wire(edits)))

    async def close(self, uri: str) -> None:
        self._opened.pop(uri, None)
        was_sent = self._sent_versions.pop(uri, None) is not None
        if was_sent and (connection := self._live_connection()) is not None:
            connection.send(CloseDocument(uri))

    async def complete(  # noqa: PLR0913  the wishes are keywords
        self,
        uri: str,
        version: int,
        point: Point,
        *,
        trigger: Trigger = Trigger.AUTOMATIC,
        deadline_ms: int = 0,
        max_new_tokens: int = 0,
        policy: str = "",
        is_isolated: bool = False,
        wants_trace: bool = False,
    ) -> Completion:
        """Never raises for an unavailable daemon: the empty answer says why.

        Cancelling the awaiting task sends `Cancel` and re-raises.
        """
        request = Complete(
            next(self._request_ids),
            uri,
            version,
            point.line,
            point.column,
            trigger.value,
            deadline_ms,
            max_new_tokens,
            policy,
            is_isolated,
            wants_trace,
        )
        try:
            connection = await self._connect_or_start()
            return await self._ask(connection, request, point)
        except GooseError as error:
            return empty_completion(point, Reason.DAEMON_UNAVAILABLE, str(error))

    async def status(self) -> Status | None:
        """What the running daemon says of itself; None if none answers. Starts none."""
        try:
            connection = self._live_connection() or await self._find()
            if connection is None:
                return None
            self._adopt(connection)
            answer = await connection.ask(AskStatus(next(self._request_ids)), _STATUS_S)
        except (GooseError, TimeoutError):
            return None
        return answer if isinstance(answer, Status) else None

    async def start(self) -> Status:
        """Connect, starting a daemon if none runs. Raises `GooseError` if none can be had."""
        await self._connect_or_start()
        status = await self.status()
        if status is None:
            raise DaemonUnavailableError("the daemon started but does not say how it is")
        return status

    async def shutdown(self) -> bool:
        """End the running daemon and wait until it is gone; False if none runs."""
        connection = self._live_connection()
        if connection is None:
            connection = await self._connect_any()
        if connection is None:
            return False
        await self._end_daemon(connection)
        return True

    async def aclose(self) -> None:
        if self._connection is not None:
            await self._connection.aclose()
            self._connection = None

    async def _ask(self, connection: Connection, request: Complete, point: Point) -> Completion:
        limit_s = request.deadline_ms / 1e3 + _GRACE_S if request.deadline_ms else _MAX_ANSWER_S
        try:
            reply = await connection.ask(request, limit_s)
        except asyncio.CancelledError:
            connection.send(Cancel(request.request_id))
            raise
        except TimeoutError:
            connection.send(Cancel(request.request_id))
            return empty_completion(point, Reason.DEADLINE, f"no answer within {limit_s:g} s")
        if not isinstance(reply, CompleteReply):
            detail = "the daemon ended before it answered; the next request starts a new one"
            return empty_completion(point, Reason.DAEMON_UNAVAILABLE, detail)
        return completion_from_wire(reply)

    def _live_connection(self) -> Connection | None:
        connection = self._connection
        return connection if connection is not None and connection.is_open else None

    async def _connect_or_start(self) -> Connection:
        if (connection := self._live_connection()) is not None:
            return connection
        async with self._connecting:
            connection = self._live_connection() or await self._find()
            if connection is None:
                connection = await self._start()
            self._adopt(connection)
            return connection

    def _adopt(self, connection: Connection) -> None:
        """Make it the connection in use; a new one is told of every open document."""
        if connection is self._connection:
            return
        self._connection = connection
        for uri in list(self._sent_versions):
            self._reopen(uri)

    def _reopen(self, uri: str) -> None:
        found = (self._document_text or self._opened.get)(uri)
        connection = self._live_connection()
        if found is not None and connection is not None and uri in self._sent_versions:
            self._send_text(connection, uri, found)

    def _send_text(self, connection: Connection, uri: str, found: tuple[int, str, str]) -> None:
        version, language, text = found
        try:
            connection.send(OpenDocument(uri, version, language, text))
        except ProtocolError as error:  # larger than a frame: the daemon never learns of it
            _logger.warning("a document is not sent: %s", error)
            return
        self._sent_versions[uri] = version

    async def _find(self) -> Connection | None:
        """A daemon of our version that already listens; one of another version is ended."""
        connection = await self._connect_any()
        if connection is not None and not connection.is_same_version:
            await self._end_daemon(connection)
            return None
        return connection

    async def _connect_any(self) -> Connection | None:
        self._endpoint.prepare()
        return await connect(self._endpoint, self._client, _HANDSHAKE_S, self._reopen)

    async def _end_daemon(self, connection: Connection) -> None:
        limit = monotonic() + self._settings.daemon.start_timeout_s
        connection.send(Shutdown())
        with suppress(TimeoutError):
            async with asyncio.timeout(self._settings.daemon.start_timeout_s):
                await connection.wait_end()
        await connection.aclose()
        while self._endpoint.is_held():
            if monotonic() >= limit:
                raise DaemonUnavailableError(
                    "the old daemon does not end; stop its process by hand"
                )
            await asyncio.sleep(_POLL_S)

    async def _start(self) -> Connection:
        """Start a daemon and wait until one listens: ours, or the one that won the race."""
        timeout_s = self._settings.daemon.start_timeout_s
        limit = monotonic() + timeout_s
        started = self._spawn(self._settings)
        while monotonic() < limit:
            connection = await self._connect_any()
            if connection is not None:
                return connection
            if started.has_ended and not self._endpoint.is_held():
                words = started.last_words() or "it said nothing"
                raise DaemonUnavailableError(f"the daemon ended at its start: {words}")
            await asyncio.sleep(_POLL_S)
        raise DaemonUnavailableError(
            f"no daemon listens after {timeout_s} s; see goose-lsp daemon run"
        )
