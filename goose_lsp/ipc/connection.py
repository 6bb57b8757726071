"""One connection to a daemon, from the handshake to its end."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress

from goose_lsp import __version__
from goose_lsp.errors import DaemonUnavailableError, ProtocolError
from goose_lsp.ipc.endpoint import Endpoint, check_peer
from goose_lsp.ipc.framing import FrameDecoder, encode_frame
from goose_lsp.ipc.messages import (
    PROTOCOL_VERSION,
    AskStatus,
    Complete,
    CompleteReply,
    Failure,
    Hello,
    Message,
    Resync,
    Status,
    Welcome,
    decode,
    encode,
)

_READ_BYTES = 64 * 1024
# Two of the largest frames: a daemon that has not read that much does not read at all.
_MAX_UNSENT_BYTES = 128 * 1024 * 1024

_logger = logging.getLogger(__name__)


async def connect(
    endpoint: Endpoint, client: str, limit_s: float, on_resync: Callable[[str], None]
) -> "Connection | None":
    """A connection after the handshake, or None if nobody listens.

    Raises `DaemonUnavailableError` if somebody listens but does not answer as a daemon would.
    """
    try:
        async with asyncio.timeout(limit_s):
            reader, writer = await asyncio.open_unix_connection(str(endpoint.socket_path))
            return await _shake_hands(Connection(reader, writer, on_resync), client)
    except TimeoutError:
        raise DaemonUnavailableError(
            f"the daemon does not answer within {limit_s:g} s; restart it with goose-lsp daemon restart"
        ) from None
    except ProtocolError as error:
        raise DaemonUnavailableError(
            f"what listens at {endpoint.socket_path} is no daemon of ours: {error}"
        ) from None
    except OSError:
        return None


async def _shake_hands(connection: "Connection", client: str) -> "Connection | None":
    try:
        await connection.start(client)
    except BaseException as error:
        await connection.aclose()
        if isinstance(error, EOFError):  # it was just ending
            return None
        raise
    return connection


class Connection:
    """Asks and answers by request id. Every method belongs to the loop it was made on."""

    welcome: Welcome

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        on_resync: Callable[[str], None],
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._on_resync = on_resync
        self._waiting: dict[int, asyncio.Future[CompleteReply | Status | None]] = {}
        self._incoming = self._read_messages()
        self._pump: asyncio.Task[None] | None = None
        self.is_open = True

    async def start(self, client: str) -> None:
        """Raises `EOFError` if the other side closes, `ProtocolError` if it is not a daemon."""
        check_peer(self._writer.get_extra_info("socket"))
        self.send(Hello(PROTOCOL_VERSION, __version__, client))
        match await anext(self._incoming, None):
            case None:
                raise EOFError
            case Welcome() as welcome:
                self.welcome = welcome
            case Failure(message):
                raise ProtocolError(message)
            case other:
                raise ProtocolError(f"{type(other).__name__} came; Welcome was due")
        self._pump = asyncio.create_task(self._receive())

    @property
    def is_same_version(self) -> bool:
        found = (self.welcome.protocol, self.welcome.version)
        return found == (PROTOCOL_VERSION, __version__)

    def send(self, message: Message) -> None:
        """Queue a message; after the end it goes nowhere. Raises `ProtocolError` if it is too large."""
        frame = encode_frame(encode(message))
        if not self.is_open:
            return
        self._writer.write(frame)
        if self._writer.transport.get_write_buffer_size() > _MAX_UNSENT_BYTES:
            _logger.warning("the daemon has stopped reading; leaving it")
            self._writer.transport.abort()

    async def ask(
        self, request: Complete | AskStatus, limit_s: float | None
    ) -> CompleteReply | Status | None:
        """The answer, or None if the connection ends first. Raises `TimeoutError` at the limit."""
        if not self.is_open:
            return None
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[CompleteReply | Status | None] = loop.create_future()
        self._waiting[request.request_id] = answer
        try:
            self.send(request)
            async with asyncio.timeout(limit_s):
                return await answer
        finally:
            del self._waiting[request.request_id]

    async def wait_end(self) -> None:
        if self._pump is not None:
            await asyncio.wait([self._pump])

    async def aclose(self) -> None:
        self._end()
        if self._pump is not None:
            self._pump.cancel()
            await asyncio.wait([self._pump])
        await self._incoming.aclose()
        with suppress(OSError):
            await self._writer.wait_closed()

    async def _receive(self) -> None:
        try:
            async for message in self._incoming:
                self._dispatch(message)
        except ProtocolError as error:
            _logger.warning("the daemon sent what is not our protocol: %s", error)
        finally:
            self._end()

    def _dispatch(self, message: Message) -> None:
        match message:
            case CompleteReply(request_id=request_id) | Status(request_id=request_id):
                # Nobody waits any more for a request that was cancelled here.
                answer = self._waiting.get(request_id)
                if answer is not None and not answer.done():
                    answer.set_result(message)
            case Resync(uri):
                self._on_resync(uri)
            case Failure(text):
                _logger.warning("the daemon ends this connection: %s", text)
            case other:
                raise ProtocolError(f"a daemon does not send {type(other).__name__}")

    async def _read_messages(self) -> AsyncGenerator[Message]:
        decoder = FrameDecoder()
        with suppress(OSError):
            while data := await self._reader.read(_READ_BYTES):
                for payload in decoder.feed(data):
                    yield decode(payload)

    def _end(self) -> None:
        self.is_open = False
        self._writer.close()
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_result(None)
