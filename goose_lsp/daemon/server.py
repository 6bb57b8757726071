"""The daemon's socket: handshakes, frames in, frames out. Everything runs on one loop thread."""

import asyncio
import logging
from contextlib import suppress
from time import monotonic

from goose_lsp import __version__
from goose_lsp.daemon.service import Service
from goose_lsp.errors import ProtocolError
from goose_lsp.ipc.endpoint import check_peer
from goose_lsp.ipc.framing import FrameDecoder, encode_frame
from goose_lsp.ipc.messages import (
    PROTOCOL_VERSION,
    Failure,
    Hello,
    Message,
    Shutdown,
    Welcome,
    decode,
    encode,
)

HANDSHAKE_S = 10.0
# Answers are small: a client with this much unread does not read any more.
MAX_UNSENT_BYTES = 8 * 1024 * 1024
_READ_BYTES = 64 * 1024

_logger = logging.getLogger(__name__)


class Server:
    """Serves connections; one client's faults never reach another."""

    def __init__(self, service: Service, pid: int) -> None:
        self._service = service
        self._pid = pid
        self._tasks: set[asyncio.Task[None]] = set()
        self._idle_since_s = monotonic()

    @property
    def idle_s(self) -> float:
        """Seconds since the last client left; 0 while there is one."""
        return 0.0 if self._tasks else monotonic() - self._idle_since_s

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Handle one connection to its end; the callback of `asyncio.start_unix_server`."""
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self._serve(_Peer(reader, writer))
        except ProtocolError as error:
            _logger.warning("a client is sent away: %s", error)
            _send_failure(writer, str(error))
        except (OSError, TimeoutError, asyncio.CancelledError):
            pass  # it went away, said nothing, or the daemon ends
        except Exception:
            _logger.exception("a client is sent away")
            _send_failure(writer, "an error in the daemon; see its log")
        finally:
            writer.close()
            self._tasks.discard(task)
            self._idle_since_s = monotonic()

    async def close(self) -> None:
        """End every connection."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=2.0)

    async def _serve(self, peer: "_Peer") -> None:
        check_peer(peer.writer.get_extra_info("socket"))
        async with asyncio.timeout(HANDSHAKE_S):
            first = await peer.receive()
        match first:
            case None:
                return
            case Hello() as hello:
                peer.send(Welcome(PROTOCOL_VERSION, __version__, self._pid))
            case other:
                raise ProtocolError(f"{type(other).__name__} came; Hello was due")
        session = self._service.connect(hello.client)
        is_ours = (hello.protocol, hello.version) == (PROTOCOL_VERSION, __version__)
        try:
            while (message := await peer.receive()) is not None:
                if not is_ours and not isinstance(message, Shutdown):
                    raise ProtocolError(
                        f"this daemon is {__version__}, the client {hello.version}; restart the daemon"
                    )
                self._service.receive(session, message, peer.send)
        finally:
            self._service.disconnect(session)


def _send_failure(writer: asyncio.StreamWriter, text: str) -> None:
    with suppress(OSError):
        writer.write(encode_frame(encode(Failure(text))))


class _Peer:
    """Messages of one connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self.writer = writer
        self._decoder = FrameDecoder()
        self._payloads: list[bytes] = []

    async def receive(self) -> Message | None:
        """The next message; None at the end."""
        while not self._payloads:
            data = await self._reader.read(_READ_BYTES)
            if not data:
                return None
            self._payloads = list(self._decoder.feed(data))
            self._payloads.reverse()
        return decode(self._payloads.pop())

    def send(self, message: Message) -> None:
        """Queue a message; one to a client that has gone or does not read is lost with it."""
        if self.writer.is_closing():
            return
        self.writer.write(encode_frame(encode(message)))
        if self.writer.transport.get_write_buffer_size() > MAX_UNSENT_BYTES:
            _logger.warning("a client does not read its answers; leaving it")
            self.writer.transport.abort()
