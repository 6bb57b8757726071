"""Which files of a workspace may be indexed: a walk over all of them, and a verdict on one.

Both follow the same rules. Links are never followed: what they lead to inside the workspace is walked anyway, and
what lies outside was not opened. Of an over-large workspace what lies nearest to its top is indexed.
"""

import errno
import os
import stat
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from goose_lsp.index.decode import refusal_of_name
from goose_lsp.index.ignore import FolderRules, rules_of_root
from goose_lsp.index.refusal import Refusal
from goose_lsp.index.secrets import is_secret_name

# Folders of tools, never of people, also where nobody ignores them.
_TOOL_FOLDERS = frozenset({
    ".git", ".hg", ".svn", ".bzr", ".jj", "node_modules", "bower_components", "__pycache__", ".venv",
    ".tox", ".nox", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis", ".gradle", ".terraform",
    ".next", ".nuxt", ".idea", ".vs", ".cache", ".direnv", ".eggs", ".ssh", ".gnupg", ".aws", ".azure",
})  # fmt: skip
# What tools put into a folder that is theirs: a virtual environment, a cache (https://bford.info/cachedir/).
_TOOL_MARKS = ("pyvenv.cfg", "CACHEDIR.TAG")


@dataclass(frozen=True, slots=True)
class ScanLimits:
    max_file_bytes: int = 1 << 20
    max_files: int = 100_000
    max_total_bytes: int = 256 << 20
    max_entries: int = 2_000_000  # files and folders looked at, refused ones too


@dataclass(frozen=True, slots=True)
class FoundFile:
    path: str  # absolute; a name that is no UTF-8 holds surrogates, as the system's calls take it
    size: int
    mtime_ns: int
    inode: int


