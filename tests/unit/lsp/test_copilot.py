"""What Copilot's clients send on top of the specification."""

from typing import Any

import pytest

from tests.scripted_daemon import ScriptedDaemon
from tests.unit.lsp.test_handlers import URI, Editor, run

ITEM = {"insertText": "é🥸", "command": {"title": "", "command": "c", "arguments": [URI, "é🥸"]}}


@pytest.mark.parametrize(
    ("method", "params", "n_accepted"),
    [
        ("textDocument/didShowCompletion", {"item": ITEM}, 0),
        ("textDocument/didPartiallyAcceptCompletion", {"item": ITEM, "acceptedLength": 3}, 1),
        ("textDocument/didPartiallyAcceptCompletion", {"item": ITEM, "acceptedLength": 2}, 0),
        ("textDocument/didPartiallyAcceptCompletion", {"item": ITEM, "acceptedLength": "3"}, 0),
        ("textDocument/didPartiallyAcceptCompletion", {"item": 7, "acceptedLength": 3}, 0),
        ("textDocument/didPartiallyAcceptCompletion", None, 0),
        ("textDocument/didShowCompletion", {"item": {"command": {"arguments": [1]}}}, 0),
        ("textDocument/didFocus", {"textDocument": {"uri": URI}}, 0),
    ],
)
def test_they_are_heard_and_only_a_whole_item_is_accepted(
    method: str, params: Any, n_accepted: int
) -> None:
    async def scenario(editor: Editor, daemon: ScriptedDaemon) -> None:
        editor.open("a")
        editor.notify(method, params)
        await editor.ask("textDocument/inlineCompletion", {**AT, "context": {"triggerKind": 2}})
        assert daemon.verdicts == [("accepted", URI, "é🥸")] * n_accepted
        assert all("method" not in message for message in editor.heard)

    run(scenario)


AT = {"textDocument": {"uri": URI}, "position": {"line": 0, "character": 1}}
