"""One client's faults never reach another."""

import asyncio
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from goose_lsp import __version__
from goose_lsp.ipc.framing import FrameDecoder, encode_frame
from goose_lsp.ipc.messages import (
    PROTOCOL_VERSION,
    AskStatus,
    Complete,
    CompleteReply,
    Failure,
    Hello,
    Message,
    OpenDocument,
    Shutdown,
    Status,
    Welcome,
    decode,
    encode,
)
from tests.daemon_rig import DaemonRig, daemon_rig, run_async, settings_in, until

HELLO = Hello(PROTOCOL_VERSION, __version__, "test")


class RawClient:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self.writer = reader, writer
        self._decoder = FrameDecoder()
        self._found: list[Message] = []

    def send(self, *messages: Message) -> None:
        self.writer.write(b"".join(encode_frame(encode(message)) for message in messages))

    async def receive(self) -> Message | None:
        while not self._found:
            data = await self._reader.read(65536)
            if not data:
                return None
            self._found = [decode(payload) for payload in self._decoder.feed(data)]
        return self._found.pop(0)


@asynccontextmanager
async def raw_client(rig: DaemonRig) -> AsyncIterator[RawClient]:
    reader, writer = await asyncio.open_unix_connection(str(rig.endpoint.socket_path))
    try:
        yield RawClient(reader, writer)
    finally:
        writer.close()


@asynccontextmanager
async def friend(rig: DaemonRig) -> AsyncIterator[RawClient]:
    """A client after its handshake."""
    async with raw_client(rig) as client:
        client.send(HELLO)
        assert await client.receive() == Welcome(PROTOCOL_VERSION, __version__, 4711)
        yield client


async def assert_serves(client: RawClient) -> None:
    client.send(AskStatus(99))
    answer = await client.receive()
    assert isinstance(answer, Status)
    assert answer.request_id == 99


async def assert_sent_away(client: RawClient, complaint: str) -> None:
    answer = await client.receive()
    assert isinstance(answer, Failure)
    assert complaint in answer.message
    assert await client.receive() is None


def test_frames_may_come_in_any_pieces(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with daemon_rig(settings_in(tmp_path)) as rig, raw_client(rig) as client:
            stream = b"".join(encode_frame(encode(m)) for m in (HELLO, AskStatus(1), AskStatus(2)))
            for i in range(len(stream)):
                client.writer.write(stream[i : i + 1])
                await asyncio.sleep(0)
            assert isinstance(await client.receive(), Welcome)
            for number in (1, 2):
                status = await client.receive()
                assert isinstance(status, Status)
                assert status.request_id == number

    run_async(scenario())


@pytest.mark.parametrize(
    ("rubbish", "complaint"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "the limit is"),
        (struct.pack(">I", 3) + b"\xc1\xc1\xc1", "not a message"),
        (encode_frame(encode(AskStatus(1))), "Hello was due"),
        (struct.pack(">I", 0), "not a message"),
    ],
)
def test_rubbish_is_sent_away_and_others_are_served(
    tmp_path: Path, rubbish: bytes, complaint: str
) -> None:
    async def scenario() -> None:
        async with daemon_rig(settings_in(tmp_path)) as rig, friend(rig) as other:
            async with raw_client(rig) as client:
                client.writer.write(rubbish)
                await assert_sent_away(client, complaint)
            await assert_serves(other)

    run_async(scenario())


