"""Two releases of one package: an older workspace, and the edits that made the newer one of it."""

import subprocess
import sys
import zipfile
from collections.abc import Iterator
from difflib import SequenceMatcher
from pathlib import Path
from typing import NamedTuple

from goose_lsp.errors import GooseError

DEFAULT = ("flask==2.3.3", "flask==3.0.3")
# An insertion shorter than this is a detail, and one so long is a new file in all but name.
_MIN_CHARS, _MAX_CHARS = 40, 4_000


class LaterEdit(NamedTuple):
    """A place where the newer release has lines that the older one lacks."""

    path: str
    before: str  # of the newer file, up to the new lines
    written: str  # the new lines
    after: str


def fetch(requirement: str, folder: Path) -> dict[str, str]:
    """The Python files of a release, by path; fetched once. Raises `GooseError` where it cannot be had."""
    target = folder / requirement
    if not target.is_dir():
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        command += ["--only-binary", ":all:", "--dest", str(target), requirement]
        asked = subprocess.run(command, capture_output=True, text=True, check=False)
        if asked.returncode:
            raise GooseError(f"{requirement} cannot be fetched: {asked.stderr.strip()[-200:]}")
    files: dict[str, str] = {}
    for wheel in target.glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                if name.endswith(".py"):
                    files[name] = (
                        archive.read(name).decode("utf-8", "replace").replace("\r\n", "\n")
                    )
    return files


def later_edits(older: dict[str, str], newer: dict[str, str]) -> Iterator[LaterEdit]:
    """Every insertion of whole lines, in order of the paths."""
    for path in sorted(older.keys() & newer.keys()):
        old, new = older[path].splitlines(True), newer[path].splitlines(True)
        for tag, _, _, start, end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
            written = "".join(new[start:end])
            if tag in ("insert", "replace") and _MIN_CHARS <= len(written) <= _MAX_CHARS and start:
                yield LaterEdit(path, "".join(new[:start]), written, "".join(new[end:]))
