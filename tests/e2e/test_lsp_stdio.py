"""The real server process between a small editor and a daemon without a model."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.fake_daemon import FakeDaemon
from tests.e2e.lsp_client import SERVER, LspClient, environ_for, inline_params, position

pytestmark = pytest.mark.e2e
URI = "file:///a.py"
WIDE = 's = "🥸é漢"; t = '


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[FakeDaemon]:
    fake = FakeDaemon(tmp_path)
    yield fake
    fake.close()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., LspClient]]:
    started: list[LspClient] = []

    def start_client(code: str = SERVER) -> LspClient:
        started.append(LspClient(environ_for(tmp_path), code))
        return started[-1]

    yield start_client
    for client in started:
        client.close()


Start = Callable[..., LspClient]


def accepted(text: str) -> dict[str, Any]:
    """The command that tells of an item's accept."""
    return {"title": "Accepted", "command": "goose-lsp.accept", "arguments": [URI, text]}


def always(text: str) -> Callable[..., str]:
    return lambda _document, _point: text


def test_an_answer_for_an_older_version_is_never_shown(start: Start, daemon: FakeDaemon) -> None:
    client = start()
    client.initialize()
    client.open(URI, "abcdef", version=5)
    daemon.reply = always("ghi")
    daemon.gate.clear()
    number = client.start("textDocument/inlineCompletion", inline_params(URI, 0, 6))
    assert daemon.has_asked.wait(30)
    client.change(URI, 6, (0, 3), (0, 6), "")
    client.ask("workspace/executeCommand", {"command": "goose-lsp.why"})
    daemon.gate.set()
    assert client.wait(number) == {"items": []}
    assert client.command("goose-lsp.why")["reason"] == "stale-version"
    assert client.leave() == 0
    assert client.said == []


@pytest.mark.parametrize("odd", ["\f", "\v", "\x1c", "\x85", "\u2028", "\r"])
def test_the_daemon_sees_the_lines_that_the_editor_sees(
    start: Start, daemon: FakeDaemon, odd: str
) -> None:
    client = start()
    client.initialize()
    client.open(URI, f"a = 1{odd}b = 2\nc = 3\n")
    client.change(URI, 2, (1, 0), (1, 0), "X")
    client.inline(URI, 0, 0)
    wanted = f"a = 1{odd}Xb = 2\nc = 3\n" if odd == "\r" else f"a = 1{odd}b = 2\nXc = 3\n"
    assert daemon.documents[URI].text == wanted
    assert client.leave() == 0


@pytest.mark.parametrize(("encoding", "column"), [("utf-8", 21), ("utf-16", 16), ("utf-32", 15)])
def test_columns_count_in_the_agreed_unit(
    start: Start, daemon: FakeDaemon, encoding: str, column: int
) -> None:
    client = start()
    assert client.initialize(encodings=[encoding])["positionEncoding"] == encoding
    client.open(URI, WIDE)
    daemon.reply = always("s[0]")
    (item,) = client.inline(URI, 0, column)
    assert item == {
        "insertText": "s[0]",
        "range": {"start": position(0, column), "end": position(0, column)},
        "command": accepted("s[0]"),
    }
    assert daemon.asked[0].column == len(WIDE)
    assert client.inline(URI, 0, 6), "a column inside a character is a place too"
    assert client.leave() == 0


def test_a_client_that_counts_code_points_under_utf_16_is_still_answered(
    start: Start, daemon: FakeDaemon
) -> None:
    client = start()
    assert client.initialize()["positionEncoding"] == "utf-16"
    client.open(URI, WIDE)
    daemon.reply = always("x")
    assert client.inline(URI, 0, 15)
    assert client.leave() == 0


@pytest.mark.parametrize(("text", "at"), [("", (0, 0)), ("a", (0, 1)), ("a\nb", (6, 99))])
def test_the_ends_of_a_text_are_ordinary_places(
    start: Start, daemon: FakeDaemon, text: str, at: tuple[int, int]
) -> None:
    client = start()
    client.initialize()
    client.open(URI, text)
    daemon.reply = always("x")
    assert [item["insertText"] for item in client.inline(URI, *at)] == ["x"]
    assert client.leave() == 0


