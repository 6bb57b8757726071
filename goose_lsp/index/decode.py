"""From a file's bytes to text, or to the reason why it is none worth indexing."""

import codecs
import os
import re
import stat
from collections.abc import Callable
from pathlib import Path

from goose_lsp.index.refusal import Refusal
from goose_lsp.index.secrets import PRIVATE_KEY

# How often a file that is being written is read again.
_TRIES = 3
# Where a generator says so, if it does.
_HEAD_CHARS = 1_000
_GENERATED = re.compile(
    r"@generated|\bcode generated\b.{0,80}\bdo not edit\b|\bauto-?generated\b.{0,80}\bdo not (edit|modify)\b"
    r"|\bdo not edit\b.{0,80}\bgenerated\b",
    re.IGNORECASE | re.DOTALL,
)
# Longer lines on average, or one so long, are written by programs.
_MEAN_LINE_CHARS, _LINE_CHARS = 200, 5_000
_MIN_CHARS = 2_000  # below this no average says anything
_LOCK_FILES = frozenset({
    "package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "poetry.lock",
    "pdm.lock", "uv.lock", "pipfile.lock", "cargo.lock", "composer.lock", "gemfile.lock", "go.sum",
    "flake.lock", "bun.lock", "deno.lock", "packages.lock.json", "mix.lock", "pubspec.lock",
})  # fmt: skip
_MINIFIED_NAME = re.compile(r"[.-]min\.(js|css|mjs|cjs|html)$|\.(js|css|mjs)\.map$|\.bundle\.js$")
# Latin-1 text holds no control characters but these, and of these few are ever used.
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_MAX_CONTROL_SHARE = 0.01


def read_text(path: Path, max_bytes: int) -> str | Refusal:
    """The file's text with LF line ends and without byte order mark; never waits and never raises.

    A file that changes while it is read is read again; what keeps changing is left for later.
    """
    try:
        data = _read_bytes(path, max_bytes)
    except OSError:
        return Refusal.UNREADABLE
    return data if isinstance(data, Refusal) else text_of(path.name, data)


def text_of(name: str, data: bytes) -> str | Refusal:
    """The text of a file with this name and content."""
    text = _decoded(data)
    if text is None:
        return Refusal.BINARY
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    for refusal, applies in _RULES:
        if applies(name.lower(), text):
            return refusal
    return text


def _read_bytes(path: Path, max_bytes: int) -> bytes | Refusal:
    # A pipe without a writer would wait for ever, a link may lead anywhere.
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(handle, "rb", buffering=0) as file:
        for _ in range(_TRIES):
            before = os.fstat(handle)
            if not stat.S_ISREG(before.st_mode):
                return Refusal.NOT_REGULAR
            if before.st_size > max_bytes:
                return Refusal.TOO_LARGE
            file.seek(0)
            data = _all_of(file.read, max_bytes + 1)
            after = os.fstat(handle)
            if _stamp(before) == _stamp(after) and len(data) == after.st_size:
                return data
    return Refusal.UNREADABLE


def _all_of(read: Callable[[int], bytes | None], max_bytes: int) -> bytes:
    pieces: list[bytes] = []
    left = max_bytes
    while left > 0 and (piece := read(left)):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


def _stamp(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_size, status.st_mtime_ns, status.st_ino


def _decoded(data: bytes) -> str | None:
    """None for what is no text."""
    for mark, encoding in (
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
        (codecs.BOM_UTF32_BE, "utf-32-be"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
    ):
        if data.startswith(mark):
            return _strictly(data[len(mark) :], encoding)
    if b"\0" in data:
        return _unmarked_utf16(data)
    text = _strictly(data, "utf-8")
    if text is None:
        text = data.decode("latin-1")
    return None if len(_CONTROLS.findall(text)) > _MAX_CONTROL_SHARE * len(text) else text


def _strictly(data: bytes, encoding: str) -> str | None:
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


def _unmarked_utf16(data: bytes) -> str | None:
    """Mostly Latin text in UTF-16 has a NUL in nearly every other byte, all on one side."""
    if len(data) % 2:
        return None
    for encoding, high, low in (("utf-16-le", 1, 0), ("utf-16-be", 0, 1)):
        n_high, n_low = data[high::2].count(0), data[low::2].count(0)
        if n_low == 0 and n_high * 2 >= 0.7 * len(data):
            return _strictly(data, encoding)
    return None


def _is_secret(_name: str, text: str) -> bool:
    return PRIVATE_KEY in text and "-----BEGIN" in text


def _is_generated(name: str, text: str) -> bool:
    return name in _LOCK_FILES or _GENERATED.search(text[:_HEAD_CHARS]) is not None


def _is_minified(name: str, text: str) -> bool:
    if _MINIFIED_NAME.search(name):
        return True
    if len(text) < _MIN_CHARS:
        return False
    n_lines = text.count("\n") + 1
    if len(text) > _MEAN_LINE_CHARS * n_lines:
        return True
    return len(text) > _LINE_CHARS and max(map(len, text.split("\n"))) > _LINE_CHARS


# In this order; each with the name in lower case and the text.
_RULES: tuple[tuple[Refusal, Callable[[str, str], bool]], ...] = (
    (Refusal.SECRET, _is_secret),
    (Refusal.GENERATED, _is_generated),
    (Refusal.MINIFIED, _is_minified),
)
