"""One connection from its handshake to its end, against a peer that a test plays."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from goose_lsp import __version__
from goose_lsp.errors import DaemonUnavailableError, ProtocolError
from goose_lsp.ipc.connection import Connection, connect
from goose_lsp.ipc.endpoint import Endpoint
from goose_lsp.ipc.framing import FrameDecoder, encode_frame
from goose_lsp.ipc.messages import (
    PROTOCOL_VERSION,
    AskStatus,
    Failure,
    Hello,
    Message,
    OpenDocument,
    Resync,
    Status,
    Welcome,
    decode,
    encode,
)
from tests.daemon_rig import run_async, settings_in, until

WELCOME = Welcome(PROTOCOL_VERSION, __version__, 4711)


class Peer:
    """The daemon's end of one connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self.writer = writer

    def send(self, *messages: Message) -> None:
        for message in messages:
            self.writer.write(encode_frame(encode(message)))

    async def receive(self) -> Message:
        decoder, found = FrameDecoder(), list[bytes]()
        while not found:
            found += decoder.feed(await self._reader.readexactly(1))
        return decode(found[0])


Play = Callable[[Peer], Awaitable[None]]


@asynccontextmanager
async def listening(folder: Path, play: Play) -> AsyncIterator[Endpoint]:
    endpoint = Endpoint(settings_in(folder).runtime_dir)
    endpoint.prepare()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await play(Peer(reader, writer))
        finally:
            writer.close()

    listener = await asyncio.start_unix_server(serve, str(endpoint.socket_path))
    try:
        yield endpoint
    finally:
        listener.close()


@asynccontextmanager
async def connected(
    folder: Path, play: Play, resynced: list[str] | None = None
) -> AsyncIterator[Connection]:
    """A connection whose peer has welcomed it and then does as `play` says."""

    async def welcome(peer: Peer) -> None:
        assert isinstance(await peer.receive(), Hello)
        peer.send(WELCOME)
        await play(peer)

    noted = [] if resynced is None else resynced
    async with listening(folder, welcome) as endpoint:
        connection = await connect(endpoint, "test", 10.0, noted.append)
        assert connection is not None
        try:
            yield connection
        finally:
            await connection.aclose()


async def connect_to(folder: Path, play: Play, limit_s: float = 10.0) -> Connection | None:
    async with listening(folder, play) as endpoint:
        return await connect(endpoint, "test", limit_s, lambda uri: None)


def status(request_id: int) -> Status:
    return Status(request_id, 4711, __version__, "scripted", "idle", "", 0.0, 1, 0)


async def until_client_leaves(peer: Peer) -> None:
    with pytest.raises(asyncio.IncompleteReadError):
        await peer.receive()


def test_nobody_listens_where_there_is_no_socket(tmp_path: Path) -> None:
    endpoint = Endpoint(tmp_path)
    assert run_async(connect(endpoint, "test", 10.0, lambda uri: None)) is None


def test_nobody_listens_at_the_socket_of_a_dead_daemon(tmp_path: Path) -> None:
    endpoint = Endpoint(tmp_path)
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(endpoint.socket_path))
    assert run_async(connect(endpoint, "test", 10.0, lambda uri: None)) is None


def test_a_daemon_that_is_just_ending_counts_as_none(tmp_path: Path) -> None:
    async def end(peer: Peer) -> None:
        await peer.receive()

    assert run_async(connect_to(tmp_path, end)) is None


def test_a_silent_listener_is_left_at_the_limit(tmp_path: Path) -> None:
    async def be_silent(peer: Peer) -> None:
        await peer.receive()
        await until_client_leaves(peer)

    with pytest.raises(DaemonUnavailableError, match=r"within 0\.05 s; restart it with"):
        run_async(connect_to(tmp_path, be_silent, limit_s=0.05))


@pytest.mark.parametrize(
    ("frame", "why"),
    [
        (b"HTTP/1.1 400 Bad Request", "a frame of"),
        (encode_frame(b"\xc1"), "not a message"),
        (encode_frame(encode(Resync("a"))), "Resync came; Welcome was due"),
        (encode_frame(encode(Failure("go away"))), "go away"),
    ],
)
def test_what_is_no_daemon_is_named(tmp_path: Path, frame: bytes, why: str) -> None:
    async def answer(peer: Peer) -> None:
        await peer.receive()
        peer.writer.write(frame)
        await peer.writer.drain()

    with pytest.raises(DaemonUnavailableError, match=f"is no daemon of ours: .*{why}"):
        run_async(connect_to(tmp_path, answer))