@pytest.mark.parametrize(("options", "n_messages"), [(None, 0), (7, 1), ({"x": 1, "trace": 2}, 1)])
def test_broken_options_cost_one_message_and_nothing_else(
    start: Start, daemon: FakeDaemon, options: Any, n_messages: int
) -> None:
    client = start()
    client.initialize(initializationOptions=options)
    client.open(URI, "a")
    daemon.reply = always("b")
    assert client.inline(URI, 0, 1)
    assert [message["method"] for message in client.said] == ["window/showMessage"] * n_messages
    assert client.leave() == 0


@pytest.mark.usefixtures("daemon")
def test_what_libraries_print_does_not_reach_the_editor(start: Start) -> None:
    noisy = SERVER.replace(
        "sys.exit(",
        "import goose_lsp.lsp.server as s; serve = s._serve\n"
        "def noisy(*a):\n print('noise', flush=True); os.system('echo noise'); return serve(*a)\n"
        "s._serve = noisy\nsys.exit(",
    )
    client = start(f"import os\n{noisy}")
    client.initialize()
    assert client.leave() == 0
    assert client.said == []
    assert client.stderr.count(b"noise") == 2


@pytest.mark.usefixtures("daemon")
def test_inline_completion_is_static_and_the_menu_is_for_others(start: Start) -> None:
    dynamic = {"textDocument": {"inlineCompletion": {"dynamicRegistration": True}}}
    client = start()
    assert client.initialize(dynamic)["inlineCompletionProvider"] == {}
    assert client.leave() == 0
    assert client.said == []
    client = start()
    answered = client.initialize({"textDocument": {}})
    assert "inlineCompletionProvider" not in answered
    assert "completionProvider" in answered
    assert client.leave() == 0


def test_a_selected_menu_entry_is_extended_or_nothing_is_shown(
    start: Start, daemon: FakeDaemon
) -> None:
    client = start()
    client.initialize()
    client.open(URI, "console.")
    daemon.reply = lambda document, _point: '("hi")' if document.text == "console.log" else ""
    span = {"start": position(0, 7), "end": position(0, 8)}
    (item,) = client.inline(URI, 0, 8, selectedCompletionInfo={"range": span, "text": ".log"})
    assert item == {
        "insertText": '.log("hi")',
        "range": span,
        "command": accepted('.log("hi")'),
    }
    client.command(item["command"]["command"], *item["command"]["arguments"])
    other = {"range": span, "text": ".warn"}
    assert client.inline(URI, 0, 8, selectedCompletionInfo=other) == []
    assert [(told.uri, told.text) for told in daemon.accepted] == [(URI, '.log("hi")')]
    assert client.leave() == 0


def test_the_menu_offers_one_late_item_on_one_line(start: Start, daemon: FakeDaemon) -> None:
    client = start()
    client.initialize({"textDocument": {}})
    client.open(URI, "x = so")
    daemon.reply = always("rted(y)")
    params = {"textDocument": {"uri": URI}, "position": position(0, 6)}
    answer = client.ask("textDocument/completion", params)
    (item,) = answer["items"]
    assert answer["isIncomplete"] is True
    assert item["filterText"].startswith("so")
    span = {"start": position(0, 4), "end": position(0, 6)}
    assert item["textEdit"] == {"range": span, "newText": "sorted(y)"}
    daemon.gate.clear()
    assert client.ask("textDocument/completion", params) == {"isIncomplete": True, "items": []}
    assert client.leave() == 0


def test_a_cancelled_request_is_answered_once_and_stops_the_daemon(
    start: Start, daemon: FakeDaemon
) -> None:
    client = start()
    client.initialize()
    client.open(URI, "a")
    daemon.reply = always("b")
    daemon.gate.clear()
    number = client.start("textDocument/inlineCompletion", inline_params(URI, 0, 1))
    assert daemon.has_asked.wait(30)
    client.notify("$/cancelRequest", {"id": number})
    assert client.wait(number)["code"] == -32800
    assert daemon.has_cancelled.wait(30)
    daemon.gate.set()
    assert client.inline(URI, 0, 1)
    assert client.leave() == 0
    assert client.said == []


