"""Messages cut out of a stream of framed JSON, whatever else is in it.

pygls' own loop allocates what a header claims, ends on a header it cannot use, and builds objects of every
part of a message that looks like one.
"""

import json
import re
from typing import Any, BinaryIO

# Of one message. A document of 50 MB, written as JSON, fits well.
MAX_BODY_BYTES = 256 << 20
# Longer bodies are read and dropped up to here; a header that claims more is no header.
MAX_SKIPPED_BYTES = 4 << 30
MAX_HEADER_BYTES = 8 << 10
_CHUNK_BYTES = 1 << 20
_MAX_QUOTED = 60

_LENGTH = re.compile(rb"content-length[ \t]*:[ \t]*(\d{1,19})[ \t]*\r?\n", re.IGNORECASE)
_HEADER = re.compile(rb"[A-Za-z][A-Za-z-]*[ \t]*:[^\n]*\n")


class BadFrameError(ValueError):
    """Something that is no message was passed over; the next one can be read."""


def read_body(stream: BinaryIO) -> bytes | None:
    """The next message's body, None at the end of the stream. Blocks. Raises `BadFrameError`."""
    n_bytes: int | None = None
    while line := stream.readline(MAX_HEADER_BYTES):
        if found := _LENGTH.fullmatch(line):
            n_bytes = int(found[1])
        elif not line.strip():
            if n_bytes is not None:
                return _read(stream, n_bytes)
        elif not _HEADER.fullmatch(line) or line.lower().startswith(b"content-length"):
            raise BadFrameError(f"{line[:_MAX_QUOTED]!r} is no header of a message")
    return None


def _read(stream: BinaryIO, n_bytes: int) -> bytes | None:
    if n_bytes > MAX_SKIPPED_BYTES:
        raise BadFrameError(f"a header claims a message of {n_bytes} bytes")
    if n_bytes > MAX_BODY_BYTES:
        for start in range(0, n_bytes, _CHUNK_BYTES):
            stream.read(min(_CHUNK_BYTES, n_bytes - start))
        raise BadFrameError(
            f"a message of {n_bytes} bytes was dropped; {MAX_BODY_BYTES} bytes is the limit"
        )
    body = stream.read(n_bytes)
    return body if len(body) == n_bytes else None


def parse_body(body: bytes) -> Any:
    """Raises `ValueError` for what is no JSON, or so deeply nested that nobody means it."""
    try:
        return json.loads(body)
    except RecursionError:
        raise ValueError("JSON nested too deeply") from None
