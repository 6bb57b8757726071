"""Frames survive any cutting of the stream."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goose_lsp.errors import ProtocolError
from goose_lsp.ipc.framing import MAX_FRAME_BYTES, FrameDecoder, encode_frame


@given(st.lists(st.binary(max_size=40), max_size=6), st.data())
def test_any_chunking_gives_the_same_payloads(payloads: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(map(encode_frame, payloads))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=12)))
    decoder = FrameDecoder()
    found: list[bytes] = []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        found += decoder.feed(stream[start:end])
    assert found == payloads


def test_a_half_frame_waits_for_the_rest() -> None:
    decoder = FrameDecoder()
    assert list(decoder.feed(b"\0\0\0\5hal")) == []
    assert list(decoder.feed(b"ve\0\0")) == [b"halve"]


def test_bytes_are_kept_although_nobody_looks_at_the_payloads() -> None:
    decoder = FrameDecoder()
    decoder.feed(b"\0\0\0\1")
    assert list(decoder.feed(b"a")) == [b"a"]


def test_a_frame_above_the_limit_is_refused_before_its_payload_comes() -> None:
    decoder = FrameDecoder(max_bytes=8)
    with pytest.raises(ProtocolError, match="a frame of 9 bytes; the limit is 8"):
        list(decoder.feed(b"\0\0\0\x09"))


def test_a_frame_at_the_limit_passes_both_ways() -> None:
    assert list(FrameDecoder(8).feed(encode_frame(b"8" * 8, 8))) == [b"8" * 8]


def test_a_payload_above_the_limit_is_not_sent() -> None:
    with pytest.raises(ProtocolError, match="a frame of 9 bytes; the limit is 8"):
        encode_frame(b"9" * 9, 8)


def test_text_in_place_of_a_length_is_refused() -> None:
    with pytest.raises(ProtocolError, match=str(MAX_FRAME_BYTES)):
        list(FrameDecoder().feed(b"GET / HTTP/1.1\r\n"))
