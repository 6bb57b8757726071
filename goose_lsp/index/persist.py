"""The store's base on disk: one folder a generation, plain arrays that are mapped, and a header that vouches for them.

A folder is made under another name and renamed when whole. What does not fit in any way is not used: the
caller builds anew. Nothing in it is code.
"""

import fcntl
import mmap
import os
import shutil
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import astuple, dataclass
from hashlib import blake2b
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import msgpack
import numpy as np
import numpy.typing as npt

from goose_lsp.draft.counts import Counts, successors
from goose_lsp.draft.recall import NO_TOKEN
from goose_lsp.draft.segment import Segment
from goose_lsp.draft.store import FAR, Library

FORMAT = 1  # changes with the layout of the bytes
_HEADER, _MAKING = "header.msgpack", "making-"
_MAX_HEADER_BYTES = 64 << 20
_DTYPES = {"tokens": "<i4", "order": "<i4", "starts": "<i4", "keys": "<i8", "counts": "<i4"}


@dataclass(frozen=True, slots=True)
class FileRecord:
    """A file as it was when its tokens were made."""

    path: str
    size: int
    mtime_ns: int
    inode: int
    digest: bytes  # of its text, empty where that is refused
    refusal: str = ""  # why the content is not indexed: then it is known, with no tokens, so that it is read once


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The base of a store: file f of `library` is files[f]."""

    files: tuple[FileRecord, ...]
    library: Library

    @property
    def n_tokens(self) -> int:
        return len(self.library.segment.order)


@dataclass(frozen=True, slots=True)
class Shelf:
    """Where one workspace's snapshots lie, for one tokenizer."""

    folder: Path
    tokenizer_key: str
    n_vocab: int

    @classmethod
    def of(cls, cache_dir: Path, roots: Sequence[str], tokenizer_key: str, n_vocab: int) -> "Shelf":
        name = blake2b(digest_size=12)
        for part in (tokenizer_key, *sorted(roots)):
            name.update(os.fsencode(part) + b"\0")
        return cls(cache_dir / "index" / name.hexdigest(), tokenizer_key, n_vocab)

    def generations(self) -> list[int]:
        """Those that are whole, the newest first."""
        with suppress(OSError):
            return sorted(
                (int(p.name) for p in self.folder.iterdir() if p.name.isdigit()), reverse=True
            )
        return []

    def read(self, generation: int) -> Snapshot | None:
        """A snapshot with its arrays mapped; None where it is missing, damaged or another vocabulary's."""
        try:
            return _read(self.folder / str(generation), self)
        except (OSError, ValueError, TypeError, KeyError, msgpack.UnpackException):
            return None

    def newest(self) -> tuple[int, Snapshot] | None:
        """The newest generation that is sound."""
        for generation in self.generations():
            if snapshot := self.read(generation):
                return generation, snapshot
        return None

    def n_bytes(self, generation: int) -> int:
        """On disk; raises `OSError`."""
        return sum(file.stat().st_size for file in (self.folder / str(generation)).iterdir())

    def mark_used(self) -> None:
        with suppress(OSError):
            os.utime(self.folder)

    def write(self, snapshot: Snapshot) -> int:
        """Keep a snapshot as the newest generation and drop the others; waits its turn. Raises `OSError`."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _locked(self.folder):
            generation = max(self.generations(), default=0) + 1
            for left in self.folder.glob(f"{_MAKING}*"):  # of a writer that was killed
                shutil.rmtree(left, ignore_errors=True)
            making = Path(mkdtemp(prefix=_MAKING, dir=self.folder))
            try:
                with _private_files():
                    _write(making, snapshot, self)
                making.rename(self.folder / str(generation))
            finally:
                shutil.rmtree(making, ignore_errors=True)
            for old in self.generations():
                # Whoever still maps it keeps it until then.
                if old < generation:
                    shutil.rmtree(self.folder / str(old), ignore_errors=True)
        return generation


def limit_total(cache_dir: Path, kept: Path, max_bytes: int) -> None:
    """Remove the workspaces used longest ago until all together fit; never `kept`."""
    shelves = []
    with suppress(OSError):
        for folder in (cache_dir / "index").iterdir():
            if folder.is_dir():
                size = sum(f.stat().st_size for f in folder.rglob("*") if f.is_file())
                shelves.append((folder.stat().st_mtime_ns, size, folder))
    total = sum(size for _, size, _ in shelves)
    for _, size, folder in sorted(shelves, key=lambda shelf: shelf[0]):
        if total > max_bytes and folder != kept:
            shutil.rmtree(folder, ignore_errors=True)
            total -= size


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """The command line may build what a daemon's builder builds, too."""
    handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


