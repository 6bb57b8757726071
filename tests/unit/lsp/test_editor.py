"""What the server asks its client, played by a client that answers from a script."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tests.scripted_daemon import ScriptedDaemon, insert
from tests.unit.lsp.test_handlers import URI, Editor, inline, run

CAN: dict[str, Any] = {
    "textDocument": {"inlineCompletion": {}},
    "window": {"workDoneProgress": True},
    "workspace": {
        "configuration": True,
        "didChangeConfiguration": {"dynamicRegistration": True},
        "didChangeWatchedFiles": {"dynamicRegistration": True},
    },
}


def asked(editor: Editor, method: str) -> list[dict[str, Any]]:
    return [message for message in editor.heard if message.get("method") == method]


async def until(condition: Callable[[], Any]) -> None:
    while not condition():  # noqa: ASYNC110  any condition will do
        await asyncio.sleep(0)


async def answer(editor: Editor, method: str, result: Any, nth: int = 0) -> dict[str, Any]:
    """Wait for the server's nth request of that method and answer it; its parameters."""
    await until(lambda: len(asked(editor, method)) > nth)
    request = asked(editor, method)[nth]
    body = result if isinstance(result, dict) and "error" in result else {"result": result}
    editor.send({"id": request["id"], **body})
    params: dict[str, Any] = request["params"]
    return params


def test_files_and_settings_are_registered_for_where_the_client_can() -> None:
    async def scenario(editor: Editor, _daemon: ScriptedDaemon) -> Any:
        params = await answer(editor, "client/registerCapability", None)
        await answer(editor, "workspace/configuration", [None])
        return {one["method"]: one["registerOptions"] for one in params["registrations"]}

    assert run(scenario, CAN) == {
        "workspace/didChangeWatchedFiles": {"watchers": [{"globPattern": "**/*"}]},
        "workspace/didChangeConfiguration": {"section": "goose-lsp"},
    }


def test_a_client_that_can_do_nothing_is_asked_nothing() -> None:
    async def scenario(editor: Editor, daemon: ScriptedDaemon) -> None:
        daemon.reply = insert("b")
        editor.open("a")
        await editor.ask("textDocument/inlineCompletion", inline(0, 1))
        assert all("method" not in message for message in editor.heard)

    run(scenario)


@pytest.mark.parametrize("way", ["asked", "told"])
def test_settings_come_on_top_of_the_options_either_way(way: str) -> None:
    async def scenario(editor: Editor, _daemon: ScriptedDaemon) -> None:
        settings = {"enabled": False, "maxNewTokens": 7, "path": "for the extension"}
        await answer(editor, "client/registerCapability", None)
        await answer(editor, "workspace/configuration", [settings if way == "asked" else None])
        if way == "told":
            told = {"settings": {"goose-lsp": settings}}
            editor.notify("workspace/didChangeConfiguration", told)
        session = editor.server.session
        await until(lambda: not session.options.is_enabled)
        assert (session.options.max_new_tokens, session.options.policy) == (7, "plain")
        editor.notify("workspace/didChangeConfiguration", {"settings": None})
        await answer(editor, "workspace/configuration", [{}], nth=1)
        await until(lambda: session.options.is_enabled)
        assert (session.options.max_new_tokens, session.options.policy) == (0, "plain")

    run(scenario, CAN, {"policy": "plain"})


@pytest.mark.parametrize(
    "result",
    [
        {"error": {"code": -32601, "message": "no"}},
        None,
        [],
        "odd",
        [7],
        {"a": 1},
        [{"enabled": 3}],
    ],
)
def test_whatever_a_client_answers_the_server_lives(result: Any) -> None:
    async def scenario(editor: Editor, daemon: ScriptedDaemon) -> Any:
        daemon.reply = insert("b")
        await answer(editor, "client/registerCapability", {"error": {"code": 1, "message": "x"}})
        await answer(editor, "workspace/configuration", result)
        editor.open("a")
        return await editor.ask("textDocument/inlineCompletion", inline(0, 1))

    assert run(scenario, CAN)["items"]


