import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goose_lsp.index.refusal import Refusal
from goose_lsp.index.scan import ScanLimits, Scanner

ENVIRON = {"HOME": "/nowhere", "PATH": os.environ["PATH"]}


def build(root: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def scanner(*roots: Path, limits: ScanLimits | None = None) -> Scanner:
    return Scanner(roots, limits, ENVIRON)


def walked(*roots: Path, limits: ScanLimits | None = None) -> list[str]:
    top = os.path.realpath(roots[0])
    return [os.path.relpath(f.path, top) for f in scanner(*roots, limits=limits).walk()]


def test_a_walk_yields_what_is_not_refused_from_the_top_down(tmp_path: Path) -> None:
    files = [
        "b/deep/x.py",
        "a.py",
        "b/y.py",
        ".env",
        "id_rsa",
        "b/local.py",
        "node_modules/m/i.js",
        ".git/HEAD",
    ]
    build(tmp_path, dict.fromkeys(files, "x\n") | {".gitignore": "local.py\n"})
    assert walked(tmp_path) == [".gitignore", "a.py", "b/y.py", "b/deep/x.py"]


def test_every_refusal_is_counted(tmp_path: Path) -> None:
    build(
        tmp_path, {".env": "x", ".gitignore": "i.py\n", "i.py": "", "big.py": "x" * 100, "a.py": ""}
    )
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "link.py").symlink_to("a.py")
    found = scanner(tmp_path, limits=ScanLimits(max_file_bytes=50))
    assert len(list(found.walk())) == 2
    assert found.n_refused == {
        Refusal.SECRET: 1,
        Refusal.IGNORED: 1,
        Refusal.TOO_LARGE: 1,
        Refusal.NOT_REGULAR: 1,
        Refusal.OUTSIDE: 1,
    }


def test_links_and_loops_end_nowhere(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "z").mkdir()
    (tmp_path / "a").symlink_to("a")
    (tmp_path / "x" / "y").symlink_to("../z")
    (tmp_path / "z" / "w").symlink_to("../x")
    (tmp_path / "gone.py").symlink_to("missing.py")
    build(tmp_path, {"x/one.py": ""})
    assert walked(tmp_path) == ["x/one.py"]


def test_three_hundred_nested_folders_are_walked(tmp_path: Path) -> None:
    deep = "d/" * 300 + "f.py"
    build(tmp_path, {deep: "x"})
    assert walked(tmp_path) == [deep]


def test_several_roots_and_one_inside_another_are_walked_once(tmp_path: Path) -> None:
    build(tmp_path, {"one/a.py": "", "one/in/b.py": "", "two/c.py": ""})
    assert sorted(walked(tmp_path / "one", tmp_path / "one" / "in", tmp_path / "two")) == [
        "../two/c.py",
        "a.py",
        "in/b.py",
    ]


def test_an_ignored_folder_that_is_opened_itself_is_walked(tmp_path: Path) -> None:
    build(tmp_path, {".gitignore": "in/\n", "in/b.py": ""})
    assert walked(tmp_path / "in") == ["b.py"]


@pytest.mark.parametrize(
    "limits", [ScanLimits(max_files=2), ScanLimits(max_total_bytes=2)], ids=["files", "bytes"]
)
def test_of_too_much_the_top_is_kept_and_it_is_said(tmp_path: Path, limits: ScanLimits) -> None:
    build(tmp_path, {"in/c.py": "x", "a.py": "x", "b.py": "x"})
    found = scanner(tmp_path, limits=limits)
    assert [os.path.basename(f.path) for f in found.walk()] == ["a.py", "b.py"]
    assert found.n_refused[Refusal.OVER_LIMIT] == 1


def test_odd_names_are_found(tmp_path: Path) -> None:
    names = [
        "é.py",
        "e\u0301.py",
        "a b.py",
        "%41.py",
        "#x.py",
        "日本.py",
        "a\nb.py",
        'q"q.py',
        os.fsdecode(b"\xff\xfe.py"),
    ]
    build(tmp_path, dict.fromkeys(names, ""))
    assert sorted(walked(tmp_path)) == sorted(names)
    assert all(scanner(tmp_path).verdict(tmp_path / name) is None for name in names)


def test_a_verdict_outside_the_workspace_or_on_nothing_refuses(tmp_path: Path) -> None:
    build(tmp_path, {"one/a.py": "", "two/b.py": ""})
    judge = scanner(tmp_path / "one")
    assert judge.verdict(tmp_path / "two" / "b.py") is Refusal.OUTSIDE
    assert judge.verdict(tmp_path / "one" / ".." / "two" / "b.py") is Refusal.OUTSIDE
    assert judge.verdict(tmp_path / "one" / "gone.py") is Refusal.UNREADABLE


def test_changed_ignore_files_count_after_a_reload(tmp_path: Path) -> None:
    build(tmp_path, {"a.py": ""})
    judge = scanner(tmp_path)
    assert judge.verdict(tmp_path / "a.py") is None
    build(tmp_path, {".gitignore": "a.py\n"})
    assert judge.verdict(tmp_path / "a.py") is None
    judge.reload()
    assert judge.verdict(tmp_path / "a.py") is Refusal.IGNORED


def test_refused_folders_are_never_entered(tmp_path: Path) -> None:
    build(
        tmp_path,
        {"node_modules/a/b.js": "", "src/c.js": "", ".gitignore": "dist/\n", "dist/d.js": ""},
    )
    assert [os.path.relpath(f, tmp_path) for f in scanner(tmp_path).folders()] == [".", "src"]


TREES = st.dictionaries(
    st.lists(st.sampled_from(["a", "b", ".env", "c.key", ".git", "i"]), min_size=1, max_size=3).map(
        "/".join
    ),
    st.sampled_from(["", "x" * 60]),
    max_size=10,
)


@settings(max_examples=60)
@given(TREES, st.lists(st.sampled_from(["a", "b/", "!a", "i", "/i/a", "*"]), max_size=3))
def test_the_walk_and_the_verdict_agree(
    tmp_path_factory: pytest.TempPathFactory, tree: dict[str, str], patterns: list[str]
) -> None:
    root = tmp_path_factory.mktemp("tree")
    for name, text in tree.items():
        try:
            build(root, {name: text})
        except (FileExistsError, NotADirectoryError, IsADirectoryError):
            continue
    if (root / "i").is_dir():
        (root / "i" / ".gitignore").write_text("\n".join(patterns))
    limits = ScanLimits(max_file_bytes=50)
    files = [str(f) for f in root.rglob("*") if f.is_file()]
    judge = scanner(root, limits=limits)
    assert {f.path for f in judge.walk()} == {f for f in files if judge.verdict(f) is None}
