"""Which files of a workspace may be indexed: a walk over all of them, and a verdict on one.

Both follow the same rules. Links are never followed: what they lead to inside the workspace is walked anyway, and
what lies outside was not opened. Of an over-large workspace what lies nearest to its top is indexed.
"""

import os
import stat
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from goose_lsp.index.ignore import FolderRules, rules_of_root
from goose_lsp.index.refusal import Refusal
from goose_lsp.index.secrets import is_secret_name

# Folders of tools, never of people, also where nobody ignores them.
_TOOL_FOLDERS = frozenset({
    ".git", ".hg", ".svn", ".bzr", ".jj", "node_modules", "bower_components", "__pycache__", ".venv",
    ".tox", ".nox", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis", ".gradle", ".terraform",
    ".next", ".nuxt", ".idea", ".vs", ".cache", ".direnv", ".eggs", ".ssh", ".gnupg", ".aws", ".azure",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class ScanLimits:
    max_file_bytes: int = 1 << 20
    max_files: int = 100_000
    max_total_bytes: int = 256 << 20


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
        self.n_refused: Counter[Refusal] = Counter()
        self._environ = os.environ if environ is None else environ
        self._rules: dict[str, FolderRules] = {}

    def reload(self) -> None:
        """Read ignore files anew."""
        self._rules.clear()

    def walk(self) -> Iterator[FoundFile]:
        """Every file that its name, kind and size allow; those near the top of a root first."""
        self.n_refused.clear()
        n_files, n_bytes = 0, 0
        for folder in self.folders():
            for entry in self._entries(folder):
                found = self._found(folder, entry)
                if isinstance(found, Refusal):
                    self.n_refused[found] += 1
                elif found is not None:
                    n_files, n_bytes = n_files + 1, n_bytes + found.size
                    if n_files > self.limits.max_files or n_bytes > self.limits.max_total_bytes:
                        self.n_refused[Refusal.OVER_LIMIT] += 1
                        return
                    yield found

    def folders(self) -> Iterator[str]:
        """Every folder that is not refused, breadth first."""
        waiting, seen = deque(self.roots), set[tuple[int, int]]()
        while waiting:
            folder = waiting.popleft()
            try:
                status = os.stat(folder, follow_symlinks=False)
            except OSError:
                continue
            if (key := (status.st_dev, status.st_ino)) in seen:
                continue
            seen.add(key)
            yield folder
            waiting.extend(
                entry.path for entry in self._entries(folder) if self._is_walked(folder, entry)
            )

    def verdict(self, path: str | os.PathLike[str]) -> Refusal | None:
        """Why a file is left out, judged as `walk` does; None where it is not. Reads no content."""
        full = os.path.abspath(path)
        full = os.path.join(os.path.realpath(os.path.dirname(full)), os.path.basename(full))
        root = self._root_of(full)
        if root is None:
            return Refusal.OUTSIDE
        folder = root
        for name in os.path.relpath(os.path.dirname(full), root).split(os.sep):
            if name == os.curdir:
                continue
            inner = os.path.join(folder, name)
            if inner not in self.roots and self._refuses_folder(folder, inner):
                return Refusal.IGNORED
            folder = inner
        try:
            status = os.lstat(full)
        except OSError:
            return Refusal.UNREADABLE
        return self._judge(folder, full, status)

    def _root_of(self, path: str) -> str | None:
        """The innermost root that holds the path."""
        holders = [r for r in self.roots if path.startswith(r.rstrip(os.sep) + os.sep)]
        return max(holders, key=len, default=None)

    def _entries(self, folder: str) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(folder) as entries:
                return sorted(entries, key=lambda entry: entry.name)
        except OSError:
            self.n_refused[Refusal.UNREADABLE] += 1
            return []

    def _is_walked(self, folder: str, entry: os.DirEntry[str]) -> bool:
        if not entry.is_dir(follow_symlinks=False):
            return False
        # A root inside a root has rules of its own.
        return entry.path not in self.roots and not self._refuses_folder(folder, entry.path)

    def _refuses_folder(self, parent: str, folder: str) -> bool:
        if os.path.basename(folder).lower() in _TOOL_FOLDERS:
            return True
        return self._rules_in(parent).ignores(folder, is_folder=True)

    def _found(self, folder: str, entry: os.DirEntry[str]) -> FoundFile | Refusal | None:
        """None for a folder, which is no file that could be refused."""
        try:
            if entry.is_dir(follow_symlinks=False):
                return None
            status = entry.stat(follow_symlinks=False)
        except OSError:
            return Refusal.UNREADABLE
        refusal = self._judge(folder, entry.path, status)
        return refusal or FoundFile(entry.path, status.st_size, status.st_mtime_ns, status.st_ino)

    def _judge(self, folder: str, path: str, status: os.stat_result) -> Refusal | None:
        if stat.S_ISLNK(status.st_mode):
            return Refusal.OUTSIDE
        if not stat.S_ISREG(status.st_mode):
            return Refusal.NOT_REGULAR
        if is_secret_name(Path(path)):
            return Refusal.SECRET
        if self._rules_in(folder).ignores(path, is_folder=False):
            return Refusal.IGNORED
        return Refusal.TOO_LARGE if status.st_size > self.limits.max_file_bytes else None

    def _rules_in(self, folder: str) -> FolderRules:
        """The rules for a folder's entries; folders between it and its root are looked at once."""
        rules = self._rules.get(folder)
        if rules is None:
            if folder in self.roots:
                rules = rules_of_root(Path(folder), self._environ)
            else:
                rules = self._rules_in(os.path.dirname(folder)).below(Path(folder))
            self._rules[folder] = rules
        return rules
