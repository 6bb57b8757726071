"""A session between an editor and the server, written down to be played again.

The file holds the user's code: nothing is recorded unless asked for, and the file is the user's alone.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Any, BinaryIO, Protocol

CLIENT, SERVER = "client", "server"


class Writer(Protocol):
    def write(self, data: bytes) -> int: ...
    def close(self) -> None: ...


class Recorder:
    """One JSON line a message: seconds since the start, who sent it, and the message."""

    def __init__(self, file: Path, clock: Callable[[], float] = monotonic) -> None:
        """Raises `OSError` where the file cannot be made; what it held is gone."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0)
        self._out: BinaryIO = os.fdopen(os.open(file, flags, 0o600), "wb", buffering=0)
        self._clock = clock
        self._started_s = clock()

    def note(self, sender: str, body: bytes) -> None:
        """A message's body; what is no JSON is kept as text."""
        message: Any
        try:
            message = json.loads(body)
        except (ValueError, RecursionError):
            message = {"raw": body.decode("utf-8", "replace")}
        at = round(self._clock() - self._started_s, 4)
        line = json.dumps({"at": at, "from": sender, "message": message})
        self._out.write(line.encode() + b"\n")

    def close(self) -> None:
        self._out.close()


class RecordingWriter:
    """Passes on what the server sends, and has it noted. pygls writes a frame at a time."""

    def __init__(self, writer: Writer, recorder: Recorder) -> None:
        self._writer, self._recorder = writer, recorder

    def write(self, data: bytes) -> int:
        self._recorder.note(SERVER, data.partition(b"\r\n\r\n")[2])
        return self._writer.write(data)

    def close(self) -> None:
        self._writer.close()
