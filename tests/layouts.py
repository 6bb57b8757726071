"""Folders that a careless reader hangs, crashes or tells tales on: each situation by its name, built where asked.

The names are those of the data set `layouts`; what must hold is said there and by the tests that use them.
"""

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

CODE = "def area(width, height):\n    return width * height\n"
PLANTED = "planted-7c1e5f0b9d"  # in every file that must never be read; to be searched for everywhere else
N_SMALL = 50_000
_NOBODY = 65_534


def write(root: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def symlink_self(root: Path) -> None:
    (root / "a").symlink_to("a")


def symlink_pair(root: Path) -> None:
    write(root, {"x/one.py": CODE, "z/two.py": CODE})
    (root / "x" / "y").symlink_to("../z")
    (root / "z" / "w").symlink_to("../x")


def symlink_dangling(root: Path) -> None:
    (root / "gone.py").symlink_to("missing.py")


def fifo(root: Path) -> None:
    os.mkfifo(root / "pipe.py")


def unreadable(root: Path) -> None:
    """Only to others than root: see `as_ordinary_user`."""
    write(root, {"app.py": CODE, "locked.py": PLANTED, "lockeddir/in.py": PLANTED})
    (root / "locked.py").chmod(0)
    (root / "lockeddir").chmod(0)


def deep_dirs(root: Path) -> None:
    write(root, {"d/" * 300 + "bottom.py": CODE})


def many_small(root: Path) -> None:
    """One content with many names: each is a file to a reader, and made in a tenth of the time."""
    write(root, {"part0/m0.py": (CODE * 4)[:200]})
    for i in range(1, N_SMALL):
        folder = root / f"part{i // 100}"
        if i % 100 == 0:
            folder.mkdir()
        os.link(root / "part0" / "m0.py", folder / f"m{i}.py")


def case_pair(root: Path) -> None:
    write(root, {"Util.py": CODE, "util.py": CODE})


def unicode_names(root: Path) -> None:
    names = ("\u00e9.py", "e\u0301.py", "a b.py", "%41.py", "#x.py", "ünï/Ω.py", "日本.py")
    write(root, dict.fromkeys(names, CODE))


def newline_name(root: Path) -> None:
    write(root, {"new\nline.py": CODE, "quo\"te'.py": CODE})


def not_utf8_name(root: Path) -> None:
    write(root, {os.fsdecode(b"\xff\xfe.py"): CODE})


def delete_open(root: Path) -> None:
    """The test opens `app.py`, removes it and saves it again."""
    write(root, {"app.py": CODE})


def env_file(root: Path) -> None:
    secrets = (".env", ".env.local", "id_rsa", "secrets.yaml")
    write(root, {"app.py": "API_KEY = \n"} | dict.fromkeys(secrets, f"API_KEY={PLANTED}\n"))


def huge_generated(root: Path) -> None:
    head = f"# {'Generated'} by make_table.py. Do not edit.\n"
    line = "VALUES_{0} = ({0}, {0}, {0}, {0}, {0}, {0}, {0}, {0}, {0}, {0}, {0}, {0})\n"
    write(root, {"table.py": head + "".join(map(line.format, range(60_000)))})


def notebook(root: Path) -> None:
    output = {"output_type": "stream", "name": "stdout", "text": [PLANTED]}
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": ["# Areas"]},
        {"cell_type": "code", "metadata": {}, "source": [CODE], "outputs": [output]},
        {"cell_type": "code", "metadata": {}, "source": ["area(2, 3)"], "outputs": []},
    ]
    content = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    write(root, {"areas.ipynb": json.dumps(content, indent=1)})


def disk_full(root: Path) -> None:
    """The test gives the cache a disk without room."""
    write(root, {"app.py": CODE, "lib/shapes.py": CODE})


def clock_back(root: Path) -> None:
    """As the files look once the clock has stepped back: written an hour from now."""
    write(root, {"app.py": CODE})
    later = time.time() + 3600
    os.utime(root / "app.py", (later, later))


LAYOUTS: dict[str, Callable[[Path], None]] = {
    build.__name__: build
    for build in (
        symlink_self, symlink_pair, symlink_dangling, fifo, unreadable, deep_dirs, many_small, case_pair,
        unicode_names, newline_name, not_utf8_name, delete_open, env_file, huge_generated, notebook, disk_full,
        clock_back,
    )
}  # fmt: skip


@contextmanager
def as_ordinary_user(folder: Path) -> Iterator[None]:
    """Modes count for the time of the block, even where the tests run as root. The user must be able to get there."""
    if os.geteuid() != 0:
        yield
        return
    for path in (folder, *folder.rglob("*")):
        os.chown(path, _NOBODY, _NOBODY, follow_symlinks=False)
    os.seteuid(_NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
