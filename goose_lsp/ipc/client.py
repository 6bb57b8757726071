"""A client's view of the daemon: always there to be asked, whether a daemon runs or not."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from itertools import count

from goose_lsp.config import Settings
from goose_lsp.errors import DaemonUnavailableError, GooseError, ProtocolError
from goose_lsp.ipc.connection import Connection
from goose_lsp.ipc.launcher import Launcher, Spawn
from goose_lsp.ipc.messages import (
    Accepted,
    AskStatus,
    Cancel,
    ChangeDocument,
    CloseDocument,
    Complete,
    CompleteReply,
    FilesChanged,
    OpenDocument,
    OpenWorkspace,
    Rejected,
    Status,
    Welcome,
)
from goose_lsp.ipc.spawn import start_daemon
from goose_lsp.ipc.values import completion_from_wire, edits_to_wire, empty_completion
from goose_lsp.request import Completion, Edit, Point, Reason, Trigger

DocumentText = Callable[[str], tuple[int, str, str] | None]
"""The version, language and text of an open document; None if it is not open after all."""

# A hung daemon must not hang the editor; an honest one answers at the deadline.
_GRACE_S = 5.0
# Without a deadline the longest honest answer is a first one, after loading a large model.
_MAX_ANSWER_S = 600.0
_STATUS_S = 5.0

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
        spawn: Spawn | None = start_daemon,
    ) -> None:
        self._launcher = Launcher(settings, client, spawn, self._reopen)
        self._document_text = document_text
        self._folders: list[str] = []
        self._opened: dict[str, tuple[int, str, str]] = {}  # used without `document_text`
        self._sent_versions: dict[str, int | None] = {}  # open uris; None: not sent yet
        self._too_large: set[str] = set()  # open uris whose text fits into no frame
        self._connection: Connection | None = None
        self._connecting: asyncio.Task[Connection] | None = None
        self._request_ids = count(1)

    async def workspace(self, folders: Sequence[str]) -> None:
        """These folders are open, and no others; a daemon started later is told too."""
        self._folders = list(folders)
        if (connection := self._live_connection()) is not None:
            connection.send(OpenWorkspace(self._folders))

    async def files_changed(self, paths: Sequence[str]) -> None:
        """The editor saw these files change on disk."""
        if paths and (connection := self._live_connection()) is not None:
            connection.send(FilesChanged(list(paths)))

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
            change = ChangeDocument(uri, from_version, version, edits_to_wire(edits))
            _send_news(connection, change)

    async def close(self, uri: str) -> None:
        self._opened.pop(uri, None)
        self._too_large.discard(uri)
        was_sent = self._sent_versions.pop(uri, None) is not None
        if was_sent and (connection := self._live_connection()) is not None:
            connection.send(CloseDocument(uri))

    async def accepted(self, uri: str, text: str) -> None:
        """The user has taken over what was offered; a daemon that does not know it needs no news of it."""
        if (connection := self._live_connection()) is not None:
            connection.send(Accepted(uri, text))

    async def rejected(self, uri: str, text: str) -> None:
        """The user does not want what was offered."""
        if (connection := self._live_connection()) is not None:
            connection.send(Rejected(uri, text))

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
        tab_size: int = 0,
        insert_spaces: bool = True,
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
            tab_size,
            insert_spaces,
        )
        try:
            async with asyncio.timeout(deadline_ms / 1e3 if deadline_ms > 0 else None):
                connection = await self._connect_or_start()
        except TimeoutError:
            detail = "the daemon is starting and does not listen yet"
            return empty_completion(point, Reason.DAEMON_UNAVAILABLE, detail)
        except GooseError as error:
            return empty_completion(point, Reason.DAEMON_UNAVAILABLE, str(error))
        if uri in self._too_large:
            detail = "the daemon was not sent this document: it is larger than one message may be"
            return empty_completion(point, Reason.DOCUMENT_TOO_LARGE, detail)
        return await self._ask(connection, request, point)

    async def status(self) -> Status | None:
        """What the running daemon says of itself; None if none answers. Starts and ends none."""
        try:
            if (connection := self._live_connection()) is not None:
                return await self._ask_status(connection)
            if (connection := await self._launcher.find()) is None:
                return None
            try:
                return await self._ask_status(connection)
            finally:
                await connection.aclose()
        except (GooseError, TimeoutError) as error:
            _logger.warning("the daemon cannot be asked: %s", error or "no answer in time")
            return None

    async def start(self) -> Status:
        """Connect, starting a daemon if none runs. Raises `GooseError` if none can be had."""
        await self._connect_or_start()
        status = await self.status()
        if status is None:
            raise DaemonUnavailableError("the daemon started but does not say how it is")
        return status

    async def shutdown(self) -> bool:
        """End the running daemon and wait until it is gone; False if none runs."""
        connection = self._live_connection() or await self._launcher.find()
        if connection is None:
            return False
        await self._launcher.end(connection)
        return True

    async def aclose(self) -> None:
        if self._connecting is not None:
            self._connecting.cancel()
            await asyncio.wait([self._connecting])
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

    async def _ask_status(self, connection: Connection) -> Status | None:
        if not connection.is_same_version:
            return _foreign_status(connection.welcome)
        answer = await connection.ask(AskStatus(next(self._request_ids)), _STATUS_S)
        return answer if isinstance(answer, Status) else None

    def _live_connection(self) -> Connection | None:
        connection = self._connection
        return connection if connection is not None and connection.is_open else None

    async def _connect_or_start(self) -> Connection:
        """One attempt serves all who wait, and goes on when they no longer do."""
        if (connection := self._live_connection()) is not None:
            return connection
        if self._connecting is None:
            self._connecting = asyncio.create_task(self._connect())
            self._connecting.add_done_callback(self._forget_attempt)
        return await asyncio.shield(self._connecting)

    async def _connect(self) -> Connection:
        connection = await self._launcher.find_or_start()
        self._adopt(connection)
        return connection

    def _forget_attempt(self, attempt: asyncio.Task[Connection]) -> None:
        self._connecting = None
        if not attempt.cancelled():
            attempt.exception()  # seen, also where everybody who waited has gone

    def _adopt(self, connection: Connection) -> None:
        """Make it the connection in use, and tell it of every open document."""
        self._connection = connection
        if self._folders:
            connection.send(OpenWorkspace(self._folders))
        for uri in self._sent_versions:
            self._sent_versions[uri] = None
            self._reopen(uri)

    def _reopen(self, uri: str) -> None:
        connection = self._live_connection()
        if connection is None or uri not in self._sent_versions:
            return
        found = (self._document_text or self._opened.get)(uri)
        if found is not None:
            self._send_text(connection, uri, found)

    def _send_text(self, connection: Connection, uri: str, found: tuple[int, str, str]) -> None:
        version, language, text = found
        if _send_news(connection, OpenDocument(uri, version, language, text)):
            self._sent_versions[uri] = version
            self._too_large.discard(uri)
        else:
            self._too_large.add(uri)


def _send_news(connection: Connection, news: OpenDocument | ChangeDocument) -> bool:
    """False for news larger than a frame; requests for that document are then answered so."""
    try:
        connection.send(news)
    except ProtocolError as error:
        _logger.warning("a document is not sent: %s", error)
        return False
    return True


def _foreign_status(welcome: Welcome) -> Status:
    detail = "a daemon of another version; the next request replaces it"
    return Status(0, welcome.pid, welcome.version, "", "idle", detail, 0.0, 0, 0)
