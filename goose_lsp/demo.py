"""One completion through the real path, shown: editor protocol → daemon → model → spine trees."""

import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from goose_lsp.config import Settings
from goose_lsp.errors import GooseError

# The unfinished file is this package's own config module without two of its properties: boilerplate that
# follows a pattern above it, which is what completion is for and what copying is good at. A single
# picture, chosen to be seen; `python -m benchmarks.engine` measures many prompts.
_FILE = Path(__file__).parent / "config.py"
_CUT_BEFORE, _CUT_UP_TO = "    def runtime_dir(", "_SECTIONS = "
_MAX_NEW_TOKENS = 96
_N_LINES_BEFORE = 8
_N_LINES_AFTER = 4

_STYLES = {"spine": "italic green", "branch": "italic yellow", "model": "italic cyan"}
_SAID = {
    "spine": "copied from the context (spine)",
    "branch": "from the bigram tables (branch)",
    "model": "the model's own choice",
}


@dataclass(slots=True)
class LanguageServer:
    """A blocking client of `goose-lsp --stdio`, as small as a client can be."""

    process: subprocess.Popen[bytes]
    _next_id: int = 0

    def request(self, method: str, params: object) -> Any:
        """The result; raises `GooseError` if the server refuses or ends."""
        self._next_id += 1
        self.notify(method, params, id=self._next_id)
        while True:
            message = self._read()
            if message.get("id") == self._next_id and "method" not in message:
                if "error" in message:
                    raise GooseError(f"{method} failed: {message['error']['message']}")
                return message["result"]
            if "id" in message:  # a request of the server's; nothing here can serve it
                self._write({"jsonrpc": "2.0", "id": message["id"], "result": None})

    def notify(self, method: str, params: object, **extra: object) -> None:
        self._write({"jsonrpc": "2.0", "method": method, "params": params, **extra})

    def _write(self, message: dict[str, object]) -> None:
        body = json.dumps(message).encode()
        stdin = self._pipe(self.process.stdin)
        stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        stdin.flush()

    def _read(self) -> dict[str, Any]:
        stdout = self._pipe(self.process.stdout)
        n_bytes = 0
        while line := stdout.readline().strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                n_bytes = int(value)
        if not n_bytes:
            raise GooseError("the language server ended; run goose-lsp --stdio to see why")
        message: dict[str, Any] = json.loads(stdout.read(n_bytes))
        return message

    @staticmethod
    def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
        assert pipe is not None
        return pipe


def run_demo(settings: Settings) -> int:
    """Complete, show, compare with plain decoding; 0 if both gave the same text.

    Raises `GooseError` if the server or the daemon has no completion to show.
    """
    console = Console(highlight=False)
    console.print(
        "[bold]goose-lsp demo[/bold] · editor protocol → daemon → model → spine-tree decoding\n"
        f"[dim]model {settings.engine.model}; the first answer waits until it is loaded[/dim]\n"
    )
    before, after = _unfinished(_FILE.read_text("utf-8"))
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "goose_lsp", "--stdio"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        drafted, plain = _ask_both(LanguageServer(process), before, after)
    finally:
        process.terminate()
        process.wait()
    _show(console, before, after, drafted["stats"]["trace"])
    return _compare(console, drafted, plain)


def _unfinished(source: str) -> tuple[str, str]:
    """The text before and after the cursor: `source` without the properties to be written again."""
    lines = source.split("\n")
    cut = next(i for i, line in enumerate(lines) if line.startswith(_CUT_BEFORE)) - 1
    end = next(i for i, line in enumerate(lines) if line.startswith(_CUT_UP_TO))
    return "\n".join([*lines[:cut], "    "]), "\n".join(["", "", "", *lines[end:]])


def _ask_both(
    server: LanguageServer, before: str, after: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Reports of the same cursor asked as an editor asks, and again with plain decoding.

    Both start from an empty cache and empty tables, so that neither learns from the other or from an
    earlier demo.
    """
    options = {"trace": True, "isolated": True, "maxNewTokens": _MAX_NEW_TOKENS}
    capabilities: dict[str, Any] = {"textDocument": {"inlineCompletion": {}}}
    server.request(
        "initialize",
        {
            "processId": os.getpid(),
            "rootUri": None,
            "capabilities": capabilities,
            "initializationOptions": options,
        },
    )
    server.notify("initialized", {})
    uri, lines = _FILE.as_uri(), before.split("\n")
    document = {"uri": uri, "languageId": "python", "version": 1, "text": before + after}
    server.notify("textDocument/didOpen", {"textDocument": document})
    position = {"line": len(lines) - 1, "character": len(lines[-1])}
    server.request(
        "textDocument/inlineCompletion",
        {"textDocument": {"uri": uri}, "position": position, "context": {"triggerKind": 1}},
    )
    drafted = server.request("workspace/executeCommand", {"command": "goose-lsp.why"})
    plain = server.request(
        "workspace/executeCommand",
        {
            "command": "goose-lsp.complete",
            "arguments": [{"uri": uri, **position, **options, "policy": "plain"}],
        },
    )
    server.request("shutdown", None)
    server.notify("exit", None)
    for report in (drafted, plain):
        if not report["text"]:
            raise GooseError(f"no completion: {report['reason']} {report['detail']}".strip())
    return drafted, plain


def _show(console: Console, before: str, after: str, trace: list[list[str]]) -> None:
    """The lines around the cursor with the suggestion in them, each piece in its origin's colour."""
    picture = Text("\n".join(before.split("\n")[-_N_LINES_BEFORE:]), style="dim")
    for piece, origin in trace:
        picture.append(piece, _STYLES[origin])
    picture.append("\n".join(after.split("\n")[:_N_LINES_AFTER]), "dim")
    console.print(f"[bold]{_FILE.name}[/bold], two properties left out:\n")
    console.print(picture, soft_wrap=True)
    console.print()
    counts = Counter(origin for _, origin in trace)
    for origin, style in _STYLES.items():
        console.print(f"  {counts[origin]:3} tokens ", Text(_SAID[origin], style))


def _compare(console: Console, drafted: dict[str, Any], plain: dict[str, Any]) -> int:
    tree, one = drafted["stats"], plain["stats"]
    table = Table(
        "decoding", "tokens", "passes", "tokens/pass", "tokens/s", box=None, padding=(0, 2)
    )
    for name, stats in (("spine trees", tree), ("plain", one)):
        table.add_row(
            name,
            str(stats["n_tokens"]),
            str(stats["n_steps"]),
            f"{stats['mean_accepted_len']:.2f}",
            f"{_tokens_per_s(stats):.1f}",
        )
    console.print()
    console.print(table)
    is_equal = drafted["text"] == plain["text"]
    verdict = "[green]the same text[/green]" if is_equal else "[red]DIFFERENT texts[/red]"
    console.print(
        f"\n[bold]{_tokens_per_s(tree) / _tokens_per_s(one):.2f} x[/bold] plain decoding, {verdict}; "
        f"prompt of {tree['n_prompt_tokens']} tokens read in {tree['prefill_ms']:.0f} ms\n"
        "[dim]one example; python -m benchmarks.engine measures twenty prompts[/dim]"
    )
    return 0 if is_equal else 1


def _tokens_per_s(stats: dict[str, Any]) -> float:
    return float(stats["n_tokens"]) / max(float(stats["decode_ms"]), 1e-3) * 1e3
