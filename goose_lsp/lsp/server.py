"""`goose-lsp --stdio`: one language server on this process's standard streams."""

import logging
import sys

from goose_lsp.config import Settings
from goose_lsp.lsp.stdio import ClientWriter, take_over_stdout


def run_stdio(settings: Settings) -> int:
    """Serve one client until it leaves; the exit code the specification asks for."""
    writer = ClientWriter(take_over_stdout())
    # Only now: nothing that is imported may print into the protocol.
    from goose_lsp.ipc.client import DaemonClient  # noqa: PLC0415
    from goose_lsp.lsp.handlers import GooseServer  # noqa: PLC0415
    from goose_lsp.lsp.session import Session  # noqa: PLC0415

    # pygls logs message bodies, which hold the user's code, at info.
    logging.getLogger("pygls").setLevel(logging.WARNING)
    session = Session(lambda text: DaemonClient(settings, "lsp", document_text=text))
    server = GooseServer(session)
    server.start_io(sys.stdin.buffer, writer)  # type: ignore[arg-type]  # only write, flush, close are used
    return server.protocol.exit_code
