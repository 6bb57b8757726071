"""A daemon is found, started, replaced or given up on, each within a limit."""

import asyncio
import fcntl
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NoReturn, cast

import pytest

from goose_lsp.config import Settings
from goose_lsp.errors import DaemonUnavailableError
from goose_lsp.ipc.endpoint import Endpoint
from goose_lsp.ipc.launcher import Launcher, Spawn
from goose_lsp.ipc.spawn import StartedDaemon, start_daemon
from tests.daemon_rig import daemon_rig, run_async, settings_in, until


class NeverListening:
    has_ended = False


def start_in_vain(_: Settings) -> StartedDaemon:
    return cast("StartedDaemon", NeverListening())


def refuse_to_start(_: Settings) -> NoReturn:
    raise AssertionError("no daemon was to be started")


def launcher_in(folder: Path, spawn: Spawn | None, start_timeout_s: int = 15) -> Launcher:
    settings = settings_in(folder, start_timeout_s)
    return Launcher(settings, "test", spawn, lambda uri: None)


@asynccontextmanager
async def old_daemon(folder: Path) -> AsyncIterator[Callable[[], bool]]:
    """A daemon that ends when asked to; yields whether it was."""
    async with daemon_rig(settings_in(folder)) as rig:

        async def end() -> None:
            await rig.is_ending.wait()
            rig.endpoint.socket_path.unlink()
            await rig.server.close()

        ending = asyncio.create_task(end())
        yield rig.is_ending.is_set
        ending.cancel()


def test_a_daemon_that_listens_is_used(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with daemon_rig(settings_in(tmp_path)):
            connection = await launcher_in(tmp_path, refuse_to_start).find_or_start()
            assert connection.welcome.pid == 4711
            await connection.aclose()

    run_async(scenario())


def test_nothing_is_found_where_nobody_listens(tmp_path: Path) -> None:
    assert run_async(launcher_in(tmp_path, refuse_to_start).find()) is None


def test_without_a_way_to_start_the_error_names_the_command(tmp_path: Path) -> None:
    with pytest.raises(DaemonUnavailableError, match="goose-lsp daemon start"):
        run_async(launcher_in(tmp_path, None).find_or_start())


def test_a_process_that_ends_at_once_is_quoted(tmp_path: Path) -> None:
    def start(settings: Settings) -> StartedDaemon:
        return start_daemon(settings, [sys.executable, "-c", "raise SystemExit('no torch')"])

    with pytest.raises(DaemonUnavailableError, match="ended at its start: no torch"):
        run_async(launcher_in(tmp_path, start).find_or_start())


def test_a_start_without_end_is_given_up(tmp_path: Path) -> None:
    with pytest.raises(DaemonUnavailableError, match="no daemon listens after 1 s"):
        run_async(launcher_in(tmp_path, start_in_vain, start_timeout_s=1).find_or_start())


def test_a_failed_start_is_not_repeated_at_every_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = [100.0]
    monkeypatch.setattr("goose_lsp.ipc.launcher.monotonic", lambda: now_s[0])
    tries: list[Settings] = []

    def fail(settings: Settings) -> NoReturn:
        tries.append(settings)
        raise DaemonUnavailableError("no processes left")

    async def scenario() -> None:
        launcher = launcher_in(tmp_path, fail)
        for later_s in (0.0, 4.9, 0.2):
            now_s[0] += later_s
            with pytest.raises(DaemonUnavailableError, match="no processes left"):
                await launcher.find_or_start()

    run_async(scenario())
    assert len(tries) == 2


def test_a_daemon_that_is_already_starting_is_waited_for(tmp_path: Path) -> None:
    async def scenario() -> None:
        endpoint = Endpoint(settings_in(tmp_path).runtime_dir)
        endpoint.prepare()
        with endpoint.lock_path.open("w") as holder:
            fcntl.flock(holder, fcntl.LOCK_EX)
            finding = asyncio.create_task(launcher_in(tmp_path, refuse_to_start).find_or_start())
            await until(endpoint.is_held)
            async with daemon_rig(settings_in(tmp_path)):
                await (await finding).aclose()

    run_async(scenario())


def test_a_daemon_of_another_version_is_ended_once_and_never_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("goose_lsp.daemon.server.__version__", "0.0.1")

    async def scenario() -> None:
        launcher = launcher_in(tmp_path, None)
        async with old_daemon(tmp_path) as was_asked:
            with pytest.raises(DaemonUnavailableError, match="no daemon runs"):
                await launcher.find_or_start()
            assert was_asked()
        async with old_daemon(tmp_path) as was_asked:
            with pytest.raises(DaemonUnavailableError, match=r"the daemon is version 0\.0\.1"):
                await launcher.find_or_start()
            assert not was_asked()

    run_async(scenario())


def test_a_daemon_that_does_not_end_is_named_by_its_pid(tmp_path: Path) -> None:
    async def scenario() -> None:
        launcher = launcher_in(tmp_path, refuse_to_start, start_timeout_s=1)
        async with old_daemon(tmp_path):
            endpoint = Endpoint(settings_in(tmp_path).runtime_dir)
            connection = await launcher.find()
            assert connection is not None
            with endpoint.lock_path.open("w") as holder:
                fcntl.flock(holder, fcntl.LOCK_EX)
                with pytest.raises(DaemonUnavailableError, match="kill 4711"):
                    await launcher.end(connection)

    run_async(scenario())
