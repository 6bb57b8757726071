"""The files of a workspace with their tokens, brought up to date with the disk. No processes and no messages here."""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from goose_lsp.draft.counts import build_counts
from goose_lsp.draft.recall import NO_TOKEN
from goose_lsp.draft.segment import build_segment
from goose_lsp.draft.store import FAR, Library
from goose_lsp.index.decode import read_text
from goose_lsp.index.persist import FileRecord, Snapshot
from goose_lsp.index.refusal import Refusal
from goose_lsp.index.scan import FoundFile, Scanner
from goose_lsp.tokenizer import Tokenizer

# Files tokenised together: enough to keep the tokenizer busy, few enough to tell of progress.
BATCH_FILES = 64
Tokens = npt.NDArray[np.int32]
Tell = Callable[[str, int, int], None]  # phase, done, of how many


class Entry(NamedTuple):
    record: FileRecord
    tokens: Tokens


class Collection:
    """Used by one thread. `n_read` counts files whose content was looked at since the start."""

    def __init__(
        self, scanner: Scanner, tokenizer: Tokenizer, kept: Snapshot | None = None
    ) -> None:
        self.scanner = scanner
        self.entries: dict[str, Entry] = {}
        self.n_read = 0
        self._tokenizer = tokenizer
        if kept is not None:
            tokens, starts = kept.library.segment.tokens, kept.library.starts
            for i, record in enumerate(kept.files):
                self.entries[record.path] = Entry(record, tokens[starts[i] : starts[i + 1] - 1])

    def rescan(self, tell: Tell = lambda *_: None) -> tuple[set[str], set[str]]:
        """Compare everything with the disk; returns the paths that changed and those that are gone."""
        self.scanner.reload()
        tell("scanning", 0, 0)
        found = {file.path: file for file in self.scanner.walk()}
        gone = self.entries.keys() - found.keys()
        for path in gone:
            del self.entries[path]
        stale = [file for file in found.values() if not self._is_same(file)]
        changed: set[str] = set()
        for n_done, path in enumerate(self._read(stale), start=1):
            changed.add(path)
            tell("reading", n_done, len(stale))
        return changed, gone

    def update(self, paths: Iterable[str]) -> tuple[set[str], set[str]]:
        """Compare some files with the disk; returns the paths that changed and those that are gone.

        Paths may lead through links; those returned do not.
        """
        stale, gone = [], set[str]()
        for path in dict.fromkeys(map(_without_links, paths)):
            file = None if self.scanner.verdict(path) else _found(path)
            if file is None:
                gone.add(path)
            elif not self._is_same(file):
                stale.append(file)
        gone &= self.entries.keys()
        for path in gone:
            del self.entries[path]
        return set(self._read(stale)), gone

    def n_refused(self) -> Counter[str]:
        """How many files are left out, by reason: as of the last scan by name, as of now by content."""
        by_content = Counter(entry.record.refusal for entry in self.entries.values())
        del by_content[""]
        return (
            Counter({str(reason): n for reason, n in self.scanner.n_refused.items()}) + by_content
        )

    def snapshot(self) -> Snapshot:
        """All files in order of their paths, as a store's base."""
        entries = [self.entries[path] for path in sorted(self.entries)]
        end = np.array([NO_TOKEN], np.int32)
        pieces = [piece for entry in entries for piece in (entry.tokens, end)]
        tokens = np.concatenate(pieces) if pieces else np.zeros(0, np.int32)
        starts = np.cumsum([0, *(len(e.tokens) + 1 for e in entries)]).astype(np.int32)
        library = Library(
            build_segment(tokens),
            starts,
            np.full(len(entries), FAR, np.uint8),
            build_counts(tokens),
        )
        return Snapshot(tuple(entry.record for entry in entries), library)

    def _is_same(self, file: FoundFile) -> bool:
        """Not by time alone, which may stand still or run backwards."""
        entry = self.entries.get(file.path)
        if entry is None:
            return False
        record = entry.record
        stamp = (record.size, record.mtime_ns, record.inode)
        return stamp == (file.size, file.mtime_ns, file.inode)

    def _read(self, files: Iterable[FoundFile]) -> Iterator[str]:
        """Take in what the files hold now; yields the paths whose tokens are others than before."""
        waiting = iter(files)
        while batch := list(islice(waiting, BATCH_FILES)):
            fresh: list[tuple[FileRecord, str]] = []
            for file in batch:
                text = read_text(Path(file.path), self.scanner.limits.max_file_bytes)
                self.n_read += 1
                if text is Refusal.UNREADABLE:
                    continue  # what is known of it stays until it rests
                record = _record(file, text)
                known = self.entries.get(file.path)
                if known is not None and known.record.digest == record.digest:
                    self.entries[file.path] = Entry(record, known.tokens)
                else:
                    fresh.append((record, "" if isinstance(text, Refusal) else text))
            encoded = self._tokenizer.encode_batch([text for _, text in fresh])
            for (record, _), tokens in zip(fresh, encoded, strict=True):
                self.entries[record.path] = Entry(record, tokens)
                yield record.path


def _record(file: FoundFile, text: str | Refusal) -> FileRecord:
    known = (file.path, file.size, file.mtime_ns, file.inode)
    if isinstance(text, Refusal):
        return FileRecord(*known, b"", str(text))
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    return FileRecord(*known, digest)


def _without_links(path: str) -> str:
    """The path that a scan would give the file; a name that no system call takes stays."""
    folder, name = os.path.split(path)
    try:
        return os.path.join(os.path.realpath(folder), name)
    except ValueError:
        return path


def _found(path: str) -> FoundFile | None:
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return FoundFile(path, status.st_size, status.st_mtime_ns, status.st_ino)
