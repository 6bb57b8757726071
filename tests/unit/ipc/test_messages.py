"""Every message survives the wire, and nothing else gets through."""

from contextlib import suppress
from dataclasses import fields
from typing import Any, get_args, get_type_hints

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goose_lsp.errors import ProtocolError
from goose_lsp.ipc.messages import (
    MAX_ELEMENTS,
    Complete,
    Failure,
    Hello,
    Message,
    OpenDocument,
    decode,
    encode,
)

# Everything an editor can hold, surrogate halves included.
TEXTS = st.text(st.characters(exclude_categories=[]), max_size=12)
NUMBERS = st.integers(-(2**63), 2**64 - 1)
PLAIN = st.none() | st.booleans() | NUMBERS | st.floats(allow_nan=False) | TEXTS
VALUES = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3)
)
OF_TYPE: dict[Any, st.SearchStrategy[Any]] = {
    str: TEXTS,
    int: NUMBERS,
    float: st.floats(allow_nan=False),
    bool: st.booleans(),
    dict[str, Any]: st.dictionaries(TEXTS, VALUES, max_size=3),
    list[str]: st.lists(TEXTS, max_size=3),
    list[dict[str, Any]]: st.lists(st.dictionaries(TEXTS, VALUES, max_size=3), max_size=2),
    list[list[Any]]: st.lists(st.lists(VALUES, max_size=5), max_size=3),
}
KINDS: tuple[Any, ...] = get_args(Message)


def messages_of(kind: Any) -> st.SearchStrategy[Any]:
    hints = get_type_hints(kind)
    return st.builds(kind, **{f.name: OF_TYPE[hints[f.name]] for f in fields(kind)})


def packed(value: object) -> bytes:
    payload: bytes = msgpack.packb(value, unicode_errors="surrogatepass")
    return payload


@given(st.one_of([messages_of(kind) for kind in KINDS]))
def test_every_message_comes_back_as_it_was(message: Message) -> None:
    assert decode(encode(message)) == message


@pytest.mark.parametrize(
    "text", ["\ud83d", "\udc00x", "\ud83d\ude00", "\U0001f9a2", "\0", "\u2028"]
)
def test_odd_characters_survive(text: str) -> None:
    assert decode(encode(Failure(text))) == Failure(text)


@given(st.binary(max_size=200) | VALUES.map(packed))
def test_hostile_bytes_raise_nothing_but_a_protocol_error(payload: bytes) -> None:
    with suppress(ProtocolError):
        decode(payload)


@given(messages_of(Complete), st.data())
def test_a_message_cut_anywhere_is_refused(message: Message, data: st.DataObject) -> None:
    payload = encode(message)
    with pytest.raises(ProtocolError):
        decode(payload[: data.draw(st.integers(0, len(payload) - 1))])


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        (["Cancel", {"request_id": True}], "request_id is a bool"),
        (["Cancel", {"request_id": "1"}], "request_id is a str"),
        (["Cancel", {"request_id": 1.0}], "request_id is a float"),
        (["Cancel", {"request_id": None}], "request_id is a NoneType"),
        (["Cancel", {}], "Cancel is incomplete"),
        (["Cancel", {"request_id": 1, "shell": "sh"}], "has no field 'shell'"),
        (["Format", {}], "unknown message 'Format'"),
        (["__class__", {}], "unknown message"),
        (["Cancel"], "unknown message"),
        ([], "a frame must hold"),
        ({"Cancel": 1}, "a frame must hold"),
        (None, "a frame must hold"),
        (["ChangeDocument", {"edits": [1]}], "edits is a list"),
    ],
)
def test_a_wrong_shape_is_refused_by_name(body: object, complaint: str) -> None:
    with pytest.raises(ProtocolError, match=complaint):
        decode(packed(body))


def test_deep_nesting_is_refused() -> None:
    with pytest.raises(ProtocolError):
        decode(b"\x91" * 100_000)


def test_a_promise_of_too_many_elements_is_refused_before_they_come() -> None:
    with pytest.raises(ProtocolError):
        decode(b"\xdd" + (MAX_ELEMENTS + 1).to_bytes(4, "big"))


def test_two_messages_in_one_frame_are_refused() -> None:
    with pytest.raises(ProtocolError):
        decode(encode(Failure("a")) + encode(Failure("b")))


def test_bytes_and_extensions_are_no_text() -> None:
    for value in (b"sh", msgpack.Timestamp(1)):
        with pytest.raises(ProtocolError):
            decode(packed(["Failure", {"message": value}]))


def test_a_message_larger_than_a_frame_is_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("goose_lsp.ipc.messages.MAX_FRAME_BYTES", 64)
    with pytest.raises(ProtocolError, match=r"an? OpenDocument of .* bytes; the limit is 64"):
        encode(OpenDocument("a", 1, "python", "x" * 64))


def test_the_handshake_keeps_its_form_in_every_version() -> None:
    assert encode(Hello(1, "0.1", "cli")) == packed(
        ["Hello", {"protocol": 1, "version": "0.1", "client": "cli"}]
    )
