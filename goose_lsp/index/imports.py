"""Which files a document imports, as far as its lines and the paths alone can tell."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from posixpath import dirname, join, normpath, splitext

_MENTIONS = re.compile(r"\b(?:import|from|require|include|use|mod)\b")
# Python: from .package import name, other
_PYTHON_FROM = re.compile(r"\s*from\s+(\.*)([\w.]*)\s+import\s+\(?\s*([\w, ]*)")
# Python, Java, Kotlin, Scala: import package.module
_DOTTED = re.compile(r"\s*import\s+(?:static\s+)?([\w.]+)")
# JavaScript, Go: import x from "./module", require("./module"), import "host/module/package"
_QUOTED = re.compile(r"""(?:\bfrom|\brequire|\bimport)\s*\(?\s*["']([^"'\s]+)["']""")
_INCLUDE = re.compile(r'\s*#\s*include\s+"([^"]+)"')
_RUST_USE = re.compile(r"\s*(?:pub\S*\s+)?use\s+(crate|self|super)::([\w:]+)")
_RUST_MOD = re.compile(r"\s*(?:pub\S*\s+)?mod\s+(\w+)\s*;")
# Files that stand for their folder.
_FOLDER_FILES = frozenset({"__init__", "index", "mod"})
_MAX_LINE_CHARS = 400  # of a line that is an import


@dataclass(frozen=True, slots=True)
class Imports:
    """Modules as paths without suffix: `whole` from the workspace's root, `ends` from anywhere."""

    whole: frozenset[str]
    ends: frozenset[str]

    def covers(self, path: str) -> bool:
        """Whether the file is one of the modules."""
        module = _module(path)
        if module in self.whole:
            return True
        parts = module.split("/")
        return any("/".join(parts[i:]) in self.ends for i in range(len(parts)))


def find_imports(lines: Sequence[str], path: str) -> Imports:
    """What the lines of the file at `path` import; names that lead to no file do no harm."""
    whole, ends = set[str](), set[str]()
    for line in lines:
        if len(line) <= _MAX_LINE_CHARS and _MENTIONS.search(line):
            _add_relative(line, dirname(path), whole)
            _add_named(line, ends)
    return Imports(frozenset(whole), frozenset(ends))


def _add_relative(line: str, folder: str, whole: set[str]) -> None:
    """Modules named by their place beside the importing file."""
    if (found := _PYTHON_FROM.match(line)) and found[1]:
        base = join(folder, *[".."] * (len(found[1]) - 1), *found[2].split("."))
        whole.update(_resolved([base, *(join(base, name) for name in _names(found[3]))]))
    elif (found := _QUOTED.search(line)) and found[1].startswith("."):
        whole.update(_resolved([join(folder, found[1]), splitext(join(folder, found[1]))[0]]))
    elif found := _INCLUDE.match(line):
        whole.update(_resolved([splitext(join(folder, found[1]))[0]]))
    elif found := _RUST_MOD.match(line):
        whole.update(_resolved([join(folder, found[1])]))
    elif (found := _RUST_USE.match(line)) and found[1] != "crate":
        base = folder if found[1] == "self" else join(folder, "..")
        whole.update(_resolved([join(base, prefix) for prefix in _prefixes(found[2].split("::"))]))


def _add_named(line: str, ends: set[str]) -> None:
    """Modules named by their place below a folder that the line does not tell."""
    if found := _PYTHON_FROM.match(line):
        if not found[1]:
            base = found[2].replace(".", "/")
            ends.update([base, *(f"{base}/{name}" for name in _names(found[3]))])
    elif (found := _QUOTED.search(line)) and not found[1].startswith("."):
        ends.add(found[1].lstrip("@~/"))
    elif found := _INCLUDE.match(line):
        ends.add(splitext(found[1])[0])
    elif (found := _RUST_USE.match(line)) and found[1] == "crate":
        ends.update(_prefixes(found[2].split("::")))
    elif found := _DOTTED.match(line):
        ends.add(found[1].replace(".", "/"))


def _names(listed: str) -> list[str]:
    return [name.split()[0] for name in listed.split(",") if name.strip()]


def _prefixes(parts: Sequence[str]) -> list[str]:
    """a::b::Name may be the item Name of a/b as well as a module."""
    named = [part for part in parts if part]
    return ["/".join(named[: i + 1]) for i in range(len(named))]


def _resolved(paths: Iterable[str]) -> list[str]:
    """Without dots; paths that leave the workspace are no file of it."""
    return [path for path in map(normpath, paths) if path != "." and not path.startswith("..")]


def _module(path: str) -> str:
    stem = splitext(path)[0]
    folder, _, name = stem.rpartition("/")
    return folder if folder and name in _FOLDER_FILES else stem