def test_what_is_wrong_with_settings_is_told_once() -> None:
    async def scenario(editor: Editor, _daemon: ScriptedDaemon) -> None:
        for _ in range(2):
            told = {"settings": {"goose-lsp": {"enabled": 3}}}
            editor.notify("workspace/didChangeConfiguration", told)
        await editor.ask("workspace/executeCommand", {"command": "goose-lsp.why"})
        (message,) = asked(editor, "window/showMessage")
        assert "enabled is 3; it must be true or false" in message["params"]["message"]

    run(scenario)


def test_a_disabled_editor_asks_no_daemon() -> None:
    async def scenario(editor: Editor, daemon: ScriptedDaemon) -> None:
        editor.open("a")
        for argument, is_enabled in (([], False), ([False], False), ([], True), ([True], True)):
            params = {"command": "goose-lsp.toggle", "arguments": argument}
            told = await editor.ask("workspace/executeCommand", params)
            assert told == {"enabled": is_enabled}
            n_asked = len(daemon.asked)
            await editor.ask("textDocument/inlineCompletion", inline(0, 1))
            assert len(daemon.asked) == n_asked + is_enabled
        params = {"command": "goose-lsp.toggle", "arguments": ["on"]}
        assert (await editor.ask("workspace/executeCommand", params))["code"] == -32602

    run(scenario)


def test_a_cell_is_completed_with_the_cells_above_it() -> None:
    def item(uri: str, text: str) -> dict[str, Any]:
        return {"uri": uri, "version": 1, "languageId": "python", "text": text}

    async def scenario(editor: Editor, daemon: ScriptedDaemon) -> None:
        daemon.reply = insert("b")
        book, above = {"uri": "file:///n.ipynb", "version": 1}, "vscode-notebook-cell:/n.ipynb#1"
        cells = [{"kind": 2, "document": above}, {"kind": 2, "document": URI}]
        document = {**book, "notebookType": "jupyter-notebook", "cells": cells}
        texts = [item(above, "import a\n"), item(URI, "x = ")]
        params = {"notebookDocument": document, "cellTextDocuments": texts}
        editor.notify("notebookDocument/didOpen", params)
        (shown,) = (await editor.ask("textDocument/inlineCompletion", inline(0, 4)))["items"]
        assert shown["range"]["start"] == {"line": 0, "character": 4}
        assert daemon.asked[-1]["text"] == "import a\n\nx = "
        insertion = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}
        change = {
            "document": {"uri": above, "version": 2},
            "changes": [{"range": insertion, "text": "# "}],
        }
        change = {"notebookDocument": book, "change": {"cells": {"textContent": [change]}}}
        editor.notify("notebookDocument/didChange", change)
        await editor.ask("textDocument/inlineCompletion", inline(0, 4))
        assert daemon.asked[-1]["text"] == "# import a\n\nx = "
        assert list(daemon.documents) == ["file:///n.ipynb"]
        gone = {"array": {"start": 0, "deleteCount": 1}, "didClose": [{"uri": above}]}
        change = {"notebookDocument": book, "change": {"cells": {"structure": gone}}}
        editor.notify("notebookDocument/didChange", change)
        await editor.ask("textDocument/inlineCompletion", inline(0, 4))
        assert daemon.asked[-1]["text"] == "x = "
        params = {"command": "goose-lsp.accept", "arguments": [URI, "b"]}
        await editor.ask("workspace/executeCommand", params)
        closed = {"notebookDocument": book, "cellTextDocuments": [{"uri": URI}]}
        editor.notify("notebookDocument/didClose", closed)
        assert (await editor.ask("textDocument/inlineCompletion", inline(0, 4)))["items"] == []
        assert daemon.verdicts == [("accepted", "file:///n.ipynb", "b")]
        assert daemon.documents == {}

    run(scenario)
