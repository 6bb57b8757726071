"""What one editor connection knows: its open documents, its options and its last answer.

Knows the daemon by the calls it makes, and nothing of how messages travel to the editor.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from typing import Protocol

from lsprotocol import types as lsp

from goose_lsp.ipc.messages import Status
from goose_lsp.ipc.uri import path_of
from goose_lsp.lsp.convert import Encoding, apply_changes, to_point
from goose_lsp.lsp.notebooks import Notebooks, Place, in_cell
from goose_lsp.lsp.options import ClientOptions
from goose_lsp.lsp.outbox import Outbox
from goose_lsp.lsp.selection import as_if_selected, select
from goose_lsp.request import Completion, Edit, Point, Reason, Trigger
from goose_lsp.text.document import Document

logger = logging.getLogger(__name__)

DocumentText = Callable[[str], tuple[int, str, str] | None]


class Daemon(Protocol):
    """What a session needs of the daemon's client. Nothing here raises because no daemon answers."""

    async def workspace(self, folders: Sequence[str]) -> None: ...
    async def files_changed(self, paths: Sequence[str]) -> None: ...
    async def open(self, uri: str, version: int, language: str, text: str) -> None: ...
    async def change(
        self, uri: str, from_version: int, version: int, edits: Sequence[Edit]
    ) -> None: ...
    async def close(self, uri: str) -> None: ...
    async def complete(  # noqa: PLR0913  the wire's request, field by field
        self,
        uri: str,
        version: int,
        point: Point,
        *,
        trigger: Trigger = Trigger.AUTOMATIC,
        deadline_ms: int = 0,
        max_new_tokens: int = 0,
        policy: str = "",
        is_isolated: bool = False,
        wants_trace: bool = False,
        tab_size: int = 0,
        insert_spaces: bool = True,
    ) -> Completion: ...
    async def accepted(self, uri: str, text: str) -> None: ...
    async def rejected(self, uri: str, text: str) -> None: ...
    async def status(self) -> Status | None: ...
    async def aclose(self) -> None: ...


@dataclass(frozen=True, slots=True)
class CursorRequest:
    """One ask of the editor, in the editor's terms."""

    uri: str
    position: lsp.Position
    options: ClientOptions
    trigger: Trigger = Trigger.AUTOMATIC
    deadline_ms: int = 0  # 0: none; it also covers starting a daemon
    selected: lsp.SelectedCompletionInfo | None = None
    formatting: lsp.FormattingOptions | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """A completion, and the document and cursor that its places belong to."""

    document: Document
    point: Point
    completion: Completion