def test_rubbish_after_the_handshake_ends_that_client_only(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with daemon_rig(settings_in(tmp_path)) as rig, friend(rig) as other:
            async with friend(rig) as client:
                client.send(HELLO)
                await assert_sent_away(client, "a client does not send Hello")
            await assert_serves(other)
            assert rig.service.n_clients == 1

    run_async(scenario())


def test_an_error_of_ours_ends_that_client_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        async with daemon_rig(settings_in(tmp_path)) as rig, friend(rig) as other:

            def fail(*_: object) -> None:
                raise ZeroDivisionError("secret")

            with monkeypatch.context() as patch:
                patch.setattr(rig.scheduler, "stop", fail)
                patch.setattr("goose_lsp.daemon.session.Session.open", fail)
                async with friend(rig) as client:
                    client.send(OpenDocument("a", 1, "python", ""))
                    await assert_sent_away(client, "an error in the daemon")
            await assert_serves(other)

    run_async(scenario())


def test_silence_ends_at_the_handshake_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("goose_lsp.daemon.server.HANDSHAKE_S", 0.01)

    async def scenario() -> None:
        async with daemon_rig(settings_in(tmp_path)) as rig, raw_client(rig) as client:
            assert await client.receive() is None
            await until(lambda: not rig.server._tasks)

    run_async(scenario())


def test_two_hundred_silent_clients_do_not_hurt_another(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with daemon_rig(settings_in(tmp_path)) as rig:
            path = str(rig.endpoint.socket_path)
            silent = [await asyncio.open_unix_connection(path) for _ in range(200)]
            async with friend(rig) as client:
                await assert_serves(client)
            for _, writer in silent:
                writer.close()
            await until(lambda: not rig.server._tasks)

    run_async(scenario())


def test_a_client_of_another_version_may_only_end_the_daemon(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with daemon_rig(settings_in(tmp_path)) as rig:
            for hello in (Hello(99, __version__, "new"), Hello(PROTOCOL_VERSION, "0.0", "old")):
                async with raw_client(rig) as client:
                    client.send(hello, AskStatus(1))
                    assert isinstance(await client.receive(), Welcome)
                    await assert_sent_away(client, "restart the daemon")
            assert not rig.is_ending.is_set()
            async with raw_client(rig) as client:
                client.send(Hello(99, "9", "new"), Shutdown())
                await rig.is_ending.wait()

    run_async(scenario())


def test_a_client_that_vanishes_takes_its_work_with_it(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with daemon_rig(settings_in(tmp_path)) as rig, friend(rig) as other:
            async with friend(rig) as client:
                client.send(OpenDocument("a", 1, "python", ""), Complete(1, "a", 1, 0, 0))
                job = await rig.next_job()
            await until(lambda: rig.service.n_clients == 1)
            assert job.cancel.is_cancelled
            rig.finish(job, "nobody reads this")
            await assert_serves(other)

    run_async(scenario())


def test_a_client_that_does_not_read_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("goose_lsp.daemon.server.MAX_UNSENT_BYTES", 1024)

    async def scenario() -> None:
        async with daemon_rig(settings_in(tmp_path)) as rig, friend(rig) as other:
            async with friend(rig) as client:
                client.writer.transport.pause_reading()  # type: ignore[attr-defined]
                client.send(OpenDocument("a", 1, "python", ""), Complete(1, "a", 1, 0, 0))
                rig.finish(await rig.next_job(), "x" * 4_000_000)
                await until(lambda: rig.service.n_clients == 1)
            await assert_serves(other)

    run_async(scenario())


def test_the_daemon_is_idle_from_the_last_client_on(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with daemon_rig(settings_in(tmp_path)) as rig:
            async with friend(rig):
                assert rig.server.idle_s == 0
            await until(lambda: rig.server.idle_s > 0)

    run_async(scenario())


def test_closing_ends_every_connection(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with (
            daemon_rig(settings_in(tmp_path)) as rig,
            friend(rig) as client,
            raw_client(rig) as silent,
        ):
            await rig.server.close()
            assert await client.receive() is None
            assert await silent.receive() is None

    run_async(scenario())


def test_an_answer_reaches_the_one_who_asked(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with daemon_rig(settings_in(tmp_path)) as rig, friend(rig) as one, friend(rig) as two:
            for number, client in enumerate((one, two)):
                client.send(OpenDocument("a", 1, "python", ""), Complete(5, "a", 1, 0, 0))
                rig.finish(await rig.next_job(), f"for {number}")
                reply = await client.receive()
                assert isinstance(reply, CompleteReply)
                assert reply.text == f"for {number}"

    run_async(scenario())
