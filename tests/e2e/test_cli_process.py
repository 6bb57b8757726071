"""`goose-lsp` as a process: what it imports, what it prints, how it ends."""

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.e2e
COMMAND = [sys.executable, "-m", "goose_lsp"]
LIMIT_S = 60

# A pip that downloads half a wheel, says so and hangs.
HANGING_PIP = """
import os, signal, sys
if sys.argv[1] == "download":
    open(os.path.join(os.environ["TMPDIR"], "half"), "wb").close()
    with open(os.environ["PID_PIPE"], "w") as stream:
        stream.write(str(os.getpid()))
    signal.pause()
"""


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """Settings, models and a runtime directory of this test's own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GOOSE_LSP_")}
    folders = {
        f"GOOSE_LSP_PATHS_{kind}_DIR": str(tmp_path / kind.lower())
        for kind in ("CACHE", "RUNTIME", "LOG")
    }
    return {**kept, **folders, "XDG_CONFIG_HOME": str(tmp_path / "config")}


def run(environ: dict[str, str], *argv: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *argv],
        env=environ,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def test_version_prints_one_line_and_nothing_else(environ: dict[str, str]) -> None:
    answer = run(environ, "version")
    assert (answer.returncode, answer.stderr) == (0, "")
    assert answer.stdout.startswith("goose-lsp ")


def test_wrong_use_ends_with_2_and_one_line(environ: dict[str, str], tmp_path: Path) -> None:
    answer = run(environ, "complete", f"{tmp_path / 'gone.py'}:1:1")
    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr.count("\n") == 1


def test_a_missing_model_starts_no_daemon(environ: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("")
    answer = run(environ, "complete", f"{file}:1:1")
    assert answer.returncode == 2
    assert "goose-lsp models pull smollm2-135m" in answer.stderr
    assert not (tmp_path / "runtime").exists()


def test_importing_the_command_line_imports_nothing_heavy(environ: dict[str, str]) -> None:
    heavy = ["torch", "numpy", "pygls", "lsprotocol", "msgpack", "rich", "huggingface_hub"]
    code = f"import sys, goose_lsp.cli; print([m for m in {heavy} if m in sys.modules])"
    answer = subprocess.run(
        [sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True
    )
    assert answer.stdout == "[]\n"


def test_a_reader_that_leaves_early_is_no_error(environ: dict[str, str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as closed:
        answer = subprocess.run(
            [*COMMAND, "config"],
            env=environ,
            stdout=closed,
            stderr=subprocess.PIPE,
            timeout=LIMIT_S,
            check=False,
        )
    assert (answer.returncode, answer.stderr) == (0, b"")


def test_a_disk_that_is_full_is_one_line(environ: dict[str, str]) -> None:
    with Path("/dev/full").open("w") as full:
        answer = subprocess.run(
            [*COMMAND, "version"],
            env=environ,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
    assert answer.returncode == 2
    assert answer.stderr.count("\n") == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_pull_that_is_asked_to_end_takes_pip_with_it_and_leaves_nothing(
    number: signal.Signals, environ: dict[str, str], tmp_path: Path
) -> None:
    package = tmp_path / "fake" / "pip"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text(HANGING_PIP)
    pipe = tmp_path / "pid"
    os.mkfifo(pipe)
    environ |= {"PYTHONPATH": str(package.parent), "PID_PIPE": str(pipe)}
    with subprocess.Popen(
        [*COMMAND, "models", "pull"], env=environ, stderr=subprocess.PIPE, text=True
    ) as child:
        try:
            pip = int(pipe.read_text())  # opening waits until pip is there
            child.send_signal(number)
            _, err = child.communicate(timeout=LIMIT_S)
        finally:
            child.kill()
    assert (child.returncode, err) == (130, "smollm2-135m: downloading\n")
    assert [file.name for file in (tmp_path / "cache").rglob("*.*")] == [".smollm2-135m.lock"]
    with pytest.raises(ProcessLookupError):
        os.kill(pip, 0)


def test_a_daemon_is_started_found_again_and_ended(environ: dict[str, str], tmp_path: Path) -> None:
    """With a model file that is broken: the daemon says so, and the answer is still one object."""
    broken, file = tmp_path / "broken.gguf", tmp_path / "a.py"
    broken.write_bytes(b"GGUF")
    file.write_text("def f():\n")
    environ["GOOSE_LSP_ENGINE_MODEL"] = str(broken)
    try:
        started = run(environ, "daemon", "start")
        assert started.returncode == 0, started.stderr
        answer = run(environ, "complete", f"{file}:1:9", "--json")
        assert answer.returncode == 2, answer.stderr
        assert json.loads(answer.stdout)["reason"] == "model-broken"
        status = run(environ, "daemon", "status")
        assert (status.returncode, "broken.gguf: broken" in status.stdout) == (0, True)
    finally:
        ended = run(environ, "daemon", "stop")
    assert ended.stdout == "the daemon has ended\n"
    assert run(environ, "daemon", "status").returncode == 1


def test_the_list_of_models_has_no_colours_on_a_terminal_either(environ: dict[str, str]) -> None:
    ours, theirs = pty.openpty()
    with subprocess.Popen([*COMMAND, "models", "list"], env=environ, stdout=theirs) as child:
        assert child.wait(LIMIT_S) == 0
    os.close(theirs)
    shown = os.read(ours, 65536)
    os.close(ours)
    assert b"smollm2-135m" in shown
    assert b"\x1b" not in shown
