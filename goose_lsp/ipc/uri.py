"""File URIs and paths. A path may hold any bytes; as text they are what the file system's calls take."""

import os
from urllib.parse import unquote_to_bytes, urlsplit

_SELECTION = "#goose-lsp-selection-"


def selection_of(uri: str, number: int) -> str:
    """Names a passing copy of a document in which a menu entry is accepted."""
    return f"{uri}{_SELECTION}{number}"


def origin_of(uri: str) -> str:
    """The document that this is a passing copy of, or the document itself."""
    return uri.partition(_SELECTION)[0]


def path_of(uri: str) -> str | None:
    """The path that a `file:` URI names, however much of it is escaped; None for any other URI."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        return None
    # "#" and "?" belong to the path where an editor has left them unescaped.
    rest = uri.split(":", 1)[1].removeprefix("//").removeprefix(parts.netloc)
    path = unquote_to_bytes(rest.encode("utf-8", "surrogatepass"))
    return (
        None if b"\0" in path or not path.startswith(b"/") else os.path.normpath(os.fsdecode(path))
    )
