"""Where this protocol differs from pygls' own: documents, broken requests, the exit code."""

import json
from typing import Any

import pytest
from pygls.exceptions import JsonRpcException

from goose_lsp.lsp.handlers import GooseServer
from goose_lsp.lsp.session import Session
from tests.scripted_daemon import ScriptedDaemon


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


def broken(**more: Any) -> dict[str, Any]:
    method = "textDocument/inlineCompletion"
    return {"jsonrpc": "2.0", "method": method, "params": {"position": 7}, **more}


def test_a_request_that_cannot_be_read_is_answered_with_an_error() -> None:
    goose, recorder = server()
    with pytest.raises(JsonRpcException):
        goose.protocol.structure_message(broken(id=3))
    (answer,) = recorder.sent
    assert answer["id"] == 3
    assert answer["error"]["code"] == -32602


def test_a_notification_that_cannot_be_read_is_not_answered() -> None:
    goose, recorder = server()
    notification = broken(method="textDocument/didOpen")
    with pytest.raises(JsonRpcException):
        goose.protocol.structure_message(notification)
    assert recorder.sent == []


def test_ending_without_a_shutdown_is_a_failure() -> None:
    goose, _ = server()
    assert goose.protocol.exit_code == 1
