"""A small blocking editor: starts the server as a process and speaks framed JSON with it."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import Any

from tests.metamodel import meta_model

TIMEOUT_S = 30.0
SERVER = (
    "import sys; from goose_lsp.config import load_settings;"
    "from goose_lsp.lsp.server import run_stdio; sys.exit(run_stdio(load_settings()))"
)


class LspClient:
    """Fails on any byte that is not a frame, and keeps what the server says unasked in `said`.

    Where the specification's model is at hand, nothing the server sends may be against it.
    """

    def __init__(self, environ: Mapping[str, str], code: str = SERVER) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **environ},
        )
        assert self.process.stdin
        assert self.process.stdout
        assert self.process.stderr
        self.said: list[dict[str, Any]] = []
        self.stderr = b""
        self.problems: list[str] = []  # with what the server sent
        self._asked: dict[Any, str] = {}
        self._stdin, self._stdout = self.process.stdin, self.process.stdout
        self._heard: Queue[dict[str, Any] | None] = Queue()
        self._n_requests = 0
        self._threads = [
            Thread(target=self._read_frames, daemon=True),
            Thread(target=self._read_stderr, daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def initialize(
        self,
        capabilities: dict[str, Any] | None = None,
        encodings: Sequence[str] = (),
        **params: Any,
    ) -> dict[str, Any]:
        """Returns the server's capabilities; an editor with inline completion unless told otherwise."""
        client: dict[str, Any] = {"textDocument": {"inlineCompletion": {}}}
        client = dict(client if capabilities is None else capabilities)
        if encodings:
            client["general"] = {"positionEncodings": list(encodings)}
        whole = {"processId": os.getpid(), "rootUri": None, "capabilities": client, **params}
        result: dict[str, Any] = self.ask("initialize", whole)["capabilities"]
        self.notify("initialized", {})
        return result

    def open(self, uri: str, text: str, version: int = 1) -> None:
        item = {"uri": uri, "languageId": "python", "version": version, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": item})

    def change(
        self, uri: str, version: int, start: tuple[int, int], end: tuple[int, int], text: str
    ) -> None:
        span = {"start": position(*start), "end": position(*end)}
        changes = [{"range": span, "text": text}]
        item = {"uri": uri, "version": version}
        self.notify("textDocument/didChange", {"textDocument": item, "contentChanges": changes})

    def inline(self, uri: str, line: int, character: int, **context: Any) -> list[dict[str, Any]]:
        params = inline_params(uri, line, character, **context)
        items: list[dict[str, Any]] = self.ask("textDocument/inlineCompletion", params)["items"]
        return items

    def command(self, name: str, *arguments: Any) -> Any:
        return self.ask("workspace/executeCommand", {"command": name, "arguments": arguments})

    def ask(self, method: str, params: Any = None) -> Any:
        """The result; an error answer is returned as its error object."""
        return self.wait(self.start(method, params))

    def start(self, method: str, params: Any = None) -> int:
        self._n_requests += 1
        self._asked[self._n_requests] = method
        self._send({"id": self._n_requests, "method": method, "params": params})
        return self._n_requests

    def wait(self, number: int) -> Any:
        while True:
            message = self._heard.get(timeout=TIMEOUT_S)
            if message is None:
                self.end()
                raise AssertionError(f"the server ended: {self.stderr.decode()}")
            if message.get("id") == number:
                return message["error"] if "error" in message else message["result"]
            self.said.append(message)

    def notify(self, method: str, params: Any) -> None:
        self._send({"method": method, "params": params})

    def play(self, message: dict[str, Any]) -> None:
        """Send a recorded message; a request is waited for, so that what follows meets the same server."""
        self._asked[message.get("id")] = message.get("method", "")
        self._send(message)
        if "id" in message and "method" in message:
            self.wait(message["id"])

    def leave(self) -> int:
        """Shut down as an editor does; the exit code."""
        self.ask("shutdown")
        self.notify("exit", None)
        return self.end()

    def end(self) -> int:
        """Wait for the process to end by itself; fails on stray frames."""
        code = self.process.wait(TIMEOUT_S)
        for thread in self._threads:
            thread.join(TIMEOUT_S)
        self.close()
        while not self._heard.empty():
            if (message := self._heard.get()) is not None:
                self.said.append(message)
        assert self.problems == []
        return code

    def close(self) -> None:
        """Make sure that nothing is left running."""
        self.process.kill()
        self.process.wait(TIMEOUT_S)
        for thread in self._threads:
            thread.join(TIMEOUT_S)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream and not stream.closed:
                try:
                    stream.close()
                except BrokenPipeError:
                    continue

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.send_raw(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

    def send_raw(self, data: bytes) -> None:
        self._stdin.write(data)
        self._stdin.flush()

    def _read_frames(self) -> None:
        while header := self._stdout.readline():
            if not header.startswith(b"Content-Length: "):
                self._heard.put({"stray bytes on stdout": repr(header)})
                break
            while self._stdout.readline() != b"\r\n":
                continue
            message = json.loads(self._stdout.read(int(header[16:])))
            if (model := meta_model()) is not None:
                self.problems += model.problems(message, self._asked.get(message.get("id")))
            self._heard.put(message)
        self._heard.put(None)

    def _read_stderr(self) -> None:
        assert self.process.stderr
        self.stderr = self.process.stderr.read()


def position(line: int, character: int) -> dict[str, int]:
    return {"line": line, "character": character}


def inline_params(uri: str, line: int, character: int, **context: Any) -> dict[str, Any]:
    return {
        "textDocument": {"uri": uri},
        "position": position(line, character),
        "context": {"triggerKind": 2, **context},
    }


def environ_for(folder: Path) -> dict[str, str]:
    """Every path of the program inside `folder`, and no long wait for a daemon."""
    paths = {f"GOOSE_LSP_PATHS_{name}_DIR": str(folder) for name in ("RUNTIME", "CACHE", "LOG")}
    return {
        **paths,
        "XDG_CONFIG_HOME": str(folder),
        "GOOSE_LSP_DAEMON_START_TIMEOUT_S": "1",
    }
