import pytest

from goose_lsp.errors import ProtocolError
from goose_lsp.index.messages import (
    FileChanged,
    FileRemoved,
    Message,
    Notice,
    Progress,
    Published,
    Start,
    Touched,
    decode,
    encode,
)


@pytest.mark.parametrize(
    "message",
    [
        Start([b"/w", b"/\xff"], b"/c", b"/t.json", "key", keeps_watching=False),
        Touched([b"/w/a.py"]),
        Progress("reading", 1, 2),
        Published(3, 4, 5, 6, {"secret": 1}),
        FileChanged(b"/w/a.py", b"\1\0\0\0"),
        FileRemoved(b"/w/a.py"),
        Notice("full"),
    ],
    ids=lambda message: type(message).__name__,
)
def test_a_message_comes_back_as_it_was_sent(message: Message) -> None:
    assert decode(encode(message)) == message


@pytest.mark.parametrize("payload", [b"", b"\xc1", b"\x90", b"\x91\xa3Bad", b"\x91\xa6Notice"])
def test_what_is_no_message_is_refused(payload: bytes) -> None:
    with pytest.raises(ProtocolError, match="not a message of the index"):
        decode(payload)
