"""A client has an answer whether a daemon runs or not."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from goose_lsp.config import Settings
from goose_lsp.errors import DaemonUnavailableError
from goose_lsp.ipc import client as client_module
from goose_lsp.ipc.client import DaemonClient
from goose_lsp.ipc.launcher import Spawn
from goose_lsp.ipc.spawn import StartedDaemon
from goose_lsp.request import Completion, Edit, Point, Reason
from tests.daemon_rig import DaemonRig, daemon_rig, run_async, settings_in, until

ORIGIN = Point(0, 0)


class Starting(StartedDaemon):
    """A process that never listens."""

    def __init__(self, *, has_ended: bool) -> None:
        self._is_over = has_ended

    @property
    def has_ended(self) -> bool:
        return self._is_over

    def last_words(self) -> str:
        return "no goose here"


class Editor:
    """The open documents as an editor holds them."""

    def __init__(self) -> None:
        self.documents: dict[str, tuple[int, str, str]] = {}

    def __call__(self, uri: str) -> tuple[int, str, str] | None:
        return self.documents.get(uri)


def ask(client: DaemonClient, version: int = 1, **wishes: Any) -> asyncio.Task[Completion]:
    return asyncio.create_task(client.complete("a", version, ORIGIN, **wishes))


async def text_held(rig: DaemonRig, client: DaemonClient, version: int = 1) -> str:
    """What the daemon holds of "a" when a request for it comes."""
    asking = ask(client, version, policy="plain")  # never answered without work
    job = await rig.next_job()
    rig.finish(job, "honk")
    assert (await asking).text == "honk"
    return job.ask.document.text


@asynccontextmanager
async def served(
    folder: Path, editor: Editor | None = None
) -> AsyncIterator[tuple[DaemonRig, DaemonClient]]:
    """A daemon and its client, which holds "a" open with the text "one" or what `editor` has."""
    settings = settings_in(folder)
    async with daemon_rig(settings) as rig, closed_later(settings, None, editor) as client:
        await client.open("a", 1, "python", "one")
        yield rig, client


@asynccontextmanager
async def closed_later(
    settings: Settings, spawn: Spawn | None, editor: Editor | None = None
) -> AsyncIterator[DaemonClient]:
    client = DaemonClient(settings, "test", document_text=editor, spawn=spawn)
    try:
        yield client
    finally:
        await client.aclose()


def test_a_document_opened_before_the_connection_is_sent_with_it(tmp_path: Path) -> None:
    async def act() -> None:
        async with served(tmp_path) as (rig, client):
            assert await text_held(rig, client) == "one"

    run_async(act())


def test_a_change_is_sent_as_edits(tmp_path: Path) -> None:
    async def act() -> None:
        editor = Editor()
        editor.documents["a"] = (1, "python", "one")
        async with served(tmp_path, editor) as (rig, client):
            await text_held(rig, client)
            editor.documents.clear()  # only the edits can bring it
            await client.change("a", 1, 2, [Edit(ORIGIN, ORIGIN, "x")])
            assert await text_held(rig, client, 2) == "xone"

    run_async(act())


def test_a_new_connection_brings_the_open_documents_again(tmp_path: Path) -> None:
    async def act() -> None:
        async with served(tmp_path) as (rig, client):
            await text_held(rig, client)
            await rig.server.close()
            await until(lambda: rig.service.n_clients == 0)
            await until(lambda: client._live_connection() is None)
            assert await text_held(rig, client) == "one"

    run_async(act())


def test_a_change_that_came_with_the_new_connection_is_not_sent_twice(tmp_path: Path) -> None:
    async def act() -> None:
        editor = Editor()
        editor.documents["a"] = (2, "python", "xone")
        async with served(tmp_path, editor) as (rig, client):
            await text_held(rig, client, 2)
            await client.change("a", 1, 2, [Edit(ORIGIN, ORIGIN, "x")])
            assert await text_held(rig, client, 2) == "xone"

    run_async(act())


def test_a_daemon_that_lost_the_text_gets_it_again(tmp_path: Path) -> None:
    async def act() -> None:
        async with served(tmp_path) as (rig, client):
            await text_held(rig, client)
            (session,) = rig.service._sessions.values()
            session.documents.clear()
            assert (await ask(client)).reason is Reason.UNKNOWN_DOCUMENT
            assert await text_held(rig, client) == "one"

    run_async(act())


def test_a_closed_document_is_forgotten_at_both_ends(tmp_path: Path) -> None:
    async def act() -> None:
        async with served(tmp_path) as (rig, client):
            await text_held(rig, client)
            await client.close("a")
            assert (await ask(client)).reason is Reason.UNKNOWN_DOCUMENT
            status = await client.status()
            assert status is not None
            assert status.n_documents == 0

    run_async(act())


def test_a_document_larger_than_a_frame_costs_only_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def act() -> None:
        async with served(tmp_path) as (rig, client):
            await client.open("b", 1, "python", "x" * 2000)
            assert await text_held(rig, client) == "one"
            answer = await client.complete("b", 1, ORIGIN)
            assert answer.reason is Reason.DOCUMENT_TOO_LARGE
            await client.close("b")
            await client.open("b", 2, "python", "x")
            assert not (await client.complete("b", 2, ORIGIN, deadline_ms=1)).reason.startswith(
                "document"
            )

    monkeypatch.setattr("goose_lsp.ipc.messages.MAX_FRAME_BYTES", 1000)
    run_async(act())


def test_cancelling_the_awaiting_task_stops_the_work(tmp_path: Path) -> None:
    async def act() -> None:
        async with served(tmp_path) as (rig, client):
            asking = ask(client)
            job = await rig.next_job()
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            await until(lambda: job.cancel.is_cancelled)

    run_async(act())


def test_a_daemon_that_does_not_answer_in_time_is_told_to_stop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def act() -> None:
        async with served(tmp_path) as (rig, client):
            await text_held(rig, client)
            asking = ask(client, deadline_ms=10, policy="plain")
            job = await rig.next_job()
            answer = await asking
            assert (answer.text, answer.reason) == ("", Reason.DEADLINE)
            await until(lambda: job.is_answered)

    monkeypatch.setattr(client_module, "_GRACE_S", 0.05)
    run_async(act())


def test_what_becomes_of_an_offer_reaches_the_daemon(tmp_path: Path) -> None:
    async def act() -> None:
        async with served(tmp_path) as (_rig, client):
            await client.accepted("a", "lost: there is no connection yet")
            await client.start()
            await client.accepted("a", "x")
            await client.rejected("a", "y")
            status = await client.status()
            assert status is not None
            assert (status.counters["accepted"], status.counters["rejected"]) == (1, 1)

    run_async(act())


def test_a_connection_that_ends_first_is_the_reason(tmp_path: Path) -> None:
    async def act() -> None:
        async with served(tmp_path) as (rig, client):
            asking = ask(client)
            await rig.next_job()
            await rig.server.close()
            assert (await asking).reason is Reason.DAEMON_UNAVAILABLE

    run_async(act())


def test_without_a_daemon_the_answer_names_the_command(tmp_path: Path) -> None:
    async def act() -> Completion:
        async with closed_later(settings_in(tmp_path), None) as client:
            assert await client.status() is None
            assert not await client.shutdown()
            return await ask(client)

    answer = run_async(act())
    assert (answer.text, answer.reason) == ("", Reason.DAEMON_UNAVAILABLE)
    assert "goose-lsp daemon start" in answer.detail


def test_a_daemon_that_cannot_start_is_started_once_for_all_who_ask(tmp_path: Path) -> None:
    spawned: list[Starting] = []

    def spawn(settings: Settings) -> StartedDaemon:
        spawned.append(Starting(has_ended=True))
        return spawned[-1]

    async def act() -> list[Completion]:
        async with closed_later(settings_in(tmp_path), spawn) as client:
            answers = await asyncio.gather(*(ask(client) for _ in range(5)))
            return [*answers, await ask(client)]

    answers = run_async(act())
    assert {answer.reason for answer in answers} == {Reason.DAEMON_UNAVAILABLE}
    assert all("no goose here" in answer.detail for answer in answers)
    assert len(spawned) == 1


def test_a_deadline_does_not_wait_for_a_slow_start(tmp_path: Path) -> None:
    async def act() -> Completion:
        settings = settings_in(tmp_path)
        async with closed_later(settings, lambda _: Starting(has_ended=False)) as client:
            return await ask(client, deadline_ms=30)

    answer = run_async(act())
    assert answer.reason is Reason.DAEMON_UNAVAILABLE
    assert "is starting" in answer.detail


def test_start_says_why_there_is_no_daemon(tmp_path: Path) -> None:
    async def act() -> None:
        settings = settings_in(tmp_path)
        async with closed_later(settings, lambda _: Starting(has_ended=True)) as client:
            await client.start()

    with pytest.raises(DaemonUnavailableError, match="ended at its start: no goose here"):
        run_async(act())


def test_a_daemon_of_another_version_is_named_but_not_ended_by_status(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def act() -> None:
        settings = settings_in(tmp_path)
        async with daemon_rig(settings) as rig, closed_later(settings, None) as client:
            status = await client.status()
            assert status is not None
            assert (status.version, status.pid) == ("0.0.0.0", 4711)
            assert not rig.is_ending.is_set()

    monkeypatch.setattr("goose_lsp.daemon.server.__version__", "0.0.0.0")
    run_async(act())


def test_a_daemon_of_another_version_is_ended_by_a_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def act() -> None:
        settings = settings_in(tmp_path)
        async with daemon_rig(settings) as rig, closed_later(settings, None) as client:
            asking = ask(client)
            await rig.is_ending.wait()
            await rig.server.close()
            rig.endpoint.socket_path.unlink()
            assert (await asking).reason is Reason.DAEMON_UNAVAILABLE

    monkeypatch.setattr("goose_lsp.daemon.server.__version__", "0.0.0.0")
    run_async(act())
