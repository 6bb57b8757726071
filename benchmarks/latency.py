"""What a user waits for, from a real language server process and its daemon.

Bounds: a suggestion typed along needs no pass of the model, so that what is left is the way of a change and a question
through two processes; a process has to import its libraries before it answers `initialize`.

    python -m benchmarks.latency [--quick] [--json]

So far the measurements that need one editor and one document; recorded sessions are not played yet.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from statistics import median, quantiles
from time import perf_counter
from typing import Any

from benchmarks.common import machine, parser_of, versions
from goose_lsp.demo import LanguageServer
from goose_lsp.errors import GooseError

SIZES = {"10k": 10_000, "200k": 200_000}  # lines
N_QUICK, N_FULL = 3, 12  # suggestions typed along at each size, and starts
_STUB = "def total_of(values):\n    result = 0\n    for value in values:\n        result "
_FILLER = "value_{0} = {0}\n"
_URI = "file:///latency/module.py"
_CAPABILITIES: dict[str, Any] = {"textDocument": {"inlineCompletion": {}}}


def main(argv: list[str] | None = None) -> int:
    args = parser_of("latency", f"{N_QUICK} suggestions a size instead of {N_FULL}").parse_args(
        argv
    )
    n = N_QUICK if args.quick else N_FULL
    started, began = datetime.now(UTC), perf_counter()
    environ = {
        "GOOSE_LSP_ENGINE_MODEL": args.model,
        "GOOSE_LSP_ENGINE_DTYPE": args.dtype,
        "GOOSE_LSP_ENGINE_THREADS": str(args.threads),
        "GOOSE_LSP_INDEX_ENABLED": "false",
    }
    try:
        with tempfile.TemporaryDirectory() as folder:
            environ |= {"GOOSE_LSP_PATHS_RUNTIME_DIR": folder, "GOOSE_LSP_PATHS_LOG_DIR": folder}
            figures = _measure({**os.environ, **environ}, n)
    except GooseError as error:
        print(f"benchmarks.latency: {error}", file=sys.stderr)
        return 2
    result = {
        **figures,
        "is_quick": args.quick,
        "machine": machine(args.threads),
        "model": args.model,
        "dtype": args.dtype,
        "versions": versions(),
        "started": started.isoformat(timespec="seconds"),
        "n": n,
        "seconds": round(perf_counter() - began, 1),
    }
    print(json.dumps(result))
    return 0


def _measure(environ: dict[str, str], n: int) -> dict[str, Any]:
    try:
        figures: dict[str, Any] = {"initialize_ms": shares(_initialize_ms(environ, n))}
        answers: list[float] = []
        changes: dict[str, float] = {}
        for name, n_lines in SIZES.items():
            with _server(environ) as server:
                warm, typed = _type_along(server, n_lines, n)
            answers += warm
            changes[name] = round(median(typed), 2)
        return figures | {"warm_answer_ms": shares(answers), "did_change_ms": changes}
    finally:
        stop = [sys.executable, "-m", "goose_lsp", "daemon", "stop"]
        subprocess.run(stop, env=environ, check=False, capture_output=True)


def shares(times_ms: list[float]) -> dict[str, float]:
    """Median and 95th percentile, in ms."""
    p95 = quantiles(times_ms, n=20)[-1] if len(times_ms) > 1 else times_ms[0]
    return {"p50": round(median(times_ms), 2), "p95": round(p95, 2)}


@contextmanager
def _server(environ: dict[str, str]) -> Iterator[LanguageServer]:
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "goose_lsp", "--stdio"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environ,
    )
    try:
        server = LanguageServer(process)
        params = {"processId": None, "rootUri": None, "capabilities": _CAPABILITIES}
        server.request("initialize", params)
        server.notify("initialized", {})
        yield server
    finally:
        process.terminate()
        process.communicate()


def _initialize_ms(environ: dict[str, str], n: int) -> list[float]:
    """From the start of a process to its answer."""
    times_ms = []
    for _ in range(n):
        began = perf_counter()
        with _server(environ):
            times_ms.append((perf_counter() - began) * 1e3)
    return times_ms


def _type_along(server: LanguageServer, n_lines: int, n: int) -> tuple[list[float], list[float]]:
    """Times in ms: of answers that the model makes, and of a typed character with its answer from the cache.

    Raises `GooseError` where nothing is suggested or what is left of a suggestion is not.
    """
    text = "".join(map(_FILLER.format, range(n_lines))) + _STUB
    document = {"uri": _URI, "languageId": "python", "version": 1, "text": text}
    server.notify("textDocument/didOpen", {"textDocument": document})
    line, column, version = text.count("\n"), len(_STUB) - _STUB.rfind("\n") - 1, 1
    _ask(server, line, column)  # loads the model and reads the prompt
    answers_ms, typed_ms = [], []
    for i in range(n):
        version += 1
        name = f"{chr(97 + i)} "  # another place, so that the model is asked
        _insert(server, version, line, column, name)
        column += len(name)
        began = perf_counter()
        suggested = _ask(server, line, column)
        answers_ms.append((perf_counter() - began) * 1e3)
        for k, character in enumerate(suggested.partition("\n")[0][:-1]):
            version += 1
            began = perf_counter()
            _insert(server, version, line, column, character)
            left = _ask(server, line, column + 1)
            typed_ms.append((perf_counter() - began) * 1e3)
            column += 1
            if left != suggested[k + 1 :]:
                raise GooseError(f"{left!r} is suggested where {suggested[k + 1 :]!r} is left")
    if not typed_ms:
        raise GooseError("the model suggests nothing to type along")
    return answers_ms, typed_ms


def _insert(server: LanguageServer, version: int, line: int, column: int, text: str) -> None:
    at = {"line": line, "character": column}
    change = {"range": {"start": at, "end": at}, "text": text}
    document = {"uri": _URI, "version": version}
    server.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [change]})


def _ask(server: LanguageServer, line: int, column: int) -> str:
    position = {"line": line, "character": column}
    params = {"textDocument": {"uri": _URI}, "position": position, "context": {"triggerKind": 2}}
    items = server.request("textDocument/inlineCompletion", params)["items"]
    return items[0]["insertText"] if items else ""


if __name__ == "__main__":
    sys.exit(main())