def test_unknown_methods_and_broken_requests_are_survived(start: Start, daemon: FakeDaemon) -> None:
    client = start()
    client.initialize()
    client.open(URI, "a")
    daemon.reply = always("b")
    assert client.ask("goose/unheard", {})["code"] == -32601
    client.notify("goose/unheard", {})
    client.notify("$/cancelRequest", {"id": 99})
    broken = {"textDocument": 7, "position": "here"}
    assert client.ask("textDocument/inlineCompletion", broken)["code"] == -32602
    assert client.inline(URI, 0, 1)
    assert client.leave() == 0
    assert client.said == []


def test_noise_between_messages_costs_an_answer_and_nothing_else(
    start: Start, daemon: FakeDaemon
) -> None:
    client = start()
    client.initialize()
    client.open(URI, "a")
    daemon.reply = always("b")
    for noise in (b"Content-Length: 99999999999999999999\r\n\r\n", b"hello\n", b"\r\n"):
        client.send_raw(noise)
    client.send_raw(b"Content-Length: 1\r\n\r\n{")
    assert client.inline(URI, 0, 1)
    assert client.leave() == 0
    assert [message["error"]["code"] for message in client.said] == [-32700]
    assert b"Traceback" not in client.stderr


def test_what_is_under_way_at_shutdown_is_answered_as_cancelled(
    start: Start, daemon: FakeDaemon
) -> None:
    client = start()
    client.initialize()
    client.open(URI, "a")
    daemon.gate.clear()
    number = client.start("textDocument/inlineCompletion", inline_params(URI, 0, 1))
    assert daemon.has_asked.wait(30)
    down = client.start("shutdown")
    assert client.wait(number)["code"] == -32800
    assert client.wait(down) is None
    assert client.ask("textDocument/inlineCompletion", inline_params(URI, 0, 1))["code"] == -32600
    client.notify("exit", None)
    assert client.end() == 0


def test_the_complete_command_tells_all_about_one_cursor(start: Start, daemon: FakeDaemon) -> None:
    client = start()
    client.initialize()
    client.open(URI, "a")
    daemon.reply = always("b")
    wishes = {"uri": URI, "line": 0, "character": 1, "policy": "plain", "isolated": True}
    answer = client.command("goose-lsp.complete", wishes)
    span = {"start": position(0, 1), "end": position(0, 1)}
    assert {key: answer[key] for key in ("text", "range", "reason")} == {
        "text": "b",
        "range": span,
        "reason": "ok",
    }
    assert (daemon.asked[0].policy, daemon.asked[0].is_isolated) == ("plain", True)
    assert client.command("goose-lsp.status")["model_state"] == "ready"
    assert client.leave() == 0


def test_without_a_daemon_the_answer_is_an_empty_list_with_a_reason(tmp_path: Path) -> None:
    blocker = tmp_path / "file"
    blocker.touch()
    environ = environ_for(tmp_path) | {"GOOSE_LSP_PATHS_RUNTIME_DIR": str(blocker / "run")}
    client = LspClient(environ)
    try:
        client.initialize()
        client.open(URI, "a")
        assert client.inline(URI, 0, 1) == []
        assert client.command("goose-lsp.why")["reason"] == "daemon-unavailable"
        assert client.command("goose-lsp.status") is None
        assert client.leave() == 0
    finally:
        client.close()


@pytest.mark.usefixtures("daemon")
def test_exit_without_shutdown_is_told_by_the_exit_code(start: Start) -> None:
    client = start()
    client.initialize()
    client.notify("exit", None)
    assert client.end() == 1


def test_an_editor_that_vanishes_ends_the_server_quietly(start: Start, daemon: FakeDaemon) -> None:
    client = start()
    client.initialize()
    client.open(URI, "a")
    daemon.gate.clear()
    client.start("textDocument/inlineCompletion", inline_params(URI, 0, 1))
    assert daemon.has_asked.wait(30)
    assert client.process.stdin
    client.process.stdin.close()
    assert client.end() == 1
    assert b"Traceback" not in client.stderr


@pytest.mark.usefixtures("daemon")
def test_the_server_ends_with_the_process_that_the_editor_named(start: Start) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as editor:
        client = start()
        client.initialize(processId=editor.pid)
        assert client.process.poll() is None
        editor.communicate(b"\n", timeout=30)
    assert client.end() == 1