class Scanner:
    """The rules of one workspace. Used by one thread.

    `roots` are folders; one inside another is walked once, by its own rules.
    """

    def __init__(
        self,
        roots: Sequence[Path],
        limits: ScanLimits | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self.roots = tuple(dict.fromkeys(os.path.realpath(root) for root in roots))
        self.limits = limits or ScanLimits()
        self.n_refused: Counter[Refusal] = Counter()  # of the last walk
        self._environ = os.environ if environ is None else environ
        self._rules: dict[str, FolderRules] = {}

    def reload(self) -> None:
        """Read ignore files anew."""
        self._rules.clear()

    def walk(self) -> Iterator[FoundFile]:
        """Every file that its name, kind and size allow; those near the top of a root first."""
        self.n_refused = refused = Counter[Refusal]()
        n_files, n_bytes = 0, 0
        for folder, entries in self._listings(refused):
            for entry in entries:
                found = self._found(folder, entry)
                if isinstance(found, Refusal):
                    refused[found] += 1
                    continue
                n_files, n_bytes = n_files + 1, n_bytes + found.size
                if n_files > self.limits.max_files or n_bytes > self.limits.max_total_bytes:
                    refused[Refusal.OVER_LIMIT] += 1
                    return
                yield found

    def folders(self) -> Iterator[str]:
        """Every folder that is not refused, breadth first."""
        return (folder for folder, _ in self._listings(Counter()))

    def verdict(self, path: str | os.PathLike[str]) -> Refusal | None:
        """Why a file is left out, judged as `walk` does; None where it is not. Reads no content.

        Where nothing lies (yet), the name is judged, and `UNREADABLE` is the answer to one that may be read.
        """
        try:
            full = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
            root = self._root_of(full)
            return Refusal.OUTSIDE if root is None else self._judge_below(root, full)
        except ValueError:  # a NUL or half a character: no system call takes such a name
            return Refusal.UNREADABLE

    def is_walked(self, folder: str) -> bool:
        """Whether `walk` enters this folder, or would if it were there. `folder` is a real path."""
        if folder in self.roots:
            return True
        root = self._root_of(folder)
        return root is not None and not self._refuses_below(root, folder)

    def _root_of(self, path: str) -> str | None:
        """The innermost root that holds the path."""
        holders = [r for r in self.roots if path.startswith(r.rstrip(os.sep) + os.sep)]
        return max(holders, key=len, default=None)

    def _judge_below(self, root: str, path: str) -> Refusal | None:
        try:
            status = os.lstat(path)
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                return Refusal.UNREADABLE
            status = None
        folder = os.path.dirname(path)
        if self._refuses_below(root, folder):
            return Refusal.IGNORED
        return self._judge(folder, path, status)

    def _refuses_below(self, root: str, folder: str) -> bool:
        """Whether a folder of the root, or one above it, is refused."""
        outer = root
        for name in os.path.relpath(folder, root).split(os.sep):
            if name == os.curdir:  # the root itself
                continue
            inner = os.path.join(outer, name)
            if self._refuses_folder(outer, inner):
                return True
            outer = inner
        return False

    def _listings(self, refused: Counter[Refusal]) -> Iterator[tuple[str, list[os.DirEntry[str]]]]:
        """Every folder that is walked and what it holds apart from folders, by name; breadth first."""
        waiting, seen = deque(self.roots), set[tuple[int, int]]()
        n_left = self.limits.max_entries
        while waiting and n_left:
            folder = waiting.popleft()
            try:
                entries = _entries(folder, seen, n_left)
            except OSError:
                refused[Refusal.UNREADABLE] += 1
                continue
            n_left -= len(entries)
            inner = [entry.path for entry in entries if _is_folder(entry)]
            yield folder, [entry for entry in entries if not _is_folder(entry)]
            waiting.extend(path for path in inner if self._enters(folder, path))
        if not n_left:
            refused[Refusal.OVER_LIMIT] += 1

    def _enters(self, parent: str, folder: str) -> bool:
        # A root inside a root has rules of its own.
        return folder not in self.roots and not self._refuses_folder(parent, folder)

    def _refuses_folder(self, parent: str, folder: str) -> bool:
        return _is_of_tools(folder) or self._rules_in(parent).ignores(folder, is_folder=True)

    def _found(self, folder: str, entry: os.DirEntry[str]) -> FoundFile | Refusal:
        try:
            status = entry.stat(follow_symlinks=False)
        except OSError:
            return Refusal.UNREADABLE
        refusal = self._judge(folder, entry.path, status)
        return refusal or FoundFile(entry.path, status.st_size, status.st_mtime_ns, status.st_ino)

    def _judge(self, folder: str, path: str, status: os.stat_result | None) -> Refusal | None:
        """`status` is None where nothing lies."""
        if status is not None and stat.S_ISLNK(status.st_mode):
            return Refusal.OUTSIDE
        if status is not None and not stat.S_ISREG(status.st_mode):
            return Refusal.NOT_REGULAR
        if refusal := self._judge_name(folder, path):
            return refusal
        if status is None:
            return Refusal.UNREADABLE
        return Refusal.TOO_LARGE if status.st_size > self.limits.max_file_bytes else None

    def _judge_name(self, folder: str, path: str) -> Refusal | None:
        if is_secret_name(path):
            return Refusal.SECRET
        if self._rules_in(folder).ignores(path, is_folder=False):
            return Refusal.IGNORED
        return refusal_of_name(os.path.basename(path))

    def _rules_in(self, folder: str) -> FolderRules:
        """The rules for a folder's entries; those of the folders above it, up to its root, are known already."""
        rules = self._rules.get(folder)
        if rules is None:
            if folder in self.roots:
                rules = rules_of_root(Path(folder), self._environ)
            else:
                rules = self._rules_in(os.path.dirname(folder)).below(Path(folder))
            self._rules[folder] = rules
        return rules


def _entries(folder: str, seen: set[tuple[int, int]], max_entries: int) -> list[os.DirEntry[str]]:
    """What a folder holds; nothing where it was seen before, as through a second mount."""
    status = os.lstat(folder)
    if (key := (status.st_dev, status.st_ino)) in seen:
        return []
    seen.add(key)
    with os.scandir(folder) as entries:
        return sorted(islice(entries, max_entries), key=lambda entry: entry.name)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _is_of_tools(folder: str) -> bool:
    if os.path.basename(folder).lower() in _TOOL_FOLDERS:
        return True
    return any(os.path.lexists(os.path.join(folder, mark)) for mark in _TOOL_MARKS)
