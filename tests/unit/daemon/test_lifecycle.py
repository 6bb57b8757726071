"""The daemon process from its lock to its end."""

import asyncio
import fcntl
import logging
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from goose_lsp import __version__
from goose_lsp.config import DaemonSettings, PathSettings
from goose_lsp.daemon import lifecycle
from goose_lsp.errors import ConfigError, DaemonUnavailableError
from goose_lsp.ipc.client import DaemonClient
from goose_lsp.ipc.endpoint import DaemonRecord, Endpoint
from goose_lsp.ipc.messages import PROTOCOL_VERSION
from tests.daemon_rig import no_model, run_async, settings_in, until


@pytest.fixture
def endpoint(tmp_path: Path) -> Endpoint:
    endpoint = Endpoint(settings_in(tmp_path).runtime_dir)
    endpoint.prepare()
    return endpoint


@contextmanager
def probed(endpoint: Endpoint) -> Iterator[int]:
    """The lock as a client's probe holds it."""
    handle = os.open(endpoint.lock_path, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(handle, fcntl.LOCK_SH)
    try:
        yield handle
    finally:
        os.close(handle)


def test_a_held_lock_is_seen_by_clients_until_it_is_given_back(endpoint: Endpoint) -> None:
    with lifecycle._held_lock(endpoint):
        assert endpoint.is_held()
    assert not endpoint.is_held()


def test_the_lock_file_is_for_its_user_only(endpoint: Endpoint) -> None:
    with lifecycle._held_lock(endpoint):
        assert stat.S_IMODE(endpoint.lock_path.stat().st_mode) == 0o600


def test_a_held_lock_refuses_a_second_daemon_and_names_the_first(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lifecycle, "sleep", lambda pause_s: None)
    endpoint.write_record(DaemonRecord(4711, PROTOCOL_VERSION, __version__, ""))
    with (
        lifecycle._held_lock(endpoint),
        pytest.raises(DaemonUnavailableError, match=r"\(pid 4711\); stop it with"),
        lifecycle._held_lock(endpoint),
    ):
        raise AssertionError("two daemons at once")


def test_a_daemon_without_a_record_is_refused_all_the_same(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lifecycle, "sleep", lambda pause_s: None)
    with (
        lifecycle._held_lock(endpoint),
        pytest.raises(DaemonUnavailableError, match="already running; stop it with"),
        lifecycle._held_lock(endpoint),
    ):
        raise AssertionError("two daemons at once")


def test_a_clients_probe_does_not_keep_a_daemon_from_starting(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    with probed(endpoint) as handle:
        monkeypatch.setattr(lifecycle, "sleep", lambda pause_s: fcntl.flock(handle, fcntl.LOCK_UN))
        with lifecycle._held_lock(endpoint):
            assert endpoint.is_held()


def test_a_directory_that_others_may_enter_is_no_place_for_a_daemon(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    settings.runtime_dir.mkdir(mode=0o755)
    settings.runtime_dir.chmod(0o755)
    with pytest.raises(ConfigError, match="has mode 0755"):
        lifecycle.run_daemon(settings, load=no_model)


def test_a_log_that_cannot_be_written_costs_the_log_only(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    paths = PathSettings(log_dir=str(tmp_path / "file" / "log"))
    n_handlers = len(logging.getLogger().handlers)
    lifecycle._log_to_file(replace(settings_in(tmp_path), paths=paths))
    assert "set GOOSE_LSP_PATHS_LOG_DIR" in caplog.text
    assert len(logging.getLogger().handlers) == n_handlers


def test_a_daemon_shows_itself_while_it_runs_and_leaves_nothing(
    tmp_path: Path, endpoint: Endpoint
) -> None:
    async def live() -> None:
        settings = settings_in(tmp_path)
        running = asyncio.create_task(lifecycle._Daemon(settings, endpoint, no_model).run())
        await until(endpoint.record_path.exists)
        record = endpoint.read_record()
        assert record is not None
        assert (record.pid, record.version) == (os.getpid(), __version__)
        assert stat.S_IMODE(endpoint.socket_path.stat().st_mode) == 0o600
        client = DaemonClient(settings, "test", spawn=None)
        assert await client.shutdown()
        await running
        await client.aclose()

    umask = os.umask(0o022)
    try:
        run_async(live())
        assert os.umask(0o022) == 0o022
    finally:
        os.umask(umask)
    assert not endpoint.socket_path.exists()
    assert not endpoint.record_path.exists()


@pytest.mark.parametrize("idle_s", [60.0, 61.0])
def test_a_daemon_idle_for_its_limit_ends(
    tmp_path: Path, endpoint: Endpoint, idle_s: float
) -> None:
    settings = replace(settings_in(tmp_path), daemon=DaemonSettings(idle_exit_s=60))
    run_async(_until_end(lifecycle._Daemon(settings, endpoint, no_model), idle_s))


def test_a_daemon_without_a_limit_stays(tmp_path: Path, endpoint: Endpoint) -> None:
    settings = replace(settings_in(tmp_path), daemon=DaemonSettings(idle_exit_s=0))
    daemon = lifecycle._Daemon(settings, endpoint, no_model)

    async def wait_briefly() -> None:
        async with asyncio.timeout(0.3):
            await _until_end(daemon, idle_s=1e9)

    with pytest.raises(TimeoutError):
        run_async(wait_briefly())


class _ServedError(Exception):
    """Enough has been seen."""


@pytest.mark.parametrize("is_wanted", [True, False])
def test_looking_ahead_is_a_setting(
    tmp_path: Path, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch, is_wanted: bool
) -> None:
    def service(*_: object, looks_ahead: bool, **__: object) -> None:
        assert looks_ahead is is_wanted
        raise _ServedError

    monkeypatch.setattr(lifecycle, "Service", service)
    settings = replace(settings_in(tmp_path), daemon=DaemonSettings(look_ahead=is_wanted))
    with pytest.raises(_ServedError):
        run_async(lifecycle._Daemon(settings, endpoint, no_model).run())


class _IdleServer:
    def __init__(self, idle_s: float) -> None:
        self.idle_s = idle_s


async def _until_end(daemon: lifecycle._Daemon, idle_s: float) -> None:
    await daemon._until_end(asyncio.Event(), _IdleServer(idle_s))  # type: ignore[arg-type]
