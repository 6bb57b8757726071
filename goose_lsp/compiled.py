"""Kernels: numeric functions compiled by numba, whose machine code is kept on disk.

Kept code is looked up under a digest of the whole package a kernel lives in: numba's own check looks at the
kernel's file only, not at what the kernel calls. It lies in the user's cache directory, readable and writable
by the user alone, because what lies there is run.
"""

import hashlib
import os
import stat
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numba
import platformdirs


def kernel(function: Any) -> Any:
    """Compile for the types it meets; runs without the interpreter lock, divides as numpy does."""
    folder = _cache_folder(Path(sys.modules[function.__module__].__file__ or "").parent)
    numba.config.CACHE_DIR = str(folder or "")
    return numba.njit(nogil=True, cache=folder is not None, error_model="numpy")(function)


def part(function: Any) -> Any:
    """A piece of one kernel, compiled as if written where it is called: every level costs seconds."""
    return numba.njit(nogil=True, error_model="numpy", inline="always")(function)


@cache
def _cache_folder(package: Path) -> Path | None:
    """None where the folder cannot be made or cannot be trusted."""
    sources = b"".join(
        path.read_bytes() for path in sorted([*package.glob("*.py"), Path(__file__)])
    )
    digest = hashlib.sha256(sources).hexdigest()[:16]
    base = (
        os.environ.get("NUMBA_CACHE_DIR") or platformdirs.user_cache_path("goose-lsp") / "kernels"
    )
    folder = Path(base) / f"goose-lsp-{package.name}-{digest}"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.stat()
    except OSError:
        return None
    if os.name == "posix" and not _is_private(status):
        return None
    return folder


def _is_private(status: os.stat_result) -> bool:
    return status.st_uid == os.getuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
