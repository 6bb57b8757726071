"""Frames: a 4-byte big-endian length, then that many bytes of payload. No I/O and no messages here."""

import struct
from collections.abc import Iterator

from goose_lsp.errors import ProtocolError

MAX_FRAME_BYTES = 64 * 1024 * 1024
_LENGTH = struct.Struct(">I")


def encode_frame(payload: bytes, max_bytes: int = MAX_FRAME_BYTES) -> bytes:
    """Raises `ProtocolError` for a payload that the other side would refuse."""
    _check_length(len(payload), max_bytes)
    return _LENGTH.pack(len(payload)) + payload


class FrameDecoder:
    """Turns a byte stream, however it is cut, back into payloads.

    After a `ProtocolError` the place of the next frame is unknown: the stream is to be closed.
    """

    def __init__(self, max_bytes: int = MAX_FRAME_BYTES) -> None:
        self._max_bytes = max_bytes
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Take what the socket gave; the iterator yields each payload that is now whole."""
        self._buffer += data
        return self._payloads()

    def _payloads(self) -> Iterator[bytes]:
        while (payload := self._next_payload()) is not None:
            yield payload

    def _next_payload(self) -> bytes | None:
        if len(self._buffer) < _LENGTH.size:
            return None
        (n_bytes,) = _LENGTH.unpack_from(self._buffer)
        _check_length(n_bytes, self._max_bytes)
        end = _LENGTH.size + n_bytes
        if len(self._buffer) < end:
            return None
        payload = bytes(self._buffer[_LENGTH.size : end])
        del self._buffer[:end]
        return payload


def _check_length(n_bytes: int, max_bytes: int) -> None:
    if n_bytes > max_bytes:
        raise ProtocolError(f"a frame of {n_bytes} bytes; the limit is {max_bytes}")
