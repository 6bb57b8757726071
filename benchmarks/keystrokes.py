"""Recorded editing sessions, played back: the document and the cursor after every change."""

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from goose_lsp.errors import GooseError
from goose_lsp.request import Point
from goose_lsp.text.document import Document

# What one key writes: editors close brackets and indent by themselves.
_PAIRS = ("()", "[]", "{}", "<>", '""', "''", "``")
_LANGUAGES = {
    "ts": "typescript",
    "js": "javascript",
    "mjs": "javascript",
    "py": "python",
    "java": "java",
    "cpp": "cpp",
    "json": "json",
    "md": "markdown",
}


@dataclass(frozen=True, slots=True)
class Moment:
    """The state just after a change, when an editor asks for a completion."""

    document: Document
    cursor: Point
    path: str
    is_typed: bool  # the change is what one key writes


@dataclass(slots=True)
class _Player:
    texts: dict[int, str] = field(default_factory=dict)
    paths: dict[int, str] = field(default_factory=dict)
    # Document, offset of the cursor, whether typed; until the recording has said where the cursor went.
    pending: tuple[int, int, bool] | None = None

    def moments(self, events: Iterator[dict[str, Any]]) -> Iterator[Moment]:
        for event in events:
            kind, doc = event["k"], event.get("doc", -1)  # some kinds name no document
            if kind == "doc":
                self.paths[doc] = event["path"]
            elif kind == "set":
                self.texts[doc] = event["text"]
            elif kind == "chg":
                yield from self._asked()
                self._change(doc, event["e"])
            elif kind == "sel" and self.pending and self.pending[0] == doc:
                selections, (_, offset, is_typed) = event["s"], self.pending
                if len(selections) == 1 and selections[0][0] == selections[0][1]:
                    offset = to_offset(self.texts[doc], selections[0][0])
                self.pending = (doc, offset, is_typed)
                yield from self._asked()
        yield from self._asked()

    def _change(self, doc: int, edits: list[tuple[int, int, str]]) -> None:
        """Offsets are in UTF-16 units of the text before the change, ascending."""
        text = self.texts[doc]
        for start, end, new in reversed(edits):
            first, last = to_offset(text, start), to_offset(text, end)
            text = text[:first] + new + text[last:]
        self.texts[doc] = text
        if len(edits) == 1:
            is_typed = edits[0][0] == edits[0][1] and is_one_key(edits[0][2])
            n_new = 1 if is_typed and edits[0][2] in _PAIRS else len(edits[0][2])
            self.pending = (doc, first + n_new, is_typed)

    def _asked(self) -> Iterator[Moment]:
        if self.pending is None:
            return
        doc, offset, is_typed = self.pending
        self.pending = None
        path = self.paths.get(doc, "")
        language = _LANGUAGES.get(path.rpartition(".")[2], "plaintext")
        document = Document(f"file:///{doc}/{path}", 1, language, self.texts[doc])
        before = Document("", 1, "", self.texts[doc][:offset])
        cursor = Point(before.n_lines - 1, len(before.lines[-1]))
        yield Moment(document, document.clamp(cursor), path, is_typed)


def sessions(data: Path) -> list[Path]:
    """The recordings; raises `GooseError` where there are none."""
    files = sorted((data / "keystrokes").glob("*.jsonl.gz"))
    if not files:
        raise GooseError(f"no data set keystrokes under {data}; name its folder with --data")
    return files


def play(session: Path) -> Iterator[Moment]:
    with gzip.open(session, "rt", encoding="utf-8") as stream:
        yield from _Player().moments(json.loads(line) for line in stream)


def is_one_key(text: str) -> bool:
    return len(text) == 1 or text in _PAIRS or (text[:1] in "\r\n" and not text.strip())


def to_offset(text: str, units: int) -> int:
    """From UTF-16 units to code points."""
    if text.isascii():
        return units
    return len(text.encode("utf-16-le")[: 2 * units].decode("utf-16-le", "replace"))
