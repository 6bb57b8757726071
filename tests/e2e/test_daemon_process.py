"""Real daemon processes: starting, racing, dying, being replaced, and being badly spoken to."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep
from typing import TypeVar

import pytest

from goose_lsp.config import DaemonSettings, PathSettings, Settings
from goose_lsp.daemon.lifecycle import run_daemon
from goose_lsp.errors import DaemonUnavailableError
from goose_lsp.ipc.client import DaemonClient
from goose_lsp.ipc.endpoint import Endpoint
from goose_lsp.ipc.framing import encode_frame
from goose_lsp.ipc.spawn import DAEMON_COMMAND, StartedDaemon, environment_of, start_daemon
from goose_lsp.request import Completion, Point, Reason

pytestmark = pytest.mark.e2e

PROGRAM = (sys.executable, str(Path(__file__).with_name("daemon_program.py")))
LIMIT_S = 90.0
_Result = TypeVar("_Result")


class Place:
    """A runtime directory, the settings that name it, and every daemon started in it."""

    def __init__(self, folder: Path) -> None:
        paths = PathSettings(*(str(folder / name) for name in ("cache", "run", "log")))
        self.settings = replace(Settings(), paths=paths, daemon=DaemonSettings(start_timeout_s=60))
        self.endpoint = Endpoint(self.settings.runtime_dir)
        self.command: Sequence[str] = PROGRAM
        self.started: list[StartedDaemon] = []

    def spawn(self, settings: Settings) -> StartedDaemon:
        self.started.append(start_daemon(settings, self.command))
        return self.started[-1]

    def client(self) -> DaemonClient:
        return DaemonClient(self.settings, "test", spawn=self.spawn)

    def has_mark(self, name: str) -> bool:
        return (self.settings.cache_dir / name).exists()

    def kill_all(self) -> None:
        for daemon in self.started:
            if not daemon.has_ended:
                os.kill(daemon.pid, signal.SIGKILL)
        wait_for(lambda: all(daemon.has_ended for daemon in self.started))


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    monkeypatch.setenv("SCRIPTED_TEXT", "honk")
    # Not tmp_path: a socket's path must be short.
    with TemporaryDirectory(prefix="goose-") as folder:
        place = Place(Path(folder))
        try:
            yield place
        finally:
            place.kill_all()


def wait_for(is_true: Callable[[], bool]) -> None:
    limit = monotonic() + LIMIT_S
    while not is_true():
        assert monotonic() < limit, "it did not come"
        sleep(0.01)


async def until(is_true: Callable[[], bool]) -> None:
    async with asyncio.timeout(LIMIT_S):
        while not is_true():  # noqa: ASYNC110  another process makes it true
            await asyncio.sleep(0.01)


def run(work: Awaitable[_Result]) -> _Result:
    async def limited() -> _Result:
        async with asyncio.timeout(LIMIT_S):
            return await work

    return asyncio.run(limited())


def with_client(place: Place, act: Callable[[DaemonClient], Awaitable[_Result]]) -> _Result:
    """What `act` gives with a client that is closed afterwards."""

    async def acted() -> _Result:
        client = place.client()
        try:
            return await act(client)
        finally:
            await client.aclose()

    return run(acted())


async def ask(client: DaemonClient, text: str = "", uri: str = "a", version: int = 1) -> Completion:
    await client.open(uri, version, "python", text)
    return await client.complete(uri, version, Point(0, 0))


async def ask_and_wait_for_work(place: Place, client: DaemonClient) -> asyncio.Task[Completion]:
    asking = asyncio.create_task(ask(client, "wait"))
    await until(lambda: place.has_mark("working"))
    return asking


async def start(client: DaemonClient) -> int:
    return (await client.start()).pid


def test_a_completion_comes_back(place: Place) -> None:
    completion = with_client(place, ask)
    assert (completion.text, completion.reason) == ("honk", Reason.OK)


def test_ten_clients_at_once_end_with_one_daemon(place: Place) -> None:
    async def start_all() -> list[int]:
        clients = [place.client() for _ in range(10)]
        pids = await asyncio.gather(*map(start, clients))
        await asyncio.gather(*(client.aclose() for client in clients))
        return pids

    pids = run(start_all())
    assert len(set(pids)) == 1
    wait_for(lambda: sum(not daemon.has_ended for daemon in place.started) == 1)


def test_a_second_daemon_is_refused_and_names_the_first(place: Place) -> None:
    pid = with_client(place, start)
    with pytest.raises(DaemonUnavailableError, match=rf"already running \(pid {pid}\)"):
        run_daemon(place.settings)


def test_a_second_daemon_from_the_command_line_says_one_line(place: Place) -> None:
    pid = with_client(place, start)
    second = subprocess.run(
        [sys.executable, "-m", "goose_lsp", "daemon", "run"],
        env=environment_of(place.settings, os.environ),
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert second.returncode == 2
    (line,) = second.stderr.splitlines()
    assert f"pid {pid}" in line


def test_a_daemon_killed_in_the_middle_of_an_answer_is_replaced(place: Place) -> None:
    async def act(client: DaemonClient) -> tuple[Completion, Completion]:
        asking = await ask_and_wait_for_work(place, client)
        os.kill(place.started[0].pid, signal.SIGKILL)
        return await asking, await ask(client, uri="b")

    lost, answered = with_client(place, act)
    assert (lost.text, lost.reason) == ("", Reason.DAEMON_UNAVAILABLE)
    assert (answered.text, answered.reason) == ("honk", Reason.OK)
    assert len(place.started) == 2


def test_the_socket_of_a_dead_daemon_is_replaced(place: Place) -> None:
    place.endpoint.prepare()
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(place.endpoint.socket_path))
    place.endpoint.lock_path.touch()
    assert with_client(place, ask).text == "honk"


def test_sigterm_removes_the_socket_and_the_record(place: Place) -> None:
    pid = with_client(place, start)
    assert place.endpoint.read_record() is not None
    os.kill(pid, signal.SIGTERM)
    wait_for(lambda: place.started[0].has_ended)
    assert not place.endpoint.socket_path.exists()
    assert not place.endpoint.record_path.exists()
    assert not place.endpoint.is_held()


def test_sigterm_ends_a_daemon_at_work(place: Place) -> None:
    async def act(client: DaemonClient) -> Completion:
        asking = await ask_and_wait_for_work(place, client)
        os.kill(place.started[0].pid, signal.SIGTERM)
        return await asking

    assert with_client(place, act).text == ""
    wait_for(lambda: place.started[0].has_ended)
    assert place.has_mark("stopped")


def test_shutdown_leaves_no_daemon(place: Place) -> None:
    async def act(client: DaemonClient) -> tuple[bool, bool]:
        await client.start()
        return await client.shutdown(), await client.shutdown()

    assert with_client(place, act) == (True, False)
    wait_for(lambda: place.started[0].has_ended)


def test_a_daemon_without_clients_ends_by_itself(place: Place) -> None:
    place.settings = replace(
        place.settings, daemon=DaemonSettings(start_timeout_s=60, idle_exit_s=1)
    )
    with_client(place, start)
    wait_for(lambda: place.started[0].has_ended)
    assert not place.endpoint.socket_path.exists()


def test_bad_clients_do_not_hurt_a_good_one(place: Place) -> None:
    with_client(place, start)
    with ExitStack() as stack:
        peers = [stack.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(53)]
        for peer in peers:
            peer.settimeout(LIMIT_S)
            peer.connect(str(place.endpoint.socket_path))
        garbage, half, wrong, *_silent = peers
        garbage.sendall(b"GET / HTTP/1.1\r\n\r\n")
        half.sendall(encode_frame(b"half a frame")[:7])
        wrong.sendall(encode_frame(b"\xc1"))
        assert with_client(place, ask).text == "honk"
        for refused in (garbage, wrong):
            assert b"Failure" in refused.recv(4096)
            assert refused.recv(4096) == b""
    assert len(place.started) == 1


def test_a_newer_request_supersedes_the_running_one(place: Place) -> None:
    async def act(client: DaemonClient) -> tuple[Completion, Completion]:
        older = await ask_and_wait_for_work(place, client)
        newer = await ask(client, "go", version=2)
        return await older, newer

    older, newer = with_client(place, act)
    assert (older.text, older.reason) == ("", Reason.SUPERSEDED)
    assert (newer.text, newer.reason) == ("honk", Reason.OK)


def test_cancelling_the_awaiting_task_stops_the_work(place: Place) -> None:
    async def act(client: DaemonClient) -> Completion:
        asking = await ask_and_wait_for_work(place, client)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await until(lambda: place.has_mark("stopped"))
        return await ask(client, uri="b")

    assert with_client(place, act).text == "honk"


def test_a_client_that_goes_away_stops_its_work(place: Place) -> None:
    async def act(client: DaemonClient) -> None:
        asking = await ask_and_wait_for_work(place, client)
        await client.aclose()
        assert (await asking).reason is Reason.DAEMON_UNAVAILABLE

    with_client(place, act)
    wait_for(lambda: place.has_mark("stopped"))


def test_a_deadline_ends_the_work(place: Place) -> None:
    async def act(client: DaemonClient) -> Completion:
        await ask(client)
        await client.open("a", 2, "python", "wait")
        return await client.complete("a", 2, Point(0, 0), deadline_ms=400)

    assert with_client(place, act).reason is Reason.DEADLINE
    assert place.has_mark("stopped")


def test_a_missing_model_names_the_command_that_fetches_it(place: Place) -> None:
    place.command = DAEMON_COMMAND
    completion = with_client(place, ask)
    assert (completion.text, completion.reason) == ("", Reason.MODEL_MISSING)
    assert "goose-lsp models pull smollm2-135m" in completion.detail
