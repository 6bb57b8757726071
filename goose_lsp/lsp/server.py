"""`goose-lsp --stdio`: one language server on this process's standard streams."""

import asyncio
import logging
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from goose_lsp.config import Settings
from goose_lsp.errors import ConfigError
from goose_lsp.lsp.recorder import CLIENT, Recorder, RecordingWriter, Writer
from goose_lsp.lsp.stdio import ClientWriter, take_over_stdout
from goose_lsp.lsp.wire import BadFrameError, read_body

if TYPE_CHECKING:
    from goose_lsp.lsp.protocol import GooseProtocol

logger = logging.getLogger(__name__)


def run_stdio(settings: Settings, record: Path | None = None) -> int:
    """Serve one client until it leaves; the exit code the specification asks for.

    Raises `ConfigError` where what is said cannot be recorded in that file.
    """
    writer: Writer = ClientWriter(take_over_stdout())
    recorder = _recorder(record) if record else None
    if recorder:
        writer = RecordingWriter(writer, recorder)
    # Only now: nothing that is imported may print into the protocol.
    from goose_lsp.ipc.client import DaemonClient  # noqa: PLC0415
    from goose_lsp.lsp.consent import configured_model  # noqa: PLC0415
    from goose_lsp.lsp.handlers import GooseServer  # noqa: PLC0415
    from goose_lsp.lsp.session import Session  # noqa: PLC0415

    # pygls logs messages, which hold the user's code; what goes wrong is told by ours.
    logging.getLogger("pygls").setLevel(logging.CRITICAL)
    session = Session(lambda text: DaemonClient(settings, "lsp", document_text=text))
    server = GooseServer(session, configured_model(settings))
    server.protocol.set_writer(writer)  # type: ignore[arg-type]  # only write and close are used
    try:
        asyncio.run(_serve(sys.stdin.buffer, server.protocol, recorder))
    except (KeyboardInterrupt, SystemExit):
        pass  # `exit` ends the loop so
    finally:
        server.shutdown()  # type: ignore[no-untyped-call]
        if recorder:
            recorder.close()
    return server.protocol.exit_code


def _recorder(file: Path) -> Recorder:
    try:
        return Recorder(file)
    except OSError as error:
        raise ConfigError(f"--record: {file} cannot be written: {error.strerror}") from None


async def _serve(
    stream: BinaryIO, protocol: "GooseProtocol", recorder: Recorder | None = None
) -> None:
    """Hand on the client's messages one by one until it leaves."""
    loop, reader = asyncio.get_running_loop(), ThreadPoolExecutor(1, "stdin")
    while True:
        try:
            body = await loop.run_in_executor(reader, read_body, stream)
        except BadFrameError as error:
            logger.warning("%s", error)
            continue
        if body is None:
            return
        if recorder:
            recorder.note(CLIENT, body)
        protocol.receive(body)
