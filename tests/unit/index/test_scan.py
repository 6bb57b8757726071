import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goose_lsp.index.decode import read_text
from goose_lsp.index.refusal import Refusal
from goose_lsp.index.scan import ScanLimits, Scanner
from tests.fakes import data_folder
from tests.git_oracle import ENVIRON
from tests.layouts import CODE, LAYOUTS, N_SMALL, PLANTED, as_ordinary_user, write


def scanner(*roots: Path, limits: ScanLimits | None = None) -> Scanner:
    return Scanner(roots, limits, ENVIRON)


def walked(*roots: Path, limits: ScanLimits | None = None) -> list[str]:
    top = os.path.realpath(roots[0])
    return [os.path.relpath(f.path, top) for f in scanner(*roots, limits=limits).walk()]


def texts(*roots: Path) -> dict[str, str]:
    """What would be indexed: the text of every file that the walk and the reader let through."""
    top, judge = os.path.realpath(roots[0]), scanner(*roots)
    read = {
        os.path.relpath(found.path, top): read_text(
            Path(found.path), max_bytes=judge.limits.max_file_bytes
        )
        for found in judge.walk()
    }
    return {name: text for name, text in read.items() if not isinstance(text, Refusal)}


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that other users can reach, unlike pytest's own."""
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    yield folder
    for path in folder.iterdir():
        path.chmod(0o700)
    shutil.rmtree(folder)


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
    write(tmp_path, dict.fromkeys(files, "x\n") | {".gitignore": "local.py\n"})
    assert walked(tmp_path) == [".gitignore", "a.py", "b/y.py", "b/deep/x.py"]


