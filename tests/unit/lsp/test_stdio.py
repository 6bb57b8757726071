"""Who may write to the editor, and what happens when the editor has gone."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from goose_lsp.lsp import stdio
from goose_lsp.lsp.stdio import ClientWriter, is_running

TAKE_OVER = """
import os
from goose_lsp.lsp.stdio import take_over_stdout
client = take_over_stdout()
print("a library", flush=True)
os.system("echo a child")
client.write(b"a frame")
client.close()
"""


def ended_process() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait(30)
    return process.pid


def test_only_the_protocol_reaches_stdout() -> None:
    result = subprocess.run([sys.executable, "-c", TAKE_OVER], check=True, capture_output=True)
    assert result.stdout == b"a frame"
    assert result.stderr.split(b"\n")[:2] == [b"a library", b"a child"]


def test_a_frame_is_written_at_once(tmp_path: Path) -> None:
    with (tmp_path / "frames").open("wb") as stream:
        ClientWriter(stream).write(b"frame")
        assert (tmp_path / "frames").read_bytes() == b"frame"


def test_writing_to_an_editor_that_has_gone_does_nothing() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    writer = ClientWriter(os.fdopen(writing, "wb", buffering=0))
    assert writer.write(b"frame") == 5
    assert writer.write(b"frame") == 5
    writer.close()
    assert writer.write(b"frame") == 5


def test_a_process_runs_until_it_has_ended() -> None:
    assert is_running(os.getpid())
    assert not is_running(ended_process())


def test_the_watch_ends_this_process_when_the_editor_has_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    codes: list[int] = []
    monkeypatch.setattr(os, "_exit", codes.append)
    monkeypatch.setattr(stdio, "PARENT_POLL_S", 0.001)
    stdio._wait_and_exit(ended_process())
    assert codes == [1]


def test_the_watch_notices_a_parent_that_nobody_reaped(monkeypatch: pytest.MonkeyPatch) -> None:
    parents = iter([7, 7, 1])
    codes: list[int] = []
    monkeypatch.setattr(os, "_exit", codes.append)
    monkeypatch.setattr(os, "getppid", lambda: next(parents))
    monkeypatch.setattr(stdio, "is_running", lambda _pid: True)
    monkeypatch.setattr(stdio, "PARENT_POLL_S", 0.001)
    stdio._wait_and_exit(7)
    assert codes == [1]
