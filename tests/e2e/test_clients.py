"""Each known client, its own way of asking, against the real server process."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.clients import CLIENTS, INLINE, Client
from tests.e2e.fake_daemon import FakeDaemon
from tests.e2e.lsp_client import LspClient, environ_for, position

pytestmark = pytest.mark.e2e
URI = "file:///a.py"
UNITS = {"utf-8": 13, "utf-16": 11, "utf-32": 10}  # of LINE
LINE = 's = "🥸" so'


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[FakeDaemon]:
    fake = FakeDaemon(tmp_path)
    yield fake
    fake.close()


@pytest.mark.parametrize("known", CLIENTS, ids=lambda known: known.name)
def test_a_known_client_gets_its_item_and_is_asked_only_what_it_can_answer(
    known: Client, tmp_path: Path, daemon: FakeDaemon
) -> None:
    daemon.reply = lambda _document, _point: "rted(y)"
    client = LspClient(environ_for(tmp_path))
    try:
        told = client.initialize(known.capabilities, clientInfo={"name": known.name}, **known.more)
        assert told["positionEncoding"] == known.encoding
        has_inline = "inlineCompletion" in known.capabilities.get("textDocument", {})
        assert ("inlineCompletionProvider" in told) == has_inline
        assert ("completionProvider" in told) == (not has_inline)
        client.open(URI, LINE)
        items = client.ask(known.method, _params(known))["items"]
        (item,) = items
        if known.method == INLINE:
            assert item["insertText"] == "rted(y)"
            assert item["range"]["start"] == position(0, UNITS[known.encoding])
        else:
            assert item["textEdit"]["newText"] == "sorted(y)"
            assert item["filterText"].startswith("so")
        assert client.leave() == 0
    finally:
        client.close()
    assert {message.get("method") for message in client.said} <= known.asks
    assert b"Traceback" not in client.stderr


def _params(known: Client) -> dict[str, Any]:
    params: dict[str, Any] = {
        "textDocument": {"uri": URI},
        "position": position(0, UNITS[known.encoding]),
    }
    if known.context is not None:
        params["context"] = known.context
    if "Copilot" in known.name:
        params["textDocument"]["version"] = 1
        params["formattingOptions"] = {"tabSize": 4, "insertSpaces": True}
    return params
