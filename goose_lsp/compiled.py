"""Kernels: numeric functions compiled by numba, whose machine code is kept on disk.

Kept code is looked up under a digest of the whole package a kernel lives in: numba's own check looks at the
kernel's file only, not at what the kernel calls. It lies in the user's cache directory, readable and writable
by the user alone, because what lies there is run. Where that cannot be, kernels are compiled every time.
"""

import hashlib
import logging
import os
import shutil
import stat
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile
from time import time
from typing import Any

import numba
import platformdirs

log = logging.getLogger(__name__)

_UNUSED_S = 30 * 86_400  # after which the code of another state of the sources is removed


def kernel(function: Any) -> Any:
    """Compile for the types it meets; runs without the interpreter lock, divides as numpy does."""
    folder = _cache_folder(Path(sys.modules[function.__module__].__file__ or "").parent)
    numba.config.CACHE_DIR = str(folder or "")
    compiled = numba.njit(nogil=True, cache=folder is not None, error_model="numpy")(function)
    if folder is not None:
        # Code that cannot be kept, on a full disk for instance, still runs.
        compiled._cache.save_overload = _forgiving(compiled._cache.save_overload)
    return compiled


def part(function: Any) -> Any:
    """A piece of one kernel, compiled as if written where it is called: every level costs seconds."""
    return numba.njit(nogil=True, error_model="numpy", inline="always")(function)


def _forgiving(save: Callable[..., None]) -> Callable[..., None]:
    def try_to_save(*arguments: Any) -> None:
        try:
            save(*arguments)
        except OSError as error:
            log.warning("compiled code cannot be kept: %s", error)

    return try_to_save


@cache
def _cache_folder(package: Path) -> Path | None:
    """None where the folder cannot be written or cannot be trusted."""
    sources = b"".join(
        path.read_bytes() for path in sorted([*package.glob("*.py"), Path(__file__)])
    )
    digest = hashlib.sha256(sources).hexdigest()[:16]
    base = (
        os.environ.get("NUMBA_CACHE_DIR") or platformdirs.user_cache_path("goose-lsp") / "kernels"
    )
    folder = Path(base) / f"goose-lsp-{package.name}-{digest}"
    try:
        if not folder.is_dir():
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            _sweep(folder, package.name)
        with TemporaryFile(dir=folder):
            pass
        os.utime(folder)
        return folder if os.name != "posix" or _is_private(folder.stat()) else None
    except OSError:
        return None


def _sweep(new: Path, package: str) -> None:
    """Remove the code of states of the package that nobody has used for long."""
    for other in new.parent.glob(f"goose-lsp-{package}-*"):
        with suppress(OSError):
            if time() - other.stat().st_mtime > _UNUSED_S:
                shutil.rmtree(other, ignore_errors=True)


def _is_private(status: os.stat_result) -> bool:
    return status.st_uid == os.getuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
