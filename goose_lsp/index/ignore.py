"""What git ignores, and what `.gooselspignore` adds to that.

Patterns are asked for one entry of one folder at a time, from the top down, as git does: below an ignored folder
nothing is asked any more. Whether a file is tracked is not asked: what a rule names is left out.
"""

import os
import re
import subprocess
from codecs import BOM_UTF8
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from goose_lsp.index.decode import read_bytes
from goose_lsp.index.refusal import Refusal
from goose_lsp.index.wildmatch import Pattern, parse_pattern

GIT_FILE, OWN_FILE = ".gitignore", ".gooselspignore"
_MAX_BYTES = 1 << 20
_GIT_TIMEOUT_S = 5.0
# They would make git speak of another repository than the one at hand.
_MISLEADING = frozenset({"GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR"})


@dataclass(frozen=True, slots=True)
class _Line:
    expression: re.Pattern[str]
    pattern: Pattern


@dataclass(frozen=True, slots=True)
class Rules:
    """One ignore file: its patterns count from `folder`. The last that matches decides."""

    folder: str  # as bytes spell it, with a slash at its end
    lines: tuple[_Line, ...]  # the last first
    # Most entries match nothing at all: one question to all lines that ask for the name, one to the others.
    any_name: re.Pattern[str]
    any_path: re.Pattern[str]

    def verdict(self, path: str, *, is_folder: bool) -> bool | None:
        """Whether the entry is ignored; None where no pattern speaks of it."""
        inner = _spelled(path)[len(self.folder) :]
        name = inner[inner.rfind("/") + 1 :]
        if self.any_name.fullmatch(name) is None and self.any_path.fullmatch(inner) is None:
            return None
        for line in self.lines:
            asked = inner if line.pattern.is_anchored else name
            if (is_folder or not line.pattern.is_for_folders) and line.expression.fullmatch(asked):
                return line.pattern.ignores
        return None


@dataclass(frozen=True, slots=True)
class FolderRules:
    """All ignore files that speak of the entries of one folder, the nearest first.

    Only git's rules can take back what git's rules say, and only those of the same repository: a repository
    inside another is left out where either says so.
    """

    git: tuple[Rules, ...] = ()  # of the innermost repository
    own: tuple[Rules, ...] = ()
    outer: tuple[tuple[Rules, ...], ...] = ()  # of the repositories around it
    users: Rules | None = None  # the user's own for all repositories, asked last
    is_case_ignored: bool = False

    def ignores(self, path: str, *, is_folder: bool) -> bool:
        """Whether an entry of this folder is left out."""
        git = self.git if self.users is None else (*self.git, self.users)
        return any(_ignores(rules, path, is_folder) for rules in (git, self.own, *self.outer))

    def below(self, folder: Path) -> "FolderRules":
        """The rules for the entries of a folder, of whose parent these are."""
        rules = self._of_repository(folder) if _is_repository(folder) else self
        git = read_rules(folder / GIT_FILE, folder, is_case_ignored=self.is_case_ignored)
        own = read_rules(folder / OWN_FILE, folder, is_case_ignored=self.is_case_ignored)
        rules = replace(rules, git=(git, *rules.git)) if git else rules
        return replace(rules, own=(own, *rules.own)) if own else rules

    def _of_repository(self, top: Path) -> "FolderRules":
        excluded = read_rules(_exclude_file(top), top, is_case_ignored=self.is_case_ignored)
        return replace(
            self,
            git=(excluded,) if excluded else (),
            outer=(self.git, *self.outer) if self.git else self.outer,
            users=self.users and replace(self.users, folder=_prefix(top)),
        )


def _ignores(rules: Iterable[Rules], path: str, is_folder: bool) -> bool:
    for rule in rules:
        verdict = rule.verdict(path, is_folder=is_folder)
        if verdict is not None:
            return verdict
    return False


