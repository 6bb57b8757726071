import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goose_lsp.index.ignore import FolderRules, parse_rules, rules_of_root

GIT = shutil.which("git")
needs_git = pytest.mark.skipif(GIT is None, reason="git is the oracle, and it is not installed")
ENVIRON = {"HOME": "/nowhere", "PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1"}

NAMES = st.sampled_from(["a", "b", "log", "a.log", "b.log", "build", "x y", "#a", "!b", "É"])
PATHS = st.lists(NAMES, min_size=1, max_size=4).map(lambda parts: Path(*parts))
PATTERNS = st.lists(
    st.sampled_from([
        "a", "/a", "a/", "a/b", "/a/b/", "*.log", "!a.log", "!/a", "b*", "?", "**/a", "a/**", "a/**/b", "**/build/",
        "x\\ y", "x y", "\\#a", "\\!b", "#a", "!b/", "[ab]", "[!a]", "*", "!*/", "a/*", "!a/b", "b.log ", "É", "",
        "**", "/*", "!/b", "build/*", "!build/a",
    ]),
    max_size=5,
)  # fmt: skip


def ours(root: Path, file: Path) -> bool:
    """Whether our rules leave a file out, asked from the top down."""
    rules, folder = rules_of_root(root, ENVIRON), root
    for part in file.parts[:-1]:
        inner = folder / part
        if rules.ignores(str(inner), is_folder=True):
            return True
        rules, folder = rules.below(inner), inner
    return rules.ignores(str(folder / file.name), is_folder=False)


def gits(root: Path, files: Sequence[Path]) -> set[Path]:
    assert GIT
    names = b"\0".join(os.fsencode(file) for file in files)
    command = [GIT, "check-ignore", "--stdin", "-z", "--no-index"]
    asked = subprocess.run(
        command, cwd=root, env=ENVIRON, input=names, capture_output=True, check=False
    )
    assert asked.returncode in (0, 1), asked.stderr
    return {Path(os.fsdecode(name)) for name in asked.stdout.split(b"\0") if name}


def make(root: Path, files: Sequence[Path]) -> list[Path]:
    """Create what can be created: a file's name may already be a folder's."""
    made = []
    for file in files:
        try:
            (root / file).parent.mkdir(parents=True, exist_ok=True)
            (root / file).touch()
        except (FileExistsError, NotADirectoryError, IsADirectoryError):
            continue
        if (root / file).is_file():
            made.append(file)
    return made


@needs_git
@settings(max_examples=60)
@given(
    st.lists(PATHS, min_size=1, max_size=8),
    PATTERNS,
    PATTERNS,
    PATTERNS,
)
def test_ignored_is_what_git_ignores(
    tmp_path_factory: pytest.TempPathFactory,
    files: list[Path],
    top: list[str],
    inner: list[str],
    excluded: list[str],
) -> None:
    root = tmp_path_factory.mktemp("repository")
    subprocess.run([str(GIT), "init", "-q"], cwd=root, env=ENVIRON, check=True)
    made = make(root, files)
    (root / ".gitignore").write_text("\n".join(top) + "\n")
    (root / ".git" / "info").mkdir(exist_ok=True)
    (root / ".git" / "info" / "exclude").write_text("\n".join(excluded) + "\n")
    if (root / "a").is_dir():
        (root / "a" / ".gitignore").write_text("\n".join(inner) + "\n")
    assert {file for file in made if ours(root, file)} == gits(root, made)


@needs_git
def test_rules_above_a_folder_of_a_repository_count(tmp_path: Path) -> None:
    subprocess.run([str(GIT), "init", "-q"], cwd=tmp_path, env=ENVIRON, check=True)
    (tmp_path / ".gitignore").write_text("*.log\n/part/secret\n")
    root = tmp_path / "part"
    made = make(root, [Path("a.log"), Path("secret"), Path("a.py")])
    assert [file for file in made if ours(root, file)] == [Path("a.log"), Path("secret")]


@needs_git
def test_the_users_own_excludes_count_least(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / ".config" / "git").mkdir(parents=True)
    (home / ".config" / "git" / "ignore").write_text("*.log\n*.tmp\n")
    root = tmp_path / "repository"
    root.mkdir()
    environ = {**ENVIRON, "HOME": str(home)}
    subprocess.run([str(GIT), "init", "-q"], cwd=root, env=environ, check=True)
    (root / ".gitignore").write_text("!*.log\n")
    rules = rules_of_root(root, environ)
    assert not rules.ignores(str(root / "a.log"), is_folder=False)
    assert rules.ignores(str(root / "a.tmp"), is_folder=False)


def test_a_worktree_shares_the_excludes_of_its_repository(tmp_path: Path) -> None:
    shared = tmp_path / "main" / ".git"
    (shared / "info").mkdir(parents=True)
    (shared / "info" / "exclude").write_text("notes\n")
    own = shared / "worktrees" / "w"
    own.mkdir(parents=True)
    (own / "commondir").write_text("../..\n")
    root = tmp_path / "w"
    root.mkdir()
    (root / ".git").write_text(f"gitdir: {own}\n")
    assert rules_of_root(root, ENVIRON).ignores(str(root / "notes"), is_folder=False)


def test_outside_a_repository_ignore_files_count_too(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("a.py\n")
    assert ours(tmp_path, Path("a.py"))
    assert not ours(tmp_path, Path("b.py"))


def test_our_own_ignore_file_only_refuses_more(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("a.py\n")
    (tmp_path / ".gooselspignore").write_text("!a.py\nb.py\n")
    assert [ours(tmp_path, Path(name)) for name in ("a.py", "b.py", "c.py")] == [True, True, False]


def test_a_pattern_that_means_nothing_is_skipped() -> None:
    rules = parse_rules(b"!\n/\n[z-a]\nfine\n", Path("/w"))
    assert rules is not None
    assert FolderRules(git=(rules,)).ignores("/w/fine", is_folder=False)


def test_a_file_of_comments_rules_nothing() -> None:
    assert parse_rules(b"# nothing\n\n", Path("/w")) is None


def test_names_with_line_ends_and_odd_bytes_are_judged() -> None:
    rules = parse_rules(b"*.py\n", Path("/w"))
    assert rules is not None
    assert FolderRules(git=(rules,)).ignores("/w/a\nb.py", is_folder=False)
    assert FolderRules(git=(rules,)).ignores("/w/\udcff.py", is_folder=False)
    assert not FolderRules(git=(rules,)).ignores("/w/a.py\n", is_folder=False)
