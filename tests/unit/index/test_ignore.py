import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goose_lsp.index.ignore import FolderRules, parse_rules, rules_of_root
from tests.git_oracle import ENVIRON, git, ignored_by_git, needs_git, new_repository

NAMES = st.sampled_from(["a", "b", "log", "a.log", "b.log", "build", "x y", "#a", "!b", "É"])
PATHS = st.lists(NAMES, min_size=1, max_size=4).map(lambda parts: Path(*parts))
PATTERNS = st.lists(
    st.sampled_from([
        "a", "/a", "a/", "a/b", "/a/b/", "*.log", "!a.log", "!/a", "b*", "?", "**/a", "a/**", "a/**/b", "**/build/",
        "x\\ y", "x y", "\\#a", "\\!b", "#a", "!b/", "[ab]", "[!a]", "*", "!*/", "a/*", "!a/b", "b.log ", "É", "",
        "**", "/*", "!/b", "build/*", "!build/a", "[[:alpha:]]", "a**/b", "!**/log",
    ]),
    max_size=5,
)  # fmt: skip


def ours(root: Path, file: Path, environ: dict[str, str] = ENVIRON) -> bool:
    """Whether our rules leave a file out, asked from the top down."""
    rules, folder = rules_of_root(root, environ), root
    for part in file.parts[:-1]:
        inner = folder / part
        if rules.ignores(str(inner), is_folder=True):
            return True
        rules, folder = rules.below(inner), inner
    return rules.ignores(str(folder / file.name), is_folder=False)


def check(root: Path, names: str, expected: str, environ: dict[str, str] = ENVIRON) -> None:
    """Of the files, relative to the root, the expected ones are left out."""
    left_out = [name for name in names.split() if ours(root, Path(name), environ)]
    assert left_out == expected.split()


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


