import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goose_lsp.index.wildmatch import Pattern, parse_pattern
from tests.git_oracle import ignored_by_git, needs_git, new_repository

# Pieces of patterns, odd ones above all, and names that they may match.
ATOMS = st.sampled_from([
    "a", "b", "*", "**", "***", "?", "/", "[ab]", "[!a]", "[^a]", "[a-c]", "[]a]", "[!]a]", "[a\\]]", "[\\\\]",
    "[[:alpha:]]", "[[:digit:]a]", "[^[:space:]]", "[[:punct:]]", "[[:foo:]]", "[[:alpha:]", "[a-[:digit:]]",
    "[a", "]", "[", "[]", "[!]", "[c-a]", "[--a]", "[a-", "[a/b]", "[&&a]", "[a||b]", "[a~~b]", "[[]", "[é]",
    "\\a", "\\*", "\\", "\\ ", " ", "\t", "\v", "\r", "!", "#", "-", "é", "A", "{a,b}", "+", "$", "(", ".", "^",
])  # fmt: skip
LINES = st.lists(ATOMS, min_size=1, max_size=6).map("".join)
NAMES = st.text(st.sampled_from("abcABé ]-[\\*!#1\t\v\r&|~^+$(.{},"), min_size=1, max_size=3)


def matching(line: str) -> st.SearchStrategy[str]:
    """Paths that the line may mean, with something in the place of every wildcard."""

    def filled(choices: tuple[str, ...]) -> str:
        one, some, deep = choices
        text = re.sub(r"\[[^\]]*\]|\?", lambda _: one, line.strip("!/ "))
        return text.replace("**", deep).replace("*", some).replace("\\", "")

    some = st.sampled_from(["", "a", "ab", "-"])
    return st.tuples(st.sampled_from("abc-]1"), some, st.sampled_from(["a", "a/b"])).map(filled)


def paths_for(line: str) -> st.SearchStrategy[list[str]]:
    free = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
    return st.lists(matching(line) | free, min_size=1, max_size=8)


CASES = st.lists(
    LINES.flatmap(lambda line: st.tuples(st.just(line), paths_for(line))), min_size=1, max_size=20
)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return new_repository(tmp_path_factory.mktemp("repository"))


def matches(pattern: Pattern, path: str, *, is_folder: bool) -> bool:
    asked = path if pattern.is_anchored else path.rpartition("/")[2]
    asked = asked.encode().decode("latin-1")
    fits = re.compile(pattern.expression, re.DOTALL).fullmatch(asked) is not None
    return fits and (is_folder or not pattern.is_for_folders)


def ignores(line: str, path: str) -> bool:
    """Whether a file that only this line speaks of is ignored, or a folder above it."""
    pattern = parse_pattern(line.encode().decode("latin-1"))
    if pattern is None or not pattern.ignores:
        return False
    parts = path.split("/")
    return any(
        matches(pattern, "/".join(parts[:n]), is_folder=n < len(parts))
        for n in range(1, len(parts) + 1)
    )


def check(repository: Path, line: str, yes: list[str], no: list[str]) -> None:
    """The line ignores the first paths and not the others, for us and for git."""
    folder = repository / "known"
    folder.mkdir(exist_ok=True)
    (folder / ".gitignore").write_bytes(line.encode() + b"\n")
    assert [path for path in yes + no if ignores(line, path)] == yes
    assert ignored_by_git(folder, map(Path, yes + no)) == set(map(Path, yes))


def is_path(text: str) -> bool:
    return bool(text) and all(part not in {"", ".", "..", ".git"} for part in text.split("/"))


