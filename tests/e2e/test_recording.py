"""A session of a real editor process, recorded and played again: the same words in the same order."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.fake_daemon import FakeDaemon
from tests.e2e.lsp_client import LspClient, environ_for

pytestmark = pytest.mark.e2e
URI = "file:///a.py"
SERVE = (
    "import sys; from pathlib import Path; from goose_lsp.config import load_settings;"
    "from goose_lsp.lsp.server import run_stdio;"
    "sys.exit(run_stdio(load_settings(), Path({file!r})))"
)


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[FakeDaemon]:
    fake = FakeDaemon(tmp_path)
    yield fake
    fake.close()


def lines(file: Path, sender: str) -> list[Any]:
    said = [json.loads(line) for line in file.read_text().splitlines()]
    return [one["message"] for one in said if one["from"] == sender]


def test_a_recorded_session_can_be_played_again(tmp_path: Path, daemon: FakeDaemon) -> None:
    daemon.reply = lambda document, point: document.text[: point.column][::-1]
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    client = LspClient(environ_for(tmp_path), SERVE.format(file=str(first)))
    try:
        client.initialize()
        client.open(URI, "ab")
        assert client.inline(URI, 0, 2)[0]["insertText"] == "ba"
        client.change(URI, 2, (0, 2), (0, 2), "c")
        assert client.inline(URI, 0, 3)[0]["insertText"] == "cba"
        client.command("goose-lsp.accept", URI, "cba")
        assert client.leave() == 0
    finally:
        client.close()
    player = LspClient(environ_for(tmp_path), SERVE.format(file=str(second)))
    try:
        for message in lines(first, "client"):
            player.play(message)
        assert player.end() == 0
    finally:
        player.close()
    assert lines(second, "client") == lines(first, "client")
    assert lines(second, "server") == lines(first, "server")
    assert len(lines(first, "server")) == 5
