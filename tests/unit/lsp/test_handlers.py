"""The server without a process: messages in, framed messages out, a scripted daemon behind."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from goose_lsp.lsp.handlers import GooseServer
from goose_lsp.lsp.session import Session
from goose_lsp.request import Reason
from tests.scripted_daemon import ScriptedDaemon, insert

URI = "file:///a.py"
INLINE: dict[str, Any] = {"textDocument": {"inlineCompletion": {}}}


class Editor:
    """Speaks to one server as an editor does and keeps everything it says."""

    def __init__(self, server: GooseServer) -> None:
        self.server = server
        self.heard: list[dict[str, Any]] = []
        self._news = asyncio.Event()
        self._n_requests = 0
        server.protocol.set_writer(self, include_headers=False)

    def write(self, data: bytes) -> None:
        self.heard.append(json.loads(data))
        self._news.set()

    def close(self) -> None: ...

    def notify(self, method: str, params: Any) -> None:
        self.send({"method": method, "params": params})

    def start(self, method: str, params: Any = None) -> int:
        self._n_requests += 1
        self.send({"id": self._n_requests, "method": method, "params": params})
        return self._n_requests

    async def ask(self, method: str, params: Any = None) -> Any:
        response = await self.response(self.start(method, params))
        return response.get("result", response.get("error"))

    async def response(self, number: int) -> dict[str, Any]:
        while not (answers := self.answers(number)):
            self._news.clear()
            await self._news.wait()
        return answers[0]

    def answers(self, number: int) -> list[dict[str, Any]]:
        return [message for message in self.heard if message.get("id") == number]

    def open(self, text: str) -> None:
        item = {"uri": URI, "version": 5, "languageId": "python", "text": text}
        self.notify("textDocument/didOpen", {"textDocument": item})

    def send(self, message: dict[str, Any]) -> None:
        self.server.protocol.receive(json.dumps({"jsonrpc": "2.0", **message}).encode())


def inline(line: int, character: int, **context: Any) -> dict[str, Any]:
    position = {"line": line, "character": character}
    context = {"triggerKind": 2, **context}
    return {"textDocument": {"uri": URI}, "position": position, "context": context}


def run(
    scenario: Callable[[Editor, ScriptedDaemon], Awaitable[Any]],
    capabilities: dict[str, Any] | None = None,
    options: Any = None,
) -> Any:
    """An initialized connection; returns what the scenario does."""

    async def play() -> Any:
        session = Session(ScriptedDaemon)
        daemon = session.daemon
        assert isinstance(daemon, ScriptedDaemon)
        editor = Editor(GooseServer(session))
        params = {
            "processId": None,
            "rootUri": None,
            "capabilities": INLINE if capabilities is None else capabilities,
            "initializationOptions": options,
        }
        await editor.ask("initialize", params)
        editor.notify("initialized", {})
        return await asyncio.wait_for(scenario(editor, daemon), 20)

    return asyncio.run(play())


def capabilities(client: dict[str, Any], options: Any = None) -> dict[str, Any]:
    async def scenario(editor: Editor, _daemon: ScriptedDaemon) -> Any:
        assert [message for message in editor.heard if "method" in message] == []
        return editor.heard[0]["result"]["capabilities"]

    answered: dict[str, Any] = run(scenario, client, options)
    return answered


@pytest.mark.parametrize("inline_capability", [{}, {"dynamicRegistration": True}])
def test_inline_completion_is_advertised_once_and_statically(
    inline_capability: dict[str, Any],
) -> None:
    answered = capabilities({"textDocument": {"inlineCompletion": inline_capability}})
    assert answered["inlineCompletionProvider"] == {}
    assert "completionProvider" not in answered
    assert answered["textDocumentSync"]["change"] == 2


def test_a_client_without_inline_completion_gets_the_menu() -> None:
    answered = capabilities({})
    assert "inlineCompletionProvider" not in answered
    assert answered["completionProvider"] == {}


def test_the_menu_is_there_or_not_as_the_client_wishes() -> None:
    assert "completionProvider" in capabilities(INLINE, {"completion": True})
    assert "completionProvider" not in capabilities({}, {"completion": False})


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [(["utf-8", "utf-16"], "utf-8"), (["utf-32"], "utf-32"), (None, "utf-16")],
)
def test_the_position_encoding_is_the_first_that_both_know(
    offered: list[str] | None, chosen: str
) -> None:
    general = {"positionEncodings": offered} if offered else {}
    assert capabilities({"general": general})["positionEncoding"] == chosen


@pytest.mark.parametrize("options", [{"colour": 1, "trace": "yes"}, 7, ["trace"]])
def test_wrong_options_are_one_message_and_the_server_lives(options: Any) -> None:
    async def scenario(editor: Editor, daemon: ScriptedDaemon) -> Any:
        daemon.reply = insert("b")
        editor.open("a")
        answer = await editor.ask("textDocument/inlineCompletion", inline(0, 1))
        said = [message for message in editor.heard if "method" in message]
        assert [message["method"] for message in said] == ["window/showMessage"]
        return answer["items"]

    assert [item["insertText"] for item in run(scenario, options=options)] == ["b"]


def test_an_item_is_plain_text_with_a_range() -> None:
    async def scenario(editor: Editor, daemon: ScriptedDaemon) -> Any:
        daemon.reply = insert("s[0]")
        editor.open('s = "🥸é漢"; t = ')
        return await editor.ask("textDocument/inlineCompletion", inline(0, 16))

    at = {"line": 0, "character": 16}
    command = {"title": "Accepted", "command": "goose-lsp.accept", "arguments": [URI, "s[0]"]}
    item = {"insertText": "s[0]", "range": {"start": at, "end": at}, "command": command}
    assert run(scenario) == {"items": [item]}


@pytest.mark.parametrize(("verb", "verdict"), [("accept", "accepted"), ("reject", "rejected")])
def test_what_becomes_of_an_item_is_told_in_order_with_the_changes(verb: str, verdict: str) -> None:
    async def scenario(editor: Editor, daemon: ScriptedDaemon) -> None:
        editor.open("a")
        params = {"command": f"goose-lsp.{verb}", "arguments": [URI, "s[0]"]}
        assert await editor.ask("workspace/executeCommand", params) is None
        await editor.ask("textDocument/inlineCompletion", inline(0, 1))
        assert daemon.verdicts == [(verdict, URI, "s[0]")]

    run(scenario)


@pytest.mark.parametrize(
    ("formatting", "wanted"),
    [
        ({"tabSize": 2, "insertSpaces": True}, (2, True)),
        ({"tabSize": 8, "insertSpaces": False}, (8, False)),
        ({"tabSize": "2", "insertSpaces": True}, (0, True)),
        ({"tabSize": -1, "insertSpaces": True}, (0, True)),
        ({"tabSize": 2**31, "insertSpaces": True}, (0, True)),
        ("tabs", (0, True)),
        (None, (0, True)),
    ],
)
def test_what_the_editor_indents_with_is_passed_on(
    formatting: object, wanted: tuple[int, bool]
) -> None:
    async def scenario(editor: Editor, daemon: ScriptedDaemon) -> None:
        editor.open("a")
        params = {**inline(0, 1), "formattingOptions": formatting}
        await editor.ask("textDocument/inlineCompletion", params)
        asked = daemon.asked[0]
        assert (asked["tab_size"], asked["insert_spaces"]) == wanted

    run(scenario)


def test_the_menu_offers_one_item_and_stays_incomplete() -> None:
    async def scenario(editor: Editor, daemon: ScriptedDaemon) -> Any:
        daemon.reply = insert("rted(y)")
        editor.open("x = so")
        params = {"textDocument": {"uri": URI}, "position": {"line": 0, "character": 6}}
        return await editor.ask("textDocument/completion", params)

    answer = run(scenario, capabilities={})
    (item,) = answer["items"]
    assert answer["isIncomplete"] is True
    assert item["filterText"] == "sorted(y)"
    assert item["textEdit"]["range"]["start"] == {"line": 0, "character": 4}


def test_a_cancelled_request_is_answered_exactly_once() -> None:
    async def scenario(editor: Editor, daemon: ScriptedDaemon) -> Any:
        daemon.gate.clear()
        editor.open("a")
        number = editor.start("textDocument/inlineCompletion", inline(0, 1))
        await daemon.has_asked.wait()
        editor.notify("$/cancelRequest", {"id": number})
        await editor.response(number)
        daemon.gate.set()
        why = await editor.ask("workspace/executeCommand", {"command": "goose-lsp.why"})
        return why["reason"], editor.answers(number)

    reason, answers = run(scenario)
    assert [answer["error"]["code"] for answer in answers] == [-32800]
    assert reason == Reason.CANCELLED


def test_a_cancelled_command_stops_the_daemon_too() -> None:
    async def scenario(editor: Editor, daemon: ScriptedDaemon) -> Any:
        daemon.gate.clear()
        editor.open("a")
        number = editor.start("workspace/executeCommand", complete({"line": 0, "character": 1}))
        await daemon.has_asked.wait()
        editor.notify("$/cancelRequest", {"id": number})
        answer = await editor.response(number)
        return answer["error"]["code"], editor.server.session.last

    code, last = run(scenario)
    assert code == -32800
    assert last.reason is Reason.CANCELLED


def complete(argument: dict[str, Any]) -> dict[str, Any]:
    return {"command": "goose-lsp.complete", "arguments": [{"uri": URI, **argument}]}


def test_the_complete_command_passes_its_wishes_on_and_tells_all() -> None:
    async def scenario(editor: Editor, daemon: ScriptedDaemon) -> Any:
        daemon.reply = insert("b")
        editor.open("a")
        wishes = {"line": 0, "character": 1, "policy": "plain", "maxNewTokens": 3, "trace": True}
        answer = await editor.ask("workspace/executeCommand", complete(wishes))
        return answer, daemon.asked[0]

    answer, asked = run(scenario)
    at = {"line": 0, "character": 1}
    assert answer == {
        "text": "b",
        "range": {"start": at, "end": at},
        "reason": "ok",
        "detail": "",
        "stats": {},
    }
    assert (asked["policy"], asked["max_new_tokens"], asked["wants_trace"]) == ("plain", 3, True)


@pytest.mark.parametrize(
    "params",
    [
        complete({"line": True, "character": False}),
        complete({"line": 2**70, "character": 0}),
        complete({"line": 0, "character": -1}),
        complete({"line": 0}),
        complete({"line": 0, "character": 1, "policy": 7}),
        {"command": "goose-lsp.complete"},
        {"command": "goose-lsp.nothing"},
        {"command": "goose-lsp.accept"},
        {"command": "goose-lsp.accept", "arguments": [URI, 7]},
        {"command": "goose-lsp.reject", "arguments": [URI, "text", "more"]},
    ],
)
def test_a_command_that_makes_no_sense_is_told_why(params: dict[str, Any]) -> None:
    async def scenario(editor: Editor, _daemon: ScriptedDaemon) -> Any:
        return await editor.ask("workspace/executeCommand", params)

    error = run(scenario)
    assert error["code"] == -32602
    assert error["message"]


def test_why_tells_of_the_last_answer() -> None:
    async def scenario(editor: Editor, daemon: ScriptedDaemon) -> Any:
        why = {"command": "goose-lsp.why"}
        assert await editor.ask("workspace/executeCommand", why) is None
        daemon.reply = insert("", Reason.MODEL_LOADING)
        editor.open("a")
        await editor.ask("textDocument/inlineCompletion", inline(0, 1))
        return await editor.ask("workspace/executeCommand", why)

    assert run(scenario) == {"reason": "model-loading", "detail": "", "stats": {}, "text": ""}


def test_no_daemon_means_no_status() -> None:
    async def scenario(editor: Editor, _daemon: ScriptedDaemon) -> Any:
        return await editor.ask("workspace/executeCommand", {"command": "goose-lsp.status"})

    assert run(scenario) is None


def test_shutdown_is_what_makes_a_good_exit() -> None:
    async def scenario(editor: Editor, _daemon: ScriptedDaemon) -> tuple[int, int]:
        before = editor.server.protocol.exit_code
        await editor.ask("shutdown")
        return before, editor.server.protocol.exit_code

    assert run(scenario) == (1, 0)
