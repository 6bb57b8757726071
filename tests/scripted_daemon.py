"""A daemon's client that mirrors documents and answers from a script, in the test's own loop."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from goose_lsp.ipc.messages import Status
from goose_lsp.lsp.session import DocumentText
from goose_lsp.request import Completion, Edit, Point, Reason
from goose_lsp.text.document import Document

Reply = Callable[[Document, Point], Completion]


class ScriptedDaemon:
    """Mirrors documents as the real one does, and answers what `reply` makes of them."""

    def __init__(self, document_text: DocumentText) -> None:
        self.document_text = document_text
        self.documents: dict[str, Document] = {}
        self.asked: list[dict[str, Any]] = []
        self.has_asked = asyncio.Event()
        self.folders: list[str] = []
        self.changed_files: list[str] = []
        self.verdicts: list[tuple[str, str, str]] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.reply: Reply = insert("")

    async def workspace(self, folders: Sequence[str]) -> None:
        self.folders = list(folders)

    async def files_changed(self, paths: Sequence[str]) -> None:
        self.changed_files += paths

    async def open(self, uri: str, version: int, language: str, text: str) -> None:
        self.documents[uri] = Document(uri, version, language, text)

    async def change(
        self, uri: str, from_version: int, version: int, edits: Sequence[Edit]
    ) -> None:
        held = self.documents[uri]
        assert held.version == from_version
        for edit in edits:
            held.apply(edit)
        held.version = version

    async def close(self, uri: str) -> None:
        del self.documents[uri]

    async def complete(self, uri: str, version: int, point: Point, **wishes: Any) -> Completion:
        held = self.documents[uri]
        assert held.version == version
        self.asked.append({"uri": uri, "point": point, "text": held.text, **wishes})
        self.has_asked.set()
        await self.gate.wait()
        return self.reply(held, point)

    async def accepted(self, uri: str, text: str) -> None:
        self.verdicts.append(("accepted", uri, text))

    async def rejected(self, uri: str, text: str) -> None:
        self.verdicts.append(("rejected", uri, text))

    async def status(self) -> Status | None:
        return None

    async def aclose(self) -> None:
        self.documents.clear()


def insert(text: str, reason: Reason = Reason.OK) -> Reply:
    return lambda _document, point: Completion(text, point, point, reason)
