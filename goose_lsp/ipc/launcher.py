"""Finding, starting, replacing and ending the daemon. Knows no documents and no requests."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from time import monotonic

from goose_lsp import __version__
from goose_lsp.config import Settings
from goose_lsp.errors import DaemonUnavailableError
from goose_lsp.ipc.connection import Connection, connect
from goose_lsp.ipc.endpoint import Endpoint
from goose_lsp.ipc.messages import Shutdown
from goose_lsp.ipc.spawn import StartedDaemon

Spawn = Callable[[Settings], StartedDaemon]

_HANDSHAKE_S = 10.0
# Between looks at a daemon that is starting or ending: short against either.
_POLL_S = 0.05
# A daemon that cannot start must not be started again at every keystroke.
_RETRY_START_S = 5.0


class Launcher:
    """Gives connections; every wait is bounded. Without `spawn` it only finds what already runs."""

    def __init__(
        self,
        settings: Settings,
        client: str,
        spawn: Spawn | None,
        on_resync: Callable[[str], None],
    ) -> None:
        self._settings = settings
        self._client = client
        self._spawn = spawn
        self._on_resync = on_resync
        self._endpoint = Endpoint(settings.runtime_dir)
        self._has_replaced = False
        self._refusal = ""
        self._refuses_until_s = 0.0

    async def find(self) -> Connection | None:
        """A connection to whatever daemon listens, of any version."""
        self._endpoint.prepare()
        return await connect(self._endpoint, self._client, _HANDSHAKE_S, self._on_resync)

    async def find_or_start(self) -> Connection:
        """A connection to a daemon of this version. Raises `GooseError` if none can be had."""
        connection = await self.find()
        if connection is not None and not connection.is_same_version:
            await self._replace(connection)
            connection = None
        if connection is None:
            connection = await self._start()
        if not connection.is_same_version:
            await connection.aclose()
            raise self._mismatch(connection)
        return connection

    async def end(self, connection: Connection) -> None:
        """Ask this daemon to end, and wait until its process is gone."""
        limit = monotonic() + self._settings.daemon.start_timeout_s
        connection.send(Shutdown())
        with suppress(TimeoutError):
            async with asyncio.timeout(self._settings.daemon.start_timeout_s):
                await connection.wait_end()
        await connection.aclose()
        while self._endpoint.is_held():
            if monotonic() >= limit:
                pid = connection.welcome.pid
                raise DaemonUnavailableError(f"the daemon does not end; end it with: kill {pid}")
            await asyncio.sleep(_POLL_S)

    async def _replace(self, connection: Connection) -> None:
        """Once only: two clients of different versions would end each other's daemon for ever."""
        if self._has_replaced:
            await connection.aclose()
            raise self._mismatch(connection)
        self._has_replaced = True
        await self.end(connection)

    def _mismatch(self, connection: Connection) -> DaemonUnavailableError:
        found = connection.welcome.version
        return DaemonUnavailableError(
            f"the daemon is version {found}, this client {__version__}; restart the older of the two"
        )

    async def _start(self) -> Connection:
        if monotonic() < self._refuses_until_s:
            raise DaemonUnavailableError(self._refusal)
        try:
            return await self._start_and_wait()
        except DaemonUnavailableError as error:
            self._refusal = str(error)
            self._refuses_until_s = monotonic() + _RETRY_START_S
            raise

    async def _start_and_wait(self) -> Connection:
        """Wait until a daemon listens: the one started here, or the one that won the race."""
        timeout_s = self._settings.daemon.start_timeout_s
        limit = monotonic() + timeout_s
        started: StartedDaemon | None = None
        while monotonic() < limit:
            if not self._endpoint.is_held():
                if started is not None and started.has_ended:
                    words = started.last_words() or "it said nothing"
                    raise DaemonUnavailableError(f"the daemon ended at its start: {words}")
                started = started or self._start_process()
            await asyncio.sleep(_POLL_S)
            if (connection := await self.find()) is not None:
                return connection
        raise DaemonUnavailableError(
            f"no daemon listens after {timeout_s} s; see goose-lsp daemon run"
        )

    def _start_process(self) -> StartedDaemon:
        if self._spawn is None:
            raise DaemonUnavailableError("no daemon runs; start one with goose-lsp daemon start")
        return self._spawn(self._settings)