def test_answers_find_their_questions_in_any_order(tmp_path: Path) -> None:
    async def answer_backwards(peer: Peer) -> None:
        asked = [await peer.receive() for _ in range(3)]
        peer.send(status(99))  # nobody asked
        for question in reversed(asked):
            assert isinstance(question, AskStatus)
            peer.send(status(question.request_id))
        await until_client_leaves(peer)

    async def act() -> list[int]:
        async with connected(tmp_path, answer_backwards) as connection:
            questions = (connection.ask(AskStatus(number), 10.0) for number in (1, 2, 3))
            answers = await asyncio.gather(*questions)
            return [answer.request_id for answer in answers if answer is not None]

    assert run_async(act()) == [1, 2, 3]


def test_an_answer_after_the_limit_goes_nowhere(tmp_path: Path) -> None:
    async def answer_the_first_late(peer: Peer) -> None:
        await peer.receive()
        await peer.receive()
        peer.send(status(1), status(2))
        await until_client_leaves(peer)

    async def act() -> None:
        async with connected(tmp_path, answer_the_first_late) as connection:
            with pytest.raises(TimeoutError):
                await connection.ask(AskStatus(1), 0.02)
            assert await connection.ask(AskStatus(2), 10.0) == status(2)

    run_async(act())


def test_resync_is_passed_on(tmp_path: Path) -> None:
    async def lose_a_text(peer: Peer) -> None:
        peer.send(Resync("a"))
        await until_client_leaves(peer)

    async def act() -> None:
        resynced: list[str] = []
        async with connected(tmp_path, lose_a_text, resynced):
            await until(lambda: resynced)
        assert resynced == ["a"]

    run_async(act())


async def end_at_a_question(peer: Peer) -> None:
    await peer.receive()


async def answer_with_rubbish(peer: Peer) -> None:
    await peer.receive()
    peer.writer.write(encode_frame(b"\xc1"))
    await until_client_leaves(peer)


async def answer_as_a_client(peer: Peer) -> None:
    await peer.receive()
    peer.send(AskStatus(1))
    await until_client_leaves(peer)


@pytest.mark.parametrize("play", [end_at_a_question, answer_with_rubbish, answer_as_a_client])
def test_every_end_answers_those_who_wait_and_those_who_come(tmp_path: Path, play: Play) -> None:
    async def act() -> None:
        async with connected(tmp_path, play) as connection:
            assert await connection.ask(AskStatus(1), 10.0) is None
            await connection.wait_end()
            assert not connection.is_open
            assert await connection.ask(AskStatus(2), 10.0) is None
            connection.send(AskStatus(3))  # goes nowhere, and says nothing

    run_async(act())


def test_closing_answers_those_who_wait(tmp_path: Path) -> None:
    async def act() -> None:
        async with connected(tmp_path, _ignore) as connection:
            asking = asyncio.create_task(connection.ask(AskStatus(1), 10.0))
            await until(lambda: connection._waiting)
            await connection.aclose()
            assert await asking is None

    run_async(act())


def test_a_message_too_large_for_a_frame_leaves_the_connection_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def act() -> None:
        async with connected(tmp_path, _ignore) as connection:
            with pytest.raises(ProtocolError, match="the limit is 1000"):
                connection.send(OpenDocument("a", 1, "python", "x" * 2000))
            assert connection.is_open

    monkeypatch.setattr("goose_lsp.ipc.messages.MAX_FRAME_BYTES", 1000)
    run_async(act())


def test_a_daemon_that_stops_reading_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def act() -> None:
        is_over = asyncio.Event()

        async def read_nothing(peer: Peer) -> None:
            await is_over.wait()

        async with connected(tmp_path, read_nothing) as connection:
            large = OpenDocument("a", 1, "python", "x" * 1_000_000)
            for _ in range(4):
                connection.send(large)
            await until(lambda: not connection.is_open)
            is_over.set()

    monkeypatch.setattr("goose_lsp.ipc.connection._MAX_UNSENT_BYTES", 1_000_000)
    run_async(act())


async def _ignore(peer: Peer) -> None:
    while True:
        try:
            await peer.receive()
        except asyncio.IncompleteReadError:
            return
