"""The process's standard streams, and the editor at the other end of them.

Imports nothing beyond the standard library: fd 1 is taken over before anything else can print.
"""

import os
import sys
from contextlib import suppress
from threading import Thread
from time import sleep
from typing import BinaryIO

PARENT_POLL_S = 2.0


def take_over_stdout() -> BinaryIO:
    """A private stream to the client. Whatever else writes to stdout from now on lands on stderr."""
    sys.stdout.flush()
    private_fd = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return os.fdopen(private_fd, "wb")


class ClientWriter:
    """Writes to the client; once the client has gone, drops what would have been written.

    The end of stdin, not a failed write, is what ends the server.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._is_gone = False

    def write(self, data: bytes) -> int:
        if not self._is_gone:
            try:
                self._stream.write(data)
                self._stream.flush()
            except (BrokenPipeError, ConnectionResetError):
                self._is_gone = True
        return len(data)

    def flush(self) -> None:
        """`write` has done it."""

    def close(self) -> None:
        self._is_gone = True
        with suppress(OSError):
            self._stream.close()


def exit_with_process(pid: int) -> None:
    """End this process soon after process `pid` has ended, whatever else it is doing."""
    # On Windows `os.kill(pid, 0)` is not a question; there the end of stdin has to do.
    if sys.platform != "win32":
        Thread(target=_wait_and_exit, args=(pid,), name="parent-watch", daemon=True).start()


def _wait_and_exit(pid: int) -> None:
    is_parent = os.getppid() == pid
    # A parent that died but was not reaped still counts as running, hence the second question.
    while is_running(pid) and not (is_parent and os.getppid() != pid):
        sleep(PARENT_POLL_S)
    # Not `sys.exit`: the main thread may be blocked reading a stdin that nobody will close.
    os._exit(1)


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True