def write(file: Path, *lines: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{line}\n" for line in lines))


@needs_git
@settings(max_examples=60)
@given(st.lists(PATHS, min_size=1, max_size=8), PATTERNS, PATTERNS, PATTERNS)
def test_ignored_is_what_git_ignores(
    tmp_path_factory: pytest.TempPathFactory,
    files: list[Path],
    top: list[str],
    inner: list[str],
    excluded: list[str],
) -> None:
    root = new_repository(tmp_path_factory.mktemp("repository"))
    made = make(root, files)
    write(root / ".gitignore", *top)
    write(root / ".git" / "info" / "exclude", *excluded)
    if (root / "a").is_dir():
        write(root / "a" / ".gitignore", *inner)
    assert {file for file in made if ours(root, file)} == ignored_by_git(root, made)


@needs_git
@settings(max_examples=30)
@given(st.lists(PATHS, min_size=1, max_size=8), PATTERNS, PATTERNS, PATTERNS)
def test_in_a_nested_repository_ignored_is_what_either_ignores(
    tmp_path_factory: pytest.TempPathFactory,
    files: list[Path],
    top: list[str],
    inner: list[str],
    excluded: list[str],
) -> None:
    root = new_repository(tmp_path_factory.mktemp("outer"))
    nested = new_repository(root / "nested")
    made = make(nested, files)
    write(root / ".gitignore", *top)
    write(nested / ".gitignore", *inner)
    write(nested / ".git" / "info" / "exclude", *excluded)
    outer = {
        file.relative_to("nested")
        for file in ignored_by_git(root, [Path("nested", file) for file in made])
    }
    left_out = {file for file in made if ours(root, Path("nested", file))}
    # git reads nested ignore files for the outer repository too, so an inner "!" may take back an outer rule there.
    both = outer | ignored_by_git(nested, made)
    assert left_out >= both
    assert left_out == both or any(line.startswith("!") for line in inner)


@needs_git
def test_rules_above_a_folder_of_a_repository_count(tmp_path: Path) -> None:
    root = new_repository(tmp_path) / "part"
    write(tmp_path / ".gitignore", "*.log", "/part/secret")
    made = make(root, [Path("a.log"), Path("secret"), Path("a.py")])
    check(root, "a.log secret a.py", "a.log secret")
    assert ignored_by_git(root, made) == {Path("a.log"), Path("secret")}


def test_a_folder_named_like_a_repository_is_none(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    write(tmp_path / ".gitignore", "*.log")
    (tmp_path / "part" / ".git").mkdir(parents=True)
    check(tmp_path / "part", "a.log a.py", "a.log")


@needs_git
def test_the_users_own_excludes_count_least(tmp_path: Path) -> None:
    write(tmp_path / "home" / ".config" / "git" / "ignore", "*.log", "*.tmp")
    root = new_repository(tmp_path / "repository")
    write(root / ".gitignore", "!*.log")
    check(root, "a.log a.tmp", "a.tmp", ENVIRON | {"HOME": str(tmp_path / "home")})


def test_the_users_own_excludes_count_in_nested_repositories_and_outside_of_any(
    tmp_path: Path,
) -> None:
    write(tmp_path / "config" / "git" / "ignore", "/local", "*.tmp")
    environ = ENVIRON | {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    root = tmp_path / "work"
    write(root / "nested" / ".git" / "HEAD", "ref: refs/heads/main")
    write(root / "nested" / ".gitignore", "!a.tmp")
    names = "local a.tmp x/local nested/local nested/a.tmp nested/b.tmp"
    check(root, names, "local a.tmp nested/local nested/b.tmp", environ)


def test_without_git_the_users_own_excludes_have_their_default_place(tmp_path: Path) -> None:
    write(tmp_path / ".config" / "git" / "ignore", "*.tmp")
    check(tmp_path, "a.tmp a.py", "a.tmp", {"PATH": "/nowhere", "HOME": str(tmp_path)})


def test_without_a_home_nothing_is_read_from_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / ".config" / "git" / "ignore", "*.tmp")
    monkeypatch.chdir(tmp_path)
    check(tmp_path, "a.tmp", "", {"PATH": "/nowhere"})


@needs_git
@pytest.mark.parametrize("value", ["mine", "~/mine", "{}/mine"])
def test_the_users_own_excludes_lie_where_git_says(tmp_path: Path, value: str) -> None:
    root = new_repository(tmp_path)
    git(root, "config", "core.excludesFile", value.format(tmp_path))
    write(root / "shared", "*.tmp")
    (root / "mine").symlink_to("shared")
    check(root, "a.tmp a.py", "a.tmp", ENVIRON | {"HOME": str(tmp_path)})


def test_the_users_own_excludes_may_lead_nowhere(tmp_path: Path) -> None:
    (tmp_path / "git").mkdir()
    (tmp_path / "git" / "ignore").symlink_to("ignore")
    check(tmp_path, "a.tmp", "", ENVIRON | {"XDG_CONFIG_HOME": str(tmp_path)})


@needs_git
def test_settings_of_another_repository_do_not_mislead(tmp_path: Path) -> None:
    root, other = new_repository(tmp_path / "root"), new_repository(tmp_path / "other")
    write(tmp_path / "mine", "*.tmp")
    git(root, "config", "core.excludesFile", str(tmp_path / "mine"))
    check(root, "a.tmp", "a.tmp", ENVIRON | {"GIT_DIR": str(other / ".git")})


@needs_git
def test_where_git_ignores_case_so_do_we(tmp_path: Path) -> None:
    root = new_repository(tmp_path)
    git(root, "config", "core.ignoreCase", "true")
    write(root / ".gitignore", "*.LOG", "/Build")
    names = "a.log A.Log build/x b.py"
    check(root, names, "a.log A.Log build/x")
    expected = {Path("a.log"), Path("A.Log"), Path("build/x")}
    assert ignored_by_git(root, map(Path, names.split())) == expected


@needs_git
def test_a_worktree_shares_the_excludes_of_its_repository(tmp_path: Path) -> None:
    shared = new_repository(tmp_path / "main")
    write(shared / ".git" / "info" / "exclude", "notes")
    names = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    git(shared, *names, "commit", "-q", "--allow-empty", "-m", "empty")
    git(shared, "worktree", "add", "-q", str(tmp_path / "tree"))
    check(tmp_path / "tree", "notes a.py", "notes")
    assert ignored_by_git(tmp_path / "tree", [Path("notes")]) == {Path("notes")}


def test_a_submodule_has_the_excludes_of_its_own_repository(tmp_path: Path) -> None:
    write(tmp_path / ".git" / "HEAD", "ref: refs/heads/main")
    odd = os.fsdecode(b"\xff")
    write(tmp_path / ".git" / "modules" / odd / "info" / "exclude", "notes")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / ".git").write_bytes(b"gitdir: ../.git/modules/\xff\n")
    check(tmp_path, "sub/notes notes", "sub/notes")
    check(tmp_path / "sub", "notes a.py", "notes")


def test_a_repository_whose_pointer_leads_nowhere_has_no_excludes(tmp_path: Path) -> None:
    (tmp_path / ".git").write_bytes(b"\0\xff" * 10)
    write(tmp_path / ".gitignore", "a.py")
    check(tmp_path, "a.py b.py", "a.py")


def test_outside_a_repository_ignore_files_count_too(tmp_path: Path) -> None:
    write(tmp_path / ".gitignore", "a.py")
    check(tmp_path, "a.py b.py", "a.py")


def test_our_own_ignore_file_only_refuses_more(tmp_path: Path) -> None:
    write(tmp_path / ".gitignore", "a.py")
    write(tmp_path / ".gooselspignore", "!a.py", "b.py", "in/c.py")
    write(tmp_path / "in" / ".gooselspignore", "!b.py")
    check(tmp_path, "a.py b.py in/c.py in/b.py c.py", "a.py b.py in/c.py")


@pytest.mark.parametrize("name", [".gitignore", ".gooselspignore"])
def test_pipes_and_folders_called_like_an_ignore_file_are_none(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    (tmp_path / "in" / name).mkdir(parents=True)
    check(tmp_path, "a.py in/a.py", "")


@needs_git
def test_a_link_is_no_ignore_file(tmp_path: Path) -> None:
    root = new_repository(tmp_path)
    write(root / "shared", "a.py")
    (root / ".gitignore").symlink_to("shared")
    check(root, "a.py", "")
    # git says so aloud, which is no failure.
    assert ignored_by_git(root, [Path("a.py")]) == set()


def test_too_large_an_ignore_file_ignores_everything(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_bytes(b"# nothing\n" * 200_000)
    check(tmp_path, "a.py", "a.py")


def test_a_mark_and_carriage_returns_belong_to_no_pattern(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_bytes(b"\xef\xbb\xbfa.py\r\nb.py\r\nc.py")
    check(tmp_path, "a.py b.py c.py d.py", "a.py b.py c.py")


def test_a_pattern_that_means_nothing_is_skipped() -> None:
    rules = parse_rules(b"!\n/\n[z\nfine\n", Path("/w"))
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