class Session:
    """Used on the editor's event loop only."""

    def __init__(self, connect: Callable[[DocumentText], Daemon]) -> None:
        self.encoding = Encoding.UTF16
        self.options = ClientOptions()
        self.last: Completion | None = None
        self.daemon = connect(self.document_text)
        self.notebooks = Notebooks()
        self._documents: dict[str, Document] = {}
        self._joined: dict[str, Document] = {}  # notebooks as the daemon was told of them last
        self._folders: dict[str, str] = {}  # uri → path
        self._outbox = Outbox()
        self._selection_ids = count()
        self._versions = count(1)  # of joined notebooks

    def enable(self, is_enabled: bool) -> None:
        """Suggestions on or off, until the editor's settings say otherwise."""
        self.options = replace(self.options, is_enabled=is_enabled)

    def document_text(self, uri: str) -> tuple[int, str, str] | None:
        """Version, language and text of an open document, for a daemon that lost it."""
        document = self._joined.get(uri) or self._documents.get(uri)
        return (document.version, document.language, document.text) if document else None

    def set_folders(self, uris: Iterable[str]) -> None:
        """The workspace folders are these, and no others."""
        self._folders = {uri: path for uri in uris if (path := path_of(uri)) is not None}
        self._outbox.put(partial(self.daemon.workspace, list(self._folders.values())))

    def change_folders(self, added: Iterable[str], removed: Iterable[str]) -> None:
        left = self._folders.keys() - set(removed)
        self.set_folders([*(uri for uri in self._folders if uri in left), *added])

    def files_changed(self, uris: Iterable[str]) -> None:
        """The editor saw these files change on disk."""
        paths = [path for uri in uris if (path := path_of(uri)) is not None]
        self._outbox.put(partial(self.daemon.files_changed, paths))

    def open(self, document: Document) -> None:
        self._documents[document.uri] = document
        if self.notebooks.place_of(document.uri) is None:
            self._tell(document)

    def _tell(self, document: Document) -> None:
        news = (document.uri, document.version, document.language, document.text)
        self._outbox.put(partial(self.daemon.open, *news))

    def change(
        self, uri: str, version: int, changes: Sequence[lsp.TextDocumentContentChangeEvent]
    ) -> None:
        document = self._documents.get(uri)
        if document is None:
            logger.warning("a change of a document that is not open was ignored")
            return
        edits = apply_changes(document, changes, self.encoding)
        from_version, document.version = document.version, version
        if self.notebooks.place_of(uri) is None:
            self._outbox.put(partial(self.daemon.change, uri, from_version, version, edits))

    def close(self, uri: str) -> None:
        is_open = self._documents.pop(uri, None) is not None
        if is_open and self.notebooks.place_of(uri) is None:
            self._outbox.put(partial(self.daemon.close, uri))

    def close_notebook(self, uri: str, cells: Iterable[str]) -> None:
        for cell in cells:
            self._documents.pop(cell, None)
        self.notebooks.close(uri)
        if self._joined.pop(uri, None) is not None:
            self._outbox.put(partial(self.daemon.close, uri))

    def accept(self, uri: str, text: str) -> None:
        """The editor has inserted an item's text."""
        self._outbox.put(partial(self.daemon.accepted, self._known_as(uri), text))

    def reject(self, uri: str, text: str) -> None:
        """The user has turned an item down."""
        self._outbox.put(partial(self.daemon.rejected, self._known_as(uri), text))

    def _known_as(self, uri: str) -> str:
        place = self.notebooks.place_of(uri)
        return uri if place is None else place.notebook

    async def complete(self, request: CursorRequest) -> Answer:
        """The answer, remembered as the last one; empty with a reason when there is nothing to offer."""
        document = self._documents.get(request.uri)
        if document is None:
            nowhere = Document(request.uri, 0, "", "")
            return self._answer(nowhere, Point(0, 0), _empty(Point(0, 0), Reason.UNKNOWN_DOCUMENT))
        point = to_point(document, request.position, self.encoding)
        if not self.options.is_enabled:
            return self._answer(document, point, _empty(point, Reason.DISABLED))
        try:
            completion = await self._ask(document, point, request)
        except asyncio.CancelledError:
            self.last = _empty(point, Reason.CANCELLED)
            raise
        except Exception:
            logger.exception("a completion request failed")
            completion = _empty(point, Reason.INTERNAL_ERROR)
        return self._answer(document, point, completion)

    def _answer(self, document: Document, point: Point, completion: Completion) -> Answer:
        self.last = completion
        return Answer(document, point, completion)

    async def _ask(self, document: Document, point: Point, request: CursorRequest) -> Completion:
        version = document.version
        try:
            async with asyncio.timeout(request.deadline_ms / 1000 or None):
                place = self.notebooks.place_of(document.uri)
                if request.selected is not None:
                    completion = await self._ask_selected(document, request)
                elif place is not None:
                    completion = await self._ask_cell(place, point, request)
                else:
                    completion = await self._ask_daemon(document, point, request)
        except TimeoutError:
            return _empty(point, Reason.DEADLINE)
        if self._documents.get(document.uri) is not document or document.version != version:
            return _empty(point, Reason.STALE_VERSION)
        return _checked(document, point, completion)

    async def _ask_daemon(
        self, document: Document, point: Point, request: CursorRequest
    ) -> Completion:
        version, formatting = document.version, request.formatting
        await self._outbox.drained()
        return await self.daemon.complete(
            document.uri,
            version,
            point,
            trigger=request.trigger,
            deadline_ms=request.deadline_ms,
            max_new_tokens=request.options.max_new_tokens,
            policy=request.options.policy,
            is_isolated=request.options.is_isolated,
            wants_trace=request.options.wants_trace,
            tab_size=formatting.tab_size if formatting else 0,
            insert_spaces=formatting.insert_spaces if formatting else True,
        )

    async def _ask_cell(self, place: Place, point: Point, request: CursorRequest) -> Completion:
        """A cell is completed as what its notebook is: one text with the cells above and below it."""
        joined = place.joined(self._documents, point)
        document, told = joined.document, self._joined.get(place.notebook)
        if told is None or (told.language, told.lines) != (document.language, document.lines):
            document.version = next(self._versions)
            self._joined[document.uri] = document.snapshot()
            self._tell(document)
        else:
            document = told
        completion = await self._ask_daemon(document, joined.cursor, request)
        return in_cell(completion, joined, point)

    async def _ask_selected(self, document: Document, request: CursorRequest) -> Completion:
        """What follows a menu entry once it is accepted: asked on a passing copy where it already is."""
        assert request.selected is not None
        selection = select(document, request.selected, self.encoding)
        copy = as_if_selected(document, selection, next(self._selection_ids))
        self.open(copy)
        try:
            completion = await self._ask_daemon(copy, selection.cursor, request)
        finally:
            self.close(copy.uri)
        return selection.with_entry(copy, completion)

    async def aclose(self) -> None:
        await self.daemon.aclose()


def _empty(point: Point, reason: Reason) -> Completion:
    return Completion("", point, point, reason)


def _checked(document: Document, point: Point, completion: Completion) -> Completion:
    """The completion with LF line ends, or an empty one where an editor would choke on it."""
    if not completion.text:
        return completion
    start, end = completion.start, completion.end
    is_one_line = start.line == point.line == end.line
    is_inside = document.contains(start) and document.contains(end)
    if not (is_one_line and is_inside and start <= point <= end):
        logger.error("the daemon's range %s to %s does not fit the cursor %s", start, end, point)
        return _empty(point, Reason.INTERNAL_ERROR)
    text = completion.text.replace("\r\n", "\n").replace("\r", "\n")
    if text == document.line_text(start.line)[start.column : end.column]:
        return replace(completion, text="", reason=Reason.NOTHING_TO_ADD)
    return replace(completion, text=text)