@contextmanager
def _private_files() -> Iterator[None]:
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


def _arrays(library: Library) -> dict[str, npt.NDArray[Any]]:
    segment, counts = library.segment, library.counts
    named = (segment.tokens, segment.order, library.starts, counts.keys, counts.counts)
    return dict(zip(_DTYPES, named, strict=True))


def _write(folder: Path, snapshot: Snapshot, shelf: Shelf) -> None:
    sums: dict[str, list[int]] = {}
    for name, array in _arrays(snapshot.library).items():
        data = np.ascontiguousarray(array, _DTYPES[name])
        sums[name] = [len(data), zlib.crc32(data.data)]
        with (folder / name).open("wb") as file:
            file.write(data.data)
            _flush(file.fileno())
    files = [
        [os.fsencode(path), size, mtime_ns, inode, digest, refusal]
        for path, size, mtime_ns, inode, digest, refusal in map(astuple, snapshot.files)
    ]
    payload = msgpack.packb([FORMAT, shelf.tokenizer_key, shelf.n_vocab, sums, files])
    with (folder / _HEADER).open("wb") as file:
        file.write(msgpack.packb([zlib.crc32(payload), payload]))
        _flush(file.fileno())


def _flush(handle: int) -> None:
    os.fsync(handle)  # a rename that outlives a power cut must not outlive the data


def _read(folder: Path, shelf: Shelf) -> Snapshot | None:
    with (folder / _HEADER).open("rb") as file:
        crc, payload = msgpack.unpackb(file.read(_MAX_HEADER_BYTES))
    if zlib.crc32(payload) != crc:
        return None
    head = msgpack.unpackb(payload)
    if head[:3] != [FORMAT, shelf.tokenizer_key, shelf.n_vocab]:
        return None
    sums, rows = head[3:]
    files = tuple(
        FileRecord(os.fsdecode(path), size, mtime_ns, inode, digest, refusal)
        for path, size, mtime_ns, inode, digest, refusal in rows
    )
    arrays = {name: _map(folder / name, dtype) for name, dtype in _DTYPES.items()}
    if any([len(a), zlib.crc32(a.data)] != sums[name] for name, a in arrays.items()):
        return None
    weights = np.full(len(files), FAR, np.uint8)
    library = Library(
        Segment(arrays["tokens"], arrays["order"]),
        arrays["starts"],
        weights,
        Counts(arrays["keys"], arrays["counts"]),
    )
    return Snapshot(files, library) if _is_sound(library, len(files), shelf.n_vocab) else None


def _map(path: Path, dtype: str) -> npt.NDArray[Any]:
    """The file's array; changes would stay in memory. Mapped so, it has the type that kernels know."""
    with path.open("rb") as file:
        if not os.fstat(file.fileno()).st_size:
            return np.zeros(0, dtype)
        return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY), dtype)


def _is_sound(library: Library, n_files: int, n_vocab: int) -> bool:
    """Nothing in it can lead a kernel out of its arrays, or to a token that there is not."""
    return _are_files(library, n_files, n_vocab) and _are_counts(library.counts, n_vocab)


def _are_files(library: Library, n_files: int, n_vocab: int) -> bool:
    tokens, order, starts = library.segment.tokens, library.segment.order, library.starts
    if len(starts) != n_files + 1 or starts[0] != 0 or starts[-1] != len(tokens):
        return False
    if np.any(np.diff(starts) < 1) or np.any(tokens[starts[1:] - 1] != NO_TOKEN):
        return False
    if len(order) != len(tokens) - n_files:
        return False
    return _lie_in(tokens, NO_TOKEN, n_vocab) and _lie_in(order, 0, len(tokens))


def _are_counts(counts: Counts, n_vocab: int) -> bool:
    is_sorted = bool(np.all(np.diff(counts.keys) > 0))
    return (
        len(counts.keys) == len(counts.counts)
        and is_sorted
        and _lie_in(successors(counts), 0, n_vocab)
    )


def _lie_in(values: npt.NDArray[Any], low: int, end: int) -> bool:
    return not len(values) or bool(low <= values.min() and values.max() < end)
