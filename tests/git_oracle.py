"""git itself, asked which files it ignores: the oracle of every rule about that."""

import os
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

GIT = shutil.which("git")
needs_git = pytest.mark.skipif(GIT is None, reason="git is the oracle, and it is not installed")
# Nobody's own settings, whoever runs the tests.
ENVIRON = {"HOME": "/nowhere", "PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1"}


def git(folder: Path, *arguments: str) -> None:
    assert GIT
    subprocess.run([GIT, *arguments], cwd=folder, env=ENVIRON, check=True, capture_output=True)


def new_repository(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q")
    (folder / ".git" / "info").mkdir(exist_ok=True)
    return folder


def ignored_by_git(root: Path, files: Iterable[Path]) -> set[Path]:
    """Those of the files, relative to a folder of a repository, that git ignores, tracked or not."""
    assert GIT
    command = [GIT, "check-ignore", "--stdin", "-z", "--no-index"]
    names = b"\0".join(os.fsencode(file) for file in files)
    asked = subprocess.run(
        command, cwd=root, env=ENVIRON, input=names, capture_output=True, check=False
    )
    assert asked.returncode in (0, 1), asked.stderr
    return {Path(os.fsdecode(name)) for name in asked.stdout.split(b"\0") if name}
