import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goose_lsp.lsp import wire
from goose_lsp.lsp.wire import BadFrameError, parse_body, read_body


def frame(body: bytes, header: bytes = b"Content-Length: %d\r\n\r\n") -> bytes:
    return header % len(body) + body


def bodies(data: bytes) -> list[bytes | str]:
    """All that can be read, "?" for each thing passed over."""
    stream, found = io.BytesIO(data), list[bytes | str]()
    while True:
        try:
            body = read_body(stream)
        except BadFrameError:
            found.append("?")
            continue
        if body is None:
            return found
        found.append(body)


@pytest.mark.parametrize(
    "header",
    [
        b"Content-Length: %d\r\n\r\n",
        b"content-length:%d\r\n\r\n",
        b"Content-Length: %d\n\n",
        b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: %d\r\n\r\n",
        b"Content-Length: %d\r\nContent-Type: a\r\n\r\n",
        b"\r\n\r\nContent-Length: %d\r\n\r\n",
    ],
)
def test_headers_as_clients_write_them(header: bytes) -> None:
    assert bodies(frame(b"{}", header) * 2) == [b"{}", b"{}"]


@pytest.mark.parametrize(
    "noise",
    [
        b"hello\r\n",
        b"Content-Length: -1\r\n\r\n",
        b"Content-Length: many\r\n\r\n",
        b"Content-Length: 99999999999999999999\r\n\r\n",
        b"Content-Length: 9999999999999\r\n\r\n",
        b"\x00\xff\n",
    ],
)
def test_noise_is_passed_over_and_the_next_message_read(noise: bytes) -> None:
    assert bodies(noise + frame(b"[1]")) == ["?", b"[1]"]


def test_a_message_over_the_limit_is_dropped_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "MAX_BODY_BYTES", 10)
    monkeypatch.setattr(wire, "_CHUNK_BYTES", 4)
    assert bodies(frame(b"x" * 11) + frame(b"y" * 10)) == ["?", b"y" * 10]


@pytest.mark.parametrize("end", [b"", b"Content-Length: 5\r\n\r\nab", b"Content-Len", b"\r\n"])
def test_the_end_may_come_anywhere(end: bytes) -> None:
    assert bodies(frame(b"{}") + end)[:1] == [b"{}"]
    assert b"ab" not in bodies(end)


@given(st.binary(max_size=200))
def test_no_bytes_stop_the_reading(data: bytes) -> None:
    bodies(data)


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b'{"a": \xed\xa0\x80}', b"[" * 100_000])
def test_what_is_no_json_is_a_value_error(body: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse_body(body)


def test_half_a_surrogate_pair_is_a_character() -> None:
    assert parse_body(b'"\\ud800"') == "\ud800"
