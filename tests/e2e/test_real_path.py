"""The whole path with the embedded model: language server, daemon, engine, real text."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes import embedded_model

pytestmark = [pytest.mark.e2e, pytest.mark.model]

SOURCE = """def add(a, b):
    return a + b


def subtract(a, b):
    return"""


@pytest.fixture
def environment() -> Iterator[dict[str, str]]:
    """A runtime directory of our own, so that nobody's daemon is met or ended."""
    embedded_model()
    with tempfile.TemporaryDirectory(prefix="goose-") as folder:
        environment = {
            **os.environ,
            "GOOSE_LSP_PATHS_RUNTIME_DIR": f"{folder}/run",
            "GOOSE_LSP_PATHS_LOG_DIR": f"{folder}/log",
        }
        yield environment
        run(["daemon", "stop"], environment)


def run(arguments: list[str], environment: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "goose_lsp", *arguments]
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=200, check=False
    )


def test_the_command_line_completes_a_file_and_reuses_what_it_has_read(
    environment: dict[str, str], tmp_path: Path
) -> None:
    file = tmp_path / "maths.py"
    file.write_text(SOURCE)
    place = f"{file}:6:{len(SOURCE.splitlines()[-1]) + 1}"
    answers = []
    for policy in ("goose", "plain"):
        done = run(["complete", place, "--json", "--policy", policy], environment)
        assert done.returncode == 0, done.stderr
        answers.append(json.loads(done.stdout))
    drafted, plain = answers
    assert drafted["text"] == plain["text"] != ""
    assert drafted["reason"] == "ok"
    assert drafted["range"]["start"] == {"line": 6, "column": 11}
    assert drafted["n_prefilled"] == drafted["n_prompt_tokens"]
    assert plain["n_prefilled"] == 1  # the rest is still in the cache
    assert plain["n_steps"] >= plain["n_tokens"] >= drafted["n_steps"] > 0


def test_the_demo_shows_equal_texts(environment: dict[str, str]) -> None:
    done = run(["demo"], environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "the same text" in done.stdout
    assert "copied from the context (spine)" in done.stdout
