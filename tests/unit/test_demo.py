import io
import json
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from rich.console import Console

from goose_lsp import demo
from goose_lsp.demo import LanguageServer
from goose_lsp.errors import GooseError


@dataclass(slots=True)
class FakeProcess:
    """A server whose whole output is known beforehand."""

    stdout: io.BytesIO
    stdin: io.BytesIO = field(default_factory=io.BytesIO)


def framed(*messages: dict[str, Any]) -> bytes:
    bodies = [json.dumps(message).encode() for message in messages]
    return b"".join(b"Content-Length: %d\r\n\r\n%b" % (len(body), body) for body in bodies)


def server_that_says(*messages: dict[str, Any]) -> tuple[LanguageServer, FakeProcess]:
    process = FakeProcess(io.BytesIO(framed(*messages)))
    return LanguageServer(cast("Any", process)), process


def report(text: str) -> dict[str, Any]:
    stats = {"n_tokens": 8, "n_steps": 2, "mean_accepted_len": 4.0, "decode_ms": 2.0}
    return {"text": text, "stats": {**stats, "n_prompt_tokens": 9, "prefill_ms": 1.0}}


def test_the_cursor_waits_on_an_indented_empty_line_of_the_real_file() -> None:
    source = demo._FILE.read_text("utf-8")
    before, after = demo._unfinished(source)
    assert before.endswith("\n    ")
    assert after.startswith("\n\n\n_SECTIONS = ")
    assert source.startswith(before.removesuffix("    "))
    assert source.endswith(after.lstrip("\n"))


def test_two_properties_are_left_out_and_their_pattern_stays() -> None:
    before, after = demo._unfinished(demo._FILE.read_text("utf-8"))
    assert "def cache_dir" in before
    assert "def runtime_dir" not in before + after
    assert "def log_dir" not in before + after


def test_the_cut_file_is_still_python() -> None:
    compile("".join(demo._unfinished(demo._FILE.read_text("utf-8"))), "config.py", "exec")


def test_a_result_is_found_among_what_else_the_server_says() -> None:
    server, process = server_that_says(
        {"jsonrpc": "2.0", "method": "window/logMessage", "params": {}},
        {"jsonrpc": "2.0", "id": 1, "method": "client/registerCapability", "params": {}},
        {"jsonrpc": "2.0", "id": 1, "result": {"x": 1}},
    )
    assert server.request("initialize", {}) == {"x": 1}
    asked, answered = process.stdin.getvalue().split(b"Content-Length: ")[1:]
    assert b'"method": "initialize"' in asked
    assert b'"result": null' in answered


def test_a_refusal_is_said_with_the_servers_words() -> None:
    server, _ = server_that_says({"jsonrpc": "2.0", "id": 1, "error": {"message": "not today"}})
    with pytest.raises(GooseError, match="shutdown failed: not today"):
        server.request("shutdown", None)


def test_a_server_that_ends_is_noticed() -> None:
    server, _ = server_that_says()
    with pytest.raises(GooseError, match="the language server ended"):
        server.request("initialize", {})


@pytest.mark.parametrize(
    ("plain", "said", "code"), [("a", "the same text", 0), ("b", "DIFFERENT texts", 1)]
)
def test_the_exit_code_says_whether_both_texts_are_the_same(
    plain: str, said: str, code: int
) -> None:
    out = io.StringIO()
    assert demo._compare(Console(file=out, width=200), report("a"), report(plain)) == code
    assert said in out.getvalue()
    assert "4000.0" in out.getvalue()


def test_the_picture_holds_the_suggestion_at_the_cursor_and_counts_origins() -> None:
    out = io.StringIO()
    trace = [["return", "spine"], [" a", "model"], ["\n", "spine"]]
    demo._show(Console(file=out, width=200), "def f(a):\n    ", "\n\nx = 1", trace)
    assert "def f(a):\n    return a\n" in out.getvalue()
    assert "2 tokens  copied from the context" in out.getvalue()
    assert "0 tokens  from the bigram tables" in out.getvalue()
