"""The daemon process from its lock to its end."""

import asyncio
import fcntl
import logging
import logging.handlers
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING

from goose_lsp import __version__
from goose_lsp.config import Settings
from goose_lsp.daemon.completer import Completer
from goose_lsp.daemon.schedule import Job, Scheduler
from goose_lsp.daemon.server import Server
from goose_lsp.daemon.service import Service
from goose_lsp.daemon.worker import Worker
from goose_lsp.daemon.workspaces import AnyWorkspace, Folders, Workspaces
from goose_lsp.errors import DaemonUnavailableError
from goose_lsp.ipc.endpoint import DaemonRecord, Endpoint
from goose_lsp.ipc.messages import PROTOCOL_VERSION
from goose_lsp.request import Completion

if TYPE_CHECKING:
    from goose_lsp.daemon.workspace import Vocabulary

_LOG_BYTES = 2 * 1024 * 1024
_WORKER_END_S = 5.0
# A client's probe holds the lock for a moment; a real daemon holds it for good.
_LOCK_TRIES, _LOCK_PAUSE_S = 20, 0.02

_logger = logging.getLogger(__name__)

Load = Callable[[Callable[[str], None]], Completer]


def run_daemon(settings: Settings, load: Load | None = None) -> int:
    """Serve in the foreground until told to end, or idle for too long; the exit code.

    Raises `DaemonUnavailableError` if a daemon already runs, `ConfigError` if the runtime directory
    cannot be used.
    """
    endpoint = Endpoint(settings.runtime_dir)
    endpoint.prepare()
    with _held_lock(endpoint):
        _log_to_file(settings)
        # One busy Python thread beside inference stalled it a hundredfold at the default of 5 ms.
        sys.setswitchinterval(2e-4)
        if settings.daemon.nice and hasattr(os, "nice"):
            os.nice(settings.daemon.nice)
        asyncio.run(_Daemon(settings, endpoint, load or _loader(settings)).run())
    return 0


def _loader(settings: Settings) -> Load:
    def load(say: Callable[[str], None]) -> Completer:
        # torch is imported here, on the inference thread, when the first request comes.
        from goose_lsp.daemon.load import load_completer  # noqa: PLC0415

        return load_completer(settings, say)

    return load


@contextmanager
def _held_lock(endpoint: Endpoint) -> Iterator[None]:
    handle = os.open(endpoint.lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if not _try_lock(handle):
            record = endpoint.read_record()
            pid = f" (pid {record.pid})" if record else ""
            raise DaemonUnavailableError(
                f"a daemon is already running{pid}; stop it with goose-lsp daemon stop"
            )
        yield
    finally:
        os.close(handle)


def _try_lock(handle: int) -> bool:
    for _ in range(_LOCK_TRIES):
        with suppress(BlockingIOError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        sleep(_LOCK_PAUSE_S)
    return False


def _log_to_file(settings: Settings) -> None:
    try:
        settings.log_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        handler = logging.handlers.RotatingFileHandler(
            settings.log_dir / "daemon.log", maxBytes=_LOG_BYTES, backupCount=2, encoding="utf-8"
        )
    except OSError as error:
        _logger.warning("no log file: %s; set GOOSE_LSP_PATHS_LOG_DIR", error)
        return
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(settings.daemon.log_level.upper())


class _Daemon:
    """Startup, main loop and shutdown, in that order."""

    def __init__(self, settings: Settings, endpoint: Endpoint, load: Load) -> None:
        self._settings = settings
        self._endpoint = endpoint
        self._load = load

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        end = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, end.set)

        def done(job: Job, completion: Completion) -> None:
            with suppress(RuntimeError):  # the loop has closed while the job was finishing
                loop.call_soon_threadsafe(service.finish, job, completion)

        workspaces = Workspaces(self._settings.cache_dir, _make_workspace)

        def load(say: Callable[[str], None]) -> Completer:
            completer = self._load(say)
            if self._settings.index.enabled:
                self._index_with(completer, loop, workspaces)
            return completer

        worker = Worker(load, done)
        scheduler = Scheduler(worker.put, loop.call_later)
        model = self._settings.engine.model
        service = Service(
            worker,
            scheduler,
            model,
            end.set,
            loop.call_later,
            workspaces=workspaces,
            looks_ahead=self._settings.daemon.look_ahead,
        )
        server = Server(service, os.getpid())
        worker.start()
        self._endpoint.socket_path.unlink(missing_ok=True)  # the lock is ours, so it is stale
        with _private_umask():
            listener = await asyncio.start_unix_server(
                server.serve, str(self._endpoint.socket_path), backlog=128
            )
        self._endpoint.write_record(
            DaemonRecord(os.getpid(), PROTOCOL_VERSION, __version__, _now())
        )
        _logger.info("daemon %s listens, pid %d", __version__, os.getpid())
        try:
            await self._until_end(end, server)
        finally:
            listener.close()
            self._endpoint.socket_path.unlink(missing_ok=True)
            self._endpoint.record_path.unlink(missing_ok=True)
            await server.close()
            worker.stop(_WORKER_END_S)
            workspaces.close()
            _logger.info("daemon ends")

    def _index_with(
        self, completer: Completer, loop: asyncio.AbstractEventLoop, workspaces: Workspaces
    ) -> None:
        """Let workspaces be indexed in the model's tokens; a model without a tokenizer indexes nothing."""
        tokenizer = getattr(completer, "tokenizer", None)
        if tokenizer is None:
            return
        from goose_lsp.daemon.workspace import vocabulary_of  # noqa: PLC0415  the model has loaded all of it

        try:
            vocabulary = vocabulary_of(tokenizer, self._settings.cache_dir)
        except OSError as error:
            _logger.warning("workspaces are not indexed: %s", error)
            return
        loop.call_soon_threadsafe(workspaces.provide, vocabulary)

    async def _until_end(self, end: asyncio.Event, server: Server) -> None:
        limit_s = self._settings.daemon.idle_exit_s
        while not end.is_set():
            left_s = max(0.1, limit_s - server.idle_s) if limit_s else None
            with suppress(TimeoutError):
                await asyncio.wait_for(end.wait(), left_s)
            if limit_s and server.idle_s >= limit_s:
                _logger.info("no client for %d s", limit_s)
                return


def _make_workspace(folders: Folders, cache_dir: Path, vocabulary: "Vocabulary") -> AnyWorkspace:
    from goose_lsp.daemon.workspace import Workspace  # noqa: PLC0415  the model has loaded all of it

    return Workspace(folders, cache_dir, vocabulary)


@contextmanager
def _private_umask() -> Iterator[None]:
    """The socket is made with mode 0600, without a moment in which it is not."""
    before = os.umask(0o177)
    try:
        yield
    finally:
        os.umask(before)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
