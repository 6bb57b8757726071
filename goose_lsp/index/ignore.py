"""What git ignores, and what `.gooselspignore` adds to that. The only user of pathspec.

pathspec turns patterns into regular expressions; they are asked here for one entry of one folder at a time, from
the top down, as git does: below an ignored folder nothing is asked any more.
"""

import logging
import os
import re
import subprocess
from codecs import BOM_UTF8
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

log = logging.getLogger(__name__)

GIT_FILE, OWN_FILE = ".gitignore", ".gooselspignore"
_MAX_BYTES = 1 << 20
_GIT_TIMEOUT_S = 5.0


@dataclass(frozen=True, slots=True)
class Rules:
    """One ignore file: its patterns count from `folder`. The last that matches decides."""

    folder: str  # as bytes spell it, with a slash at its end
    patterns: tuple[tuple[re.Pattern[str], bool], ...]  # the last first; whether it ignores
    any_pattern: re.Pattern[str]

    def verdict(self, path: str, *, is_folder: bool) -> bool | None:
        """Whether the entry is ignored; None where no pattern speaks of it."""
        name = _spelled(path)[len(self.folder) :] + ("/" if is_folder else "")
        if self.any_pattern.match(name) is None:
            return None
        return next(ignores for pattern, ignores in self.patterns if pattern.match(name))


@dataclass(frozen=True, slots=True)
class FolderRules:
    """All ignore files that speak of the entries of one folder, the nearest first."""

    git: tuple[Rules, ...] = ()
    own: tuple[Rules, ...] = ()

    def ignores(self, path: str, *, is_folder: bool) -> bool:
        """Whether an entry of this folder is left out. Only git's rules can take back what git's rules say."""
        return _ignores(self.git, path, is_folder) or _ignores(self.own, path, is_folder)

    def below(self, folder: Path) -> "FolderRules":
        """The rules for the entries of a folder, of whose parent these are."""
        git, own = read_rules(folder / GIT_FILE, folder), read_rules(folder / OWN_FILE, folder)
        rules = replace(self, git=(git, *self.git)) if git else self
        return replace(rules, own=(own, *rules.own)) if own else rules


def _ignores(rules: tuple[Rules, ...], path: str, is_folder: bool) -> bool:
    for rule in rules:
        verdict = rule.verdict(path, is_folder=is_folder)
        if verdict is not None:
            return verdict
    return False


def rules_of_root(root: Path, environ: Mapping[str, str]) -> FolderRules:
    """The rules for the entries of a workspace folder, from everything above it in its repository."""
    top = _repository_top(root)
    rules = FolderRules()
    if top is not None:
        shared = (_exclude_file(top), _global_file(top, environ))
        found = [read_rules(file, top) for file in shared if file is not None]
        rules = FolderRules(git=tuple(rule for rule in found if rule))
    first = top or root
    folders = [first, *(first / part for part in _steps(first, root))]
    for folder in folders:
        rules = rules.below(folder)
    return rules


def read_rules(file: Path, folder: Path) -> Rules | None:
    """The patterns of an ignore file; None where there are none."""
    try:
        with file.open("rb") as stream:
            data = stream.read(_MAX_BYTES) if file.is_file() else b""
    except OSError:
        return None
    return parse_rules(data, folder)


def parse_rules(data: bytes, folder: Path) -> Rules | None:
    """The patterns in the bytes of an ignore file; one that means nothing is skipped."""
    patterns: list[tuple[re.Pattern[str], bool]] = []
    for line in data.removeprefix(BOM_UTF8).decode("latin-1").split("\n"):
        try:
            pattern = GitIgnoreSpecPattern(line.rstrip("\r"))
            if pattern.include is not None and pattern.regex is not None:
                expression = _of_entry(pattern.regex.pattern)
                patterns.append((re.compile(expression, re.DOTALL), bool(pattern.include)))
        except (ValueError, re.error):
            log.debug("%s: a pattern cannot be understood", folder)
    if not patterns:
        return None
    patterns.reverse()
    any_pattern = "|".join(f"(?:{pattern.pattern})" for pattern, _ in patterns)
    prefix = _spelled(str(folder)).rstrip("/") + "/"
    return Rules(prefix, tuple(patterns), re.compile(any_pattern, re.DOTALL))


def _spelled(path: str) -> str:
    """One character a byte, since git's patterns count bytes."""
    return os.fsencode(path).decode("latin-1")


def _of_entry(expression: str) -> str:
    """The library's expression, which also matches what lies below, for an entry itself: `name` or `name/`."""
    for ending, own in ((r"(?:(?P<ps_d>/)|$)", r"/?\Z"), (r"(?P<ps_d>/)", r"/\Z")):
        if expression.endswith(ending):
            return expression.removesuffix(ending) + own
    # "x/**" speaks of what lies in x, not of x.
    return expression + "." if expression.endswith("/") else expression


def _repository_top(folder: Path) -> Path | None:
    return next((f for f in (folder, *folder.parents) if os.path.lexists(f / ".git")), None)


def _steps(top: Path, folder: Path) -> list[Path]:
    """Folders below `top` down to `folder`, relative to top."""
    parts = folder.relative_to(top).parts
    return [Path(*parts[: i + 1]) for i in range(len(parts))]


def _exclude_file(top: Path) -> Path:
    """`info/exclude` of the repository, which a worktree shares with its main one."""
    git = top / ".git"
    try:
        if git.is_file():
            git = top / git.read_text("utf-8").removeprefix("gitdir:").strip()
            git = git / (git / "commondir").read_text("utf-8").strip()
    except (OSError, ValueError):
        pass  # no worktree, or one whose repository is gone
    return git / "info" / "exclude"


def _global_file(top: Path, environ: Mapping[str, str]) -> Path | None:
    """The user's own ignore file, as git finds it."""
    command = ["git", "config", "--type=path", "--get", "core.excludesFile"]
    try:
        asked = subprocess.run(
            command,
            cwd=top,
            env=dict(environ),
            capture_output=True,
            timeout=_GIT_TIMEOUT_S,
            check=False,
        )
        if asked.returncode == 0 and asked.stdout.strip():
            return Path(os.fsdecode(asked.stdout.rstrip(b"\n")))
    except (OSError, subprocess.SubprocessError):
        pass  # without git there is still its default place
    home = environ.get("XDG_CONFIG_HOME") or os.path.join(environ.get("HOME", ""), ".config")
    return Path(home) / "git" / "ignore"
