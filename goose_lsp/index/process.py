"""The builder process as its parent sees it."""

import logging
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from queue import SimpleQueue

from goose_lsp.errors import GooseError, ProtocolError
from goose_lsp.index.messages import (
    Message,
    Notice,
    Progress,
    Published,
    Start,
    Touched,
    decode,
    encode,
)
from goose_lsp.ipc.framing import FrameDecoder, encode_frame

log = logging.getLogger(__name__)

# -P: a module in the directory of the start, which may be the workspace, must never stand in for one of ours.
_COMMAND = (sys.executable, "-P", "-m", "goose_lsp.index.builder")
_END_S = 5.0
# One core at most: it must never be felt.
_ONE_THREAD = {"RAYON_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


def build_once(start: Start, tell: Callable[[str, int, int], None]) -> tuple[Published, list[str]]:
    """Build a workspace's index, or bring the kept one up to date, and say what a user should know.

    `tell` is told the phase and how far it is, here on the caller's thread. Raises `GooseError` where there is
    no index in the end.
    """
    said: SimpleQueue[Message | int] = SimpleQueue()
    published, notices = None, list[str]()
    process = BuilderProcess(replace(start, keeps_watching=False), said.put, said.put)
    try:
        while not isinstance(message := said.get(), int):
            match message:
                case Progress(phase, n_done, n_total):
                    tell(phase, n_done, n_total)
                case Notice(text):
                    notices.append(text)
                case Published():
                    published = message
    finally:
        process.close()
    if published is None:
        raise GooseError("; ".join(notices) or f"the index builder ended with {message}")
    return published, notices


class BuilderProcess:
    """Starts with its first message and ends with `close`, or when it fails, which `ended` is told.

    `received` and `ended` are called on a thread of this object.
    """

    def __init__(
        self, start: Start, received: Callable[[Message], None], ended: Callable[[int], None]
    ) -> None:
        """Raises `OSError` where no process can be started."""
        self._received, self._ended = received, ended
        self._process = subprocess.Popen(
            _COMMAND,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **_ONE_THREAD},
        )
        self._send(start)
        self._thread = threading.Thread(target=self._listen, name="index builder", daemon=True)
        self._thread.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def touch(self, paths: Iterable[str]) -> None:
        """These files may have changed."""
        self._send(Touched([os.fsencode(path) for path in paths]))

    def wait(self) -> int:
        """Until it ends by itself; its exit code."""
        self._thread.join()
        return self._process.wait()

    def close(self) -> None:
        """End it; what it has published stays. From any thread but its own."""
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._thread.join(_END_S)

    def _send(self, message: Message) -> None:
        assert self._process.stdin is not None
        with suppress(OSError, ValueError):  # it has ended; `ended` says so
            self._process.stdin.write(encode_frame(encode(message)))
            self._process.stdin.flush()

    def _listen(self) -> None:
        stream = self._process.stdout
        assert stream is not None
        decoder = FrameDecoder()
        try:
            while data := os.read(stream.fileno(), 1 << 16):
                for payload in decoder.feed(data):
                    self._received(decode(payload))
        except ProtocolError as error:
            log.warning("the index builder is ended: %s", error)
            self._process.kill()
        finally:
            stream.close()
            self._ended(self._process.wait())