@needs_git
@settings(max_examples=100)
@given(CASES)
def test_a_line_matches_what_git_matches(
    repository: Path, cases: list[tuple[str, list[str]]]
) -> None:
    # Each line gets a folder, so that git is asked once for all; folders of other examples stay unasked.
    asked: dict[Path, tuple[str, str]] = {}
    for i, (line, paths) in enumerate(cases):
        folder = repository / str(i)
        folder.mkdir(exist_ok=True)
        (folder / ".gitignore").write_bytes(line.encode() + b"\n")
        asked |= {Path(str(i), path): (line, path) for path in paths if is_path(path)}
    ours = {file for file, (line, path) in asked.items() if ignores(line, path)}
    assert ours == ignored_by_git(repository, asked)


@needs_git
@pytest.mark.parametrize(
    ("line", "yes", "no"),
    [
        ("a", "a x/a a/x", "b ab x/b"),
        ("/a", "a a/x", "x/a"),
        ("a/", "a/x x/a/y", "a x/a"),
        ("a/b", "a/b a/b/x", "x/a/b"),
        ("*.log", "x.log a/x.log .log", "x.logs xlog"),
        ("a*/b", "a/b axy/b", "a/x/b"),
        ("**/a", "a x/a x/y/a", "b"),
        ("a/**", "a/b a/b/c", "a x/a/b"),
        ("a/**/b", "a/b a/x/b a/x/y/b", "ab a/xb"),
        ("a/*/b", "a/x/b", "a/b a/x/y/b"),
        ("a**/b", "a/b ab ax/b ax/y/b", "b"),  # what is plain goes first, then "**" stands alone
        ("x?a**/b", "x1a/b x1ay/b", "x1a/y/b"),
        ("[a-c]x", "ax bx", "dx x"),
        ("[!a-c]x", "dx", "ax x"),
        ("[[:digit:]_]", "1 _", "a :"),
        ("[[:nothing:]]", "", "a : n"),
        ("[a\\]b]", "] a", "\\"),
        ("[]-]", "] -", "a"),
        ("[c-a]", "c", "a b"),
        ("[a", "", "[a a"),
        ("\\#a", "#a", "\\#a a"),
        ("\\!a", "!a", "a"),
        ("#a", "", "#a a"),
        ("a\\", "", "a a\\"),
        ("a\\*", "a*", "ab a"),
        ("!a", "", "a !a"),
        ("/", "", "a a/b"),
        ("//", "", "a a/b"),
        ("**", "a a/b", ""),
        ("/*", "a a/b", ""),
        ("*/", "a/b", "a"),
    ],
)
def test_known_lines_match_what_they_should(repository: Path, line: str, yes: str, no: str) -> None:
    check(repository, line, yes.split(), no.split())


@needs_git
@pytest.mark.parametrize(
    ("line", "yes", "no"),
    [
        ("a ", ["a"], ["a "]),
        ("a\\ ", ["a "], ["a"]),
        ("a\\  ", ["a "], ["a", "a  "]),
        ("a\\\\ ", ["a\\"], ["a\\ "]),
        (" a", [" a"], ["a"]),
        ("a\t", ["a\t"], ["a"]),
        ("a\r", ["a"], ["a\r"]),
        ("a\r\r", ["a\r"], ["a"]),
        ("a\0b", ["a"], ["b"]),
        ("a*b", ["a\nb"], ["ab\n"]),
        ("[[:space:]]", [" ", "\t", "\r"], ["\v", "\f"]),
    ],
    ids=repr,
)
def test_blanks_and_line_ends_count_as_for_git(
    repository: Path, line: str, yes: list[str], no: list[str]
) -> None:
    check(repository, line, yes, no)


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("*a" * 30 + "b", "a" * 250),
        ("*?" * 30 + "b", "a" * 250),
        ("[!b]*" * 30 + "c", "a" * 250),
        ("**/a/" * 30 + "b", "a/" * 1000 + "c"),
        ("**/*a*/" * 20 + "b", "aaaa/" * 500 + "c"),
    ],
)
def test_a_hostile_line_does_not_take_for_ever(line: str, name: str) -> None:
    assert not ignores(line, name)