def rules_of_root(root: Path, environ: Mapping[str, str]) -> FolderRules:
    """The rules for the entries of a workspace folder, from everything above it in its repository.

    Asks git where the user's own rules lie, which takes some milliseconds.
    """
    top = next((f for f in (root, *root.parents) if _is_repository(f)), root)
    is_case_ignored = _git_config(top, environ, "--type=bool", "core.ignoreCase") == b"true"
    file = _users_file(top, environ)
    users = file and read_rules(Path(os.path.realpath(file)), top, is_case_ignored=is_case_ignored)
    rules = FolderRules(users=users or None, is_case_ignored=is_case_ignored)
    for folder in reversed((root, *root.parents)):
        if folder.is_relative_to(top):
            rules = rules.below(folder)
    return rules


def read_rules(file: Path, folder: Path, *, is_case_ignored: bool = False) -> Rules | None:
    """The patterns of an ignore file; None where there are none. As for git, a link is no ignore file.

    One too large to be read ignores everything: what it would have named must not get out.
    """
    data = read_bytes(file, _MAX_BYTES)
    if isinstance(data, Refusal):
        if data is not Refusal.TOO_LARGE:
            return None
        data = b"*"
    return parse_rules(data, folder, is_case_ignored=is_case_ignored)


def parse_rules(data: bytes, folder: Path, *, is_case_ignored: bool = False) -> Rules | None:
    """The patterns in the bytes of an ignore file; one that means nothing is skipped."""
    texts = data.removeprefix(BOM_UTF8).decode("latin-1").split("\n")
    patterns = [pattern for text in texts if (pattern := parse_pattern(text))]
    if not patterns:
        return None
    flags = re.DOTALL | (re.IGNORECASE | re.ASCII if is_case_ignored else 0)
    names, paths = (
        "|".join(f"(?:{p.expression})" for p in patterns if p.is_anchored is is_anchored)
        for is_anchored in (False, True)
    )
    return Rules(
        _prefix(folder),
        tuple(_Line(re.compile(p.expression, flags), p) for p in reversed(patterns)),
        re.compile(names or "(?!)", flags),
        re.compile(paths or "(?!)", flags),
    )


def _spelled(path: str) -> str:
    """One character a byte, since git's patterns count bytes."""
    return os.fsencode(path).decode("latin-1")


def _prefix(folder: Path) -> str:
    return _spelled(str(folder)).rstrip("/") + "/"


def _is_repository(folder: Path) -> bool:
    git = folder / ".git"
    return os.path.lexists(git / "HEAD") or os.path.isfile(git)


def _exclude_file(top: Path) -> Path:
    """`info/exclude` of the repository, which a worktree shares with its main one."""
    git = top / ".git"
    if pointer := _first_line(git):
        git = top / pointer.removeprefix("gitdir:").strip(" ")
        git /= _first_line(git / "commondir")
    return git / "info" / "exclude"


def _first_line(file: Path) -> str:
    """Empty for what is no file."""
    data = read_bytes(file, _MAX_BYTES)
    return "" if isinstance(data, Refusal) else os.fsdecode(data.split(b"\n")[0].rstrip(b"\r"))


def _users_file(top: Path, environ: Mapping[str, str]) -> Path | None:
    """The user's own ignore file, as git finds it; without git there is still its default place."""
    named = _git_config(top, environ, "--type=path", "core.excludesFile")
    if named:
        return top / os.fsdecode(named)
    home = environ.get("XDG_CONFIG_HOME") or os.path.join(environ.get("HOME", ""), ".config")
    return Path(home, "git", "ignore") if os.path.isabs(home) else None


def _git_config(top: Path, environ: Mapping[str, str], kind: str, name: str) -> bytes | None:
    """A setting of git; None where it is not set, or git is missing or does not answer."""
    try:
        asked = subprocess.run(
            ["git", "config", kind, "--get", name],
            cwd=top,
            env={key: value for key, value in environ.items() if key not in _MISLEADING},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_GIT_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return asked.stdout.removesuffix(b"\n") if asked.returncode == 0 else None
