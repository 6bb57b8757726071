"""Where this protocol differs from pygls' own: documents, broken requests, order, the exit code."""

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goose_lsp.lsp.handlers import GooseServer
from goose_lsp.lsp.session import Session
from tests.scripted_daemon import ScriptedDaemon

INITIALIZE = {
    "id": 0,
    "method": "initialize",
    "params": {"processId": None, "rootUri": None, "capabilities": {}},
}


class Recorder:
    """Stands in for the stream to the editor."""

    def __init__(self) -> None:
        self.sent: list[Any] = []

    def write(self, data: bytes) -> None:
        self.sent.append(json.loads(data))

    def close(self) -> None: ...


def server() -> tuple[GooseServer, Recorder]:
    goose, recorder = GooseServer(Session(ScriptedDaemon)), Recorder()
    goose.protocol.set_writer(recorder, include_headers=False)
    return goose, recorder


def play(*messages: Any, is_initialized: bool = True) -> tuple[GooseServer, list[Any]]:
    """What the server sends after these, each bytes or an object to be written as JSON."""
    goose, recorder = server()

    async def all_of() -> None:
        first = [INITIALIZE] if is_initialized else []
        for message in [*first, *messages]:
            if isinstance(message, dict):
                message = json.dumps({"jsonrpc": "2.0", **message}).encode()  # noqa: PLW2901
            goose.protocol.receive(message)
        for _ in range(20):
            await asyncio.sleep(0)

    asyncio.run(all_of())
    return goose, recorder.sent[1 if is_initialized else 0 :]


def codes(*messages: Any, is_initialized: bool = True) -> list[tuple[Any, int | None]]:
    _, sent = play(*messages, is_initialized=is_initialized)
    return [(answer["id"], answer.get("error", {}).get("code")) for answer in sent]


def broken(**more: Any) -> dict[str, Any]:
    method = "textDocument/inlineCompletion"
    return {"method": method, "params": {"position": 7}, **more}


def test_a_request_that_cannot_be_read_is_answered_with_an_error() -> None:
    assert codes(broken(id=3)) == [(3, -32602)]


def test_a_notification_that_cannot_be_read_is_not_answered() -> None:
    assert codes(broken(method="textDocument/didOpen")) == []


@pytest.mark.parametrize(
    ("message", "answers"),
    [
        (b"{", [(None, -32700)]),
        (b"\xff", [(None, -32700)]),
        (b"[]", [(None, -32600)]),
        (b"7", [(None, -32600)]),
        (b'{"id": 1, "method": "shutdown"}', [(1, -32600)]),
        ({"id": 1}, [(1, -32600)]),
        ({}, [(None, -32600)]),
        ({"id": None, "method": "shutdown"}, [(None, -32600)]),
        ({"id": 1.5, "method": "shutdown"}, [(None, -32600)]),
        ({"id": [1], "method": "shutdown"}, [(None, -32600)]),
        ({"id": 1, "method": 7}, [(1, -32600)]),
        ({"id": 1, "method": "goose/unheard"}, [(1, -32601)]),
        ({"id": "a", "method": "goose/unheard", "params": 7}, [("a", -32601)]),
        ({"method": "goose/unheard"}, []),
        ({"method": "$/cancelRequest", "params": {"id": 99}}, []),
        ({"id": 5, "result": {"a": 1}}, []),
        ({"id": "x", "error": {"code": 1}}, []),
        ({**INITIALIZE, "id": 8}, [(8, -32600)]),
    ],
)
def test_each_odd_message_has_its_answer(message: Any, answers: list[tuple[Any, int]]) -> None:
    assert codes(message) == answers


def test_before_initialize_requests_are_refused_and_news_is_not_heard() -> None:
    opened = {"uri": "file:///a", "version": 1, "languageId": "a", "text": ""}
    notification = {"method": "textDocument/didOpen", "params": {"textDocument": opened}}
    assert codes(notification, broken(id=1), is_initialized=False) == [(1, -32002)]


def test_an_initialize_that_cannot_be_read_may_be_sent_again() -> None:
    wrong = {"id": 1, "method": "initialize", "params": {"capabilities": 7}}
    assert codes(wrong, {**INITIALIZE, "id": 2}, is_initialized=False) == [(1, -32602), (2, None)]


def test_after_a_shutdown_only_the_end_is_waited_for() -> None:
    down = {"id": 1, "method": "shutdown"}
    goose, sent = play(down, {"id": 2, "method": "shutdown"}, broken(id=3), broken())
    assert sorted((answer["id"], answer.get("error", {}).get("code", 0)) for answer in sent) == [
        (1, 0),
        (2, -32600),
        (3, -32600),
    ]
    assert goose.protocol.exit_code == 0


def test_a_document_whose_change_is_not_understood_is_not_guessed_at() -> None:
    opened = {"uri": "file:///a", "version": 1, "languageId": "a", "text": ""}
    change = {"textDocument": {"uri": "file:///a", "version": 2}, "contentChanges": 7}
    goose, sent = play(
        {"method": "textDocument/didOpen", "params": {"textDocument": opened}},
        {"method": "textDocument/didChange", "params": change},
    )
    assert sent == []
    assert goose.session.document_text("file:///a") is None


def test_an_internal_error_tells_the_client_nothing_of_the_code() -> None:
    goose, recorder = server()
    goose.session.complete = None  # type: ignore[assignment,method-assign]  # makes every request fail

    async def ask() -> None:
        at = {"line": 0, "character": 0}
        params = {"textDocument": {"uri": "file:///a"}, "position": at}
        for message in (
            INITIALIZE,
            {"id": 1, "method": "textDocument/completion", "params": params},
        ):
            goose.protocol.receive(json.dumps({"jsonrpc": "2.0", **message}).encode())
        for _ in range(20):
            await asyncio.sleep(0)

    asyncio.run(ask())
    assert recorder.sent[1]["error"]["code"] == -32603
    assert "Traceback" not in json.dumps(recorder.sent)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)
_METHODS = st.sampled_from(
    [
        "initialize",
        "shutdown",
        "textDocument/didOpen",
        "textDocument/didChange",
        "textDocument/didClose",
        "textDocument/inlineCompletion",
        "textDocument/completion",
        "workspace/executeCommand",
        "workspace/didChangeConfiguration",
        "$/setTrace",
        "$/cancelRequest",
    ]
)
_KEYS = st.sampled_from(["id", "method", "params", "result", "error", "jsonrpc"])


@given(st.lists(st.dictionaries(_KEYS, _METHODS | _JSON, max_size=5), max_size=5))
def test_nothing_a_client_sends_raises(messages: list[dict[str, Any]]) -> None:
    """What ends the process would come out of `play`."""
    play(*messages)


def test_ending_without_a_shutdown_is_a_failure() -> None:
    goose, _ = server()
    assert goose.protocol.exit_code == 1