def test_every_refusal_is_counted(tmp_path: Path) -> None:
    write(
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


@pytest.mark.parametrize(
    ("layout", "expected"),
    [
        ("symlink_self", []),
        ("symlink_pair", ["x/one.py", "z/two.py"]),
        ("symlink_dangling", []),
        ("fifo", []),
        ("deep_dirs", ["d/" * 300 + "bottom.py"]),
        ("case_pair", ["Util.py", "util.py"]),
        (
            "unicode_names",
            ["#x.py", "%41.py", "a b.py", "e\u0301.py", "\u00e9.py", "日本.py", "ünï/Ω.py"],
        ),
        ("newline_name", ["new\nline.py", "quo\"te'.py"]),
        ("not_utf8_name", [os.fsdecode(b"\xff\xfe.py")]),
        ("delete_open", ["app.py"]),
        ("env_file", ["app.py"]),
        ("huge_generated", []),
        ("notebook", ["areas.ipynb"]),
        ("disk_full", ["app.py", "lib/shapes.py"]),
        ("clock_back", ["app.py"]),
    ],
)
def test_of_every_layout_the_right_files_are_read(
    tmp_path: Path, layout: str, expected: list[str]
) -> None:
    LAYOUTS[layout](tmp_path)
    read = texts(tmp_path)
    assert list(read) == expected
    assert PLANTED not in "".join(read.values())
    judge = scanner(tmp_path)
    assert all(judge.verdict(tmp_path / name) is None for name in expected)


def test_locked_files_and_folders_are_skipped_and_the_rest_is_read(open_folder: Path) -> None:
    LAYOUTS["unreadable"](open_folder)
    with as_ordinary_user(open_folder):
        assert texts(open_folder) == {"app.py": CODE}
        judge = scanner(open_folder)
        assert [os.path.basename(found.path) for found in judge.walk()] == ["app.py", "locked.py"]
        assert judge.n_refused == {Refusal.UNREADABLE: 1}
        assert judge.verdict(open_folder / "lockeddir" / "in.py") is Refusal.UNREADABLE
        assert list(judge.folders()) == [str(open_folder)]


def test_fifty_thousand_small_files_are_walked(open_folder: Path) -> None:
    LAYOUTS["many_small"](open_folder)
    assert len(walked(open_folder)) == N_SMALL


def test_every_situation_of_the_data_set_can_be_built() -> None:
    file = data_folder() / "layouts" / "layouts.jsonl"
    if not file.is_file():
        pytest.skip(f"no data set layouts under {data_folder()} (set GOOSE_LSP_DATA)")
    lines = file.read_text("utf-8").splitlines()
    assert {json.loads(line)["id"] for line in lines} == set(LAYOUTS)


def test_nothing_planted_in_a_refused_file_is_read(tmp_path: Path) -> None:
    root, home = tmp_path / "work", tmp_path / "home"
    secret = f"KEY = '{PLANTED}'\n"
    refused = {
        Refusal.SECRET: [".env", "deploy/prod.env", "certs/server.key", ".aws2/.env~", "a/.netrc"],
        Refusal.IGNORED: [
            "local.py", "mine.py", "excluded.py", "everywhere.tmp", "out/build/x.py", "sub/own.py",
            "nested/private.py", "nested/inner.py", "node_modules/m/x.js", ".git/config", "env/lib/x.py",
            "target/x.rs",
        ],
        Refusal.BINARY: ["picture.png"],
        Refusal.GENERATED: ["uv.lock"],
        Refusal.MINIFIED: ["app.min.js"],
        Refusal.TOO_LARGE: ["huge.log"],
    }  # fmt: skip
    write(root, {name: secret for names in refused.values() for name in names})
    write(root, {"huge.log": secret * 60_000})
    read_only = {
        "binary.txt": secret + "\x01\0" * 50,
        "key.txt": "-----BEGIN " + f"PRIVATE KEY-----\n{PLANTED}\n",
        "made.py": f"# @{'generated'}\n" + secret,
        "packed.js": f"x='{PLANTED}';" * 500,
        "broken.ipynb": secret,
    }
    write(root, read_only)
    write(
        root,
        {
            ".git/HEAD": "ref: refs/heads/main\n",
            ".git/info/exclude": "excluded.py\n",
            ".gitignore": "local.py\nbuild/\nprivate.py\n",
            ".gooselspignore": "mine.py\n",
            "sub/.gitignore": "/own.py\n",
            "nested/.git/HEAD": "ref: refs/heads/main\n",
            "nested/.git/info/exclude": "inner.py\n",
            "nested/.gitignore": "!private.py\n",
            "env/pyvenv.cfg": "",
            "target/CACHEDIR.TAG": "",
            "app.py": CODE,
        },
    )
    write(home, {".config/git/ignore": "*.tmp\n"})
    write(tmp_path, {"outside/x.py": secret})
    (root / "link.py").symlink_to("../outside/x.py")
    (root / "linked").symlink_to("../outside")
    os.mkfifo(root / "pipe.py")

    judge = Scanner([root], environ=ENVIRON | {"HOME": str(home)})
    found = [Path(f.path) for f in judge.walk()]
    read = {path.name: read_text(path, judge.limits.max_file_bytes) for path in found}
    assert {name for name in read if name.endswith(".py")} == {"app.py", "made.py"}
    assert PLANTED not in "".join(read.values())
    assert all(isinstance(read[name], Refusal) for name in read_only)
    verdicts = {name: judge.verdict(root / name) for names in refused.values() for name in names}
    assert verdicts == {name: reason for reason, names in refused.items() for name in names}
    for name, reason in {
        "link.py": Refusal.OUTSIDE,
        "linked/x.py": Refusal.OUTSIDE,
        "pipe.py": Refusal.NOT_REGULAR,
    }.items():
        assert judge.verdict(root / name) is reason


def test_several_roots_and_one_inside_another_are_walked_once(tmp_path: Path) -> None:
    write(tmp_path, {"one/a.py": "", "one/in/b.py": "", "two/c.py": ""})
    assert sorted(walked(tmp_path / "one", tmp_path / "one" / "in", tmp_path / "two")) == [
        "../two/c.py",
        "a.py",
        "in/b.py",
    ]


def test_a_root_inside_a_root_is_one_folder(tmp_path: Path) -> None:
    write(tmp_path, {"in/deep/a.py": ""})
    folders = [os.path.relpath(f, tmp_path) for f in scanner(tmp_path, tmp_path / "in").folders()]
    assert folders == [".", "in", "in/deep"]


def test_an_ignored_folder_that_is_opened_itself_is_walked(tmp_path: Path) -> None:
    write(tmp_path, {".gitignore": "in/\n", "in/b.py": ""})
    assert walked(tmp_path / "in") == ["b.py"]


@pytest.mark.parametrize(
    "limits", [ScanLimits(max_files=2), ScanLimits(max_total_bytes=2)], ids=["files", "bytes"]
)
def test_of_too_much_the_top_is_kept_and_it_is_said(tmp_path: Path, limits: ScanLimits) -> None:
    write(tmp_path, {"in/c.py": "x", "a.py": "x", "b.py": "x"})
    found = scanner(tmp_path, limits=limits)
    assert [os.path.basename(f.path) for f in found.walk()] == ["a.py", "b.py"]
    assert found.n_refused[Refusal.OVER_LIMIT] == 1


def test_a_verdict_outside_the_workspace_or_on_nothing_refuses(tmp_path: Path) -> None:
    write(tmp_path, {"one/a.py": "", "two/b.py": ""})
    judge = scanner(tmp_path / "one")
    assert judge.verdict(tmp_path / "two" / "b.py") is Refusal.OUTSIDE
    assert judge.verdict(tmp_path / "one" / ".." / "two" / "b.py") is Refusal.OUTSIDE
    assert judge.verdict(tmp_path / "one" / "gone.py") is Refusal.UNREADABLE


def test_changed_ignore_files_count_after_a_reload(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": ""})
    judge = scanner(tmp_path)
    assert judge.verdict(tmp_path / "a.py") is None
    write(tmp_path, {".gitignore": "a.py\n"})
    assert judge.verdict(tmp_path / "a.py") is None
    judge.reload()
    assert judge.verdict(tmp_path / "a.py") is Refusal.IGNORED


def test_refused_folders_are_never_entered(tmp_path: Path) -> None:
    write(
        tmp_path,
        {"node_modules/a/b.js": "", "src/c.js": "", ".gitignore": "dist/\n", "dist/d.js": ""},
    )
    assert [os.path.relpath(f, tmp_path) for f in scanner(tmp_path).folders()] == [".", "src"]


def test_where_nothing_lies_the_name_is_judged(tmp_path: Path) -> None:
    write(tmp_path, {".gitignore": "local.py\nbuild/\n"})
    judge = scanner(tmp_path)
    for name, expected in {
        ".env": Refusal.SECRET,
        "local.py": Refusal.IGNORED,
        "build/new/a.py": Refusal.IGNORED,
        "a.png": Refusal.BINARY,
        "new/a.py": Refusal.UNREADABLE,
    }.items():
        assert judge.verdict(tmp_path / name) is expected


@pytest.mark.parametrize("name", ["a\0b.py", "\ud800.py", "\ud800/a.py", "x" * 300, "y/" * 5000])
def test_names_that_no_system_takes_are_unreadable(tmp_path: Path, name: str) -> None:
    assert scanner(tmp_path).verdict(f"{tmp_path}/{name}") is Refusal.UNREADABLE


def test_a_path_means_what_the_system_makes_of_it(tmp_path: Path) -> None:
    write(tmp_path, {"root/a.py": "", "outside/in/b.py": "", "outside/a.py": ""})
    (tmp_path / "root" / "link").symlink_to("../outside/in")
    judge = scanner(tmp_path / "root")
    assert judge.verdict(f"{tmp_path}/root/link/../a.py") is Refusal.OUTSIDE
    assert judge.verdict(f"{tmp_path}/root/./a.py") is None
    assert judge.verdict(tmp_path / "root") is Refusal.OUTSIDE


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    write(tmp_path, {"in/a.py": ""})
    assert scanner(tmp_path).verdict(tmp_path / "in") is Refusal.NOT_REGULAR


def test_a_folder_opened_through_a_link_is_walked_where_it_lies(tmp_path: Path) -> None:
    write(tmp_path, {"real/a.py": ""})
    (tmp_path / "link").symlink_to("real")
    judge = scanner(tmp_path / "link")
    assert [found.path for found in judge.walk()] == [str(tmp_path / "real" / "a.py")]
    assert judge.verdict(tmp_path / "link" / "a.py") is None


def test_a_root_that_is_gone_or_no_folder_holds_nothing(tmp_path: Path) -> None:
    write(tmp_path, {"file": ""})
    judge = scanner(tmp_path / "gone", tmp_path / "file")
    assert list(judge.walk()) == []
    assert judge.n_refused == {Refusal.UNREADABLE: 2}


def test_a_folder_of_a_tool_that_is_opened_itself_is_walked(tmp_path: Path) -> None:
    write(tmp_path, {".venv/pyvenv.cfg": "", ".venv/lib/a.py": ""})
    assert walked(tmp_path) == []
    assert walked(tmp_path / ".venv") == ["pyvenv.cfg", "lib/a.py"]


def test_what_vanishes_during_a_walk_is_passed_over(tmp_path: Path) -> None:
    write(tmp_path, {"a/x.py": "", "b/y.py": "", "c.py": ""})
    walk = scanner(tmp_path).walk()
    assert next(walk).path == str(tmp_path / "c.py")
    shutil.rmtree(tmp_path / "a")
    assert [found.path for found in walk] == [str(tmp_path / "b" / "y.py")]


def test_of_too_many_entries_the_first_are_looked_at(tmp_path: Path) -> None:
    write(tmp_path, {"a/x.py": "", "a/y.py": "", "b.py": "", "c/z.py": ""})
    judge = scanner(tmp_path, limits=ScanLimits(max_entries=4))
    assert len(list(judge.walk())) == 2
    assert judge.n_refused == {Refusal.OVER_LIMIT: 1}


PARTS = st.sampled_from(["a", "b", ".env", "c.key", ".git", "i", "x.png", "pyvenv.cfg", ".venv"])
PATTERNS = st.lists(st.sampled_from(["a", "b/", "!a", "i", "/i/a", "*", "!*/"]), max_size=3)
TREES = st.dictionaries(
    st.lists(PARTS, min_size=1, max_size=4).map("/".join),
    st.sampled_from(["", "x" * 60, "-> a", "-> ..", "-> i/b", "|"]),
    max_size=12,
)


def lies_in(path: Path, folder: Path) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(folder)


def plant(root: Path, name: str, text: str) -> None:
    """A file, or a link or a pipe; nothing where something of that name lies already, nor outside of the tree."""
    path = root / name
    if not lies_in(path.parent, root.parent):
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if text.startswith("-> "):
            path.symlink_to(text.removeprefix("-> "))
        elif text == "|":
            os.mkfifo(path)
        elif not os.path.lexists(path):  # a write would follow a link, or wait at a pipe
            path.write_text(text)
    except OSError:
        return


@settings(max_examples=100)
@given(TREES, PATTERNS, PATTERNS, st.booleans())
def test_the_walk_and_the_verdict_agree(
    tmp_path_factory: pytest.TempPathFactory,
    tree: dict[str, str],
    top: list[str],
    inner: list[str],
    has_second_root: bool,
) -> None:
    base = tmp_path_factory.mktemp("base").resolve()
    root, second = base / "tree", base / "tree" / "a"
    root.mkdir()
    for name, text in tree.items():
        plant(root, name, text)
    plant(root, ".gitignore", "\n".join(top))
    if (root / "i").is_dir():
        plant(root, "i/.gitignore", "\n".join(inner))
    has_second_root = has_second_root and lies_in(second, base)
    judge = scanner(
        root, *([second] if has_second_root else []), limits=ScanLimits(max_file_bytes=50)
    )
    files = [os.path.join(folder, name) for folder, _, names in os.walk(base) for name in names]
    assert {f.path for f in judge.walk()} == {f for f in files if judge.verdict(f) is None}
    folders = [os.path.join(above, name) for above, names, _ in os.walk(base) for name in names]
    real = {str(base), *(folder for folder in folders if not os.path.islink(folder))}
    assert set(judge.folders()) == {folder for folder in real if judge.is_walked(folder)}
