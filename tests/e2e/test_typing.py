"""Typing along with a suggestion, from an editor through the server and a daemon, with a model that is a script."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep
from typing import Any

import pytest

from tests.e2e.lsp_client import LspClient, environ_for, inline_params

pytestmark = pytest.mark.e2e

PROGRAM = (sys.executable, str(Path(__file__).with_name("daemon_program.py")))
LIMIT_S = 60.0
URI = "file:///typing.js"
TEXT = "fn(b);"
BLOCK = "def add(a, b):\n    return a + b"


class Typist:
    """An editor with one document, whose cursor is at its end."""

    def __init__(self, client: LspClient, marks: Path, text: str) -> None:
        self.client, self.marks = client, marks
        self.text, self.version = text, 1
        client.initialize()
        client.open(URI, text)

    def become(self, text: str) -> None:
        """Write or delete at the end."""
        start = len(self.text) if text.startswith(self.text) else len(text)
        assert self.text[:start] == text[:start]
        self.version += 1
        self.client.change(URI, self.version, self._place(start), self._place(), text[start:])
        self.text = text

    def items(self) -> list[dict[str, Any]]:
        return self.client.inline(URI, *self._place())

    def shown(self) -> str:
        items = self.items()
        return items[0]["insertText"] if items else ""

    def ask(self) -> int:
        return self.client.start(
            "textDocument/inlineCompletion", inline_params(URI, *self._place())
        )

    def why(self) -> dict[str, Any]:
        answer: dict[str, Any] = self.client.command("goose-lsp.why")
        return answer

    def n_asked(self) -> int:
        """How often the model was called for a request."""
        return (self.marks / "calls").read_text(encoding="utf-8").split().count("asked")

    def _place(self, end: int | None = None) -> tuple[int, int]:
        before = self.text[:end]
        return before.count("\n"), len(before) - before.rfind("\n") - 1


@pytest.fixture
def folder() -> Iterator[Path]:
    # Not tmp_path: a socket's path must be short.
    with TemporaryDirectory(prefix="goose-") as name:
        yield Path(name)


@pytest.fixture
def typist(folder: Path, request: pytest.FixtureRequest) -> Iterator[Typist]:
    """At work in a document with the text and the model's answer that the test is marked with."""
    text, answer = request.param
    environ = environ_for(folder)
    environment = {**os.environ, **environ, "SCRIPTED_TEXT": answer}
    with subprocess.Popen(PROGRAM, env=environment) as daemon:
        try:
            wait_for(folder / "daemon.json")
            client = LspClient(environ)
            try:
                yield Typist(client, folder, text)
            finally:
                client.close()
        finally:
            daemon.terminate()


def wait_for(file: Path) -> None:
    limit = monotonic() + LIMIT_S
    while not file.exists():
        assert monotonic() < limit, f"{file.name} did not come"
        sleep(0.01)


def played(text: str, answer: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("typist", [(text, answer)], indirect=True, ids=[""])


@played("const a = ", TEXT)
def test_typing_a_suggestion_out_needs_the_model_once(typist: Typist) -> None:
    assert typist.shown() == TEXT
    for n_typed in range(1, len(TEXT)):
        typist.become("const a = " + TEXT[:n_typed])
        assert typist.shown() == TEXT[n_typed:]
    typist.become("const a = " + TEXT)
    assert typist.items() == []
    assert typist.why()["reason"] == "all-typed"
    typist.become("const a = ")
    assert typist.shown() == TEXT
    typist.become("const a = fn(")
    assert typist.shown() == "b);"
    assert typist.why()["stats"]["from_cache"]
    assert typist.n_asked() == 1


@played("# add two numbers\n", BLOCK)
def test_what_was_accepted_is_not_offered_behind_itself(typist: Typist) -> None:
    (item,) = typist.items()
    typist.become(typist.text + item["insertText"])
    command = item["command"]
    typist.client.command(command["command"], *command["arguments"])
    assert typist.items() == []
    assert typist.why()["reason"] == "just-accepted"


@played("# add two numbers\n", BLOCK)
def test_an_editor_that_does_not_tell_of_accepts_is_understood(typist: Typist) -> None:
    typist.become(typist.text + typist.shown())
    assert typist.items() == []
    assert typist.why()["reason"] == "just-accepted"


@played("half = ", TEXT)
def test_work_under_way_is_kept_for_what_is_typed_on(typist: Typist) -> None:
    older = typist.ask()
    wait_for(typist.marks / "working")
    typist.become("half = fn")
    newer = typist.ask()
    assert typist.client.wait(older) == {"items": []}  # it has been superseded
    (typist.marks / "go").touch()
    (item,) = typist.client.wait(newer)["items"]
    assert item["insertText"] == "(b);"
    assert typist.why()["stats"]["is_adopted"]
    assert typist.n_asked() == 1
