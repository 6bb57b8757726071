"""A place in a file as people write it, FILE:LINE:COL, and the text it points into."""

import os
import re
import stat
from pathlib import Path

from goose_lsp.errors import ConfigError
from goose_lsp.request import Point
from goose_lsp.text.document import Document


def open_place(place: str) -> tuple[Document, Point]:
    """The file as a document, and a point inside it; line and column count from 1.

    Raises `ConfigError` with one line if there is no such place in a UTF-8 text file.
    """
    file, point = _parse(place)
    document = Document(Path(os.path.abspath(file)).as_uri(), 1, "", _read_text(file))
    _check_inside(file, document, point)
    return document, point


def _parse(place: str) -> tuple[Path, Point]:
    match = re.fullmatch(r"([^\0]+):([0-9]{1,9}):([0-9]{1,9})", place)
    if match is None:
        raise ConfigError(f"{place!r} is no place; it must be FILE:LINE:COL, as in src/app.py:12:5")
    line, column = int(match[2]), int(match[3])
    if not line or not column:
        raise ConfigError(f"{place}: lines and columns count from 1")
    return Path(match[1]), Point(line - 1, column - 1)


def _read_text(file: Path) -> str:
    """The file's text, without a byte order mark."""
    content = _read_bytes(file)
    if b"\0" in content:
        raise ConfigError(f"{file} is a binary file (it holds a NUL byte); it must be UTF-8 text")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{file} is not UTF-8 (byte {error.start}); convert it to UTF-8"
        ) from None


def _read_bytes(file: Path) -> bytes:
    try:
        mode = file.stat().st_mode
        if not stat.S_ISREG(mode):  # asked before it is opened: a FIFO would wait for ever
            kind = "a folder" if stat.S_ISDIR(mode) else "not a regular file"
            raise ConfigError(f"{file} is {kind}; name a text file")
        return file.read_bytes()
    except FileNotFoundError:
        raise ConfigError(f"{file} does not exist") from None
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}") from None


def _check_inside(file: Path, document: Document, point: Point) -> None:
    if point.line >= document.n_lines:
        lines = _counted(document.n_lines, "line")
        raise ConfigError(f"{file} has {lines}; line {point.line + 1} lies outside")
    if not document.contains(point):
        n_chars = len(document.line_text(point.line))
        raise ConfigError(
            f"{file}: line {point.line + 1} has {_counted(n_chars, 'character')}; "
            f"column {point.column + 1} lies outside (1 to {n_chars + 1})"
        )


def _counted(n: int, noun: str) -> str:
    return f"{n} {noun}" + ("" if n == 1 else "s")
