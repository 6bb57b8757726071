"""Which workspaces are open, and for whom. Lives on the loop thread; a workspace's work is done on its own."""

import logging
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, Protocol

from goose_lsp.ipc.uri import path_of
from goose_lsp.text.document import Document

if TYPE_CHECKING:
    from goose_lsp.daemon.workspace import Vocabulary
    from goose_lsp.index.live import LiveStore

log = logging.getLogger(__name__)

# More at once are not indexed: each is a process and a store.
MAX_WORKSPACES = 4
Folders = tuple[str, ...]


class AnyWorkspace(Protocol):
    """What is asked of a workspace here."""

    live: "LiveStore"
    progress: dict[str, Any]

    def start(self) -> None: ...
    def close(self) -> None: ...
    def document_changed(self, path: str, document: Document | None) -> None: ...
    def touch(self, paths: Sequence[str]) -> None: ...


Make = Callable[[Folders, Path, "Vocabulary"], AnyWorkspace]


class Workspaces:
    """Clients that have the same folders open share one store."""

    def __init__(self, cache_dir: Path, make: Make) -> None:
        self._cache_dir = cache_dir
        self._make = make
        self._vocabulary: Vocabulary | None = None
        self._folders: dict[int, Folders] = {}  # by session
        self._running: dict[Folders, AnyWorkspace] = {}
        self._documents: dict[int, dict[str, Document]] = {}  # by session and path

    def provide(self, vocabulary: "Vocabulary") -> None:
        """The model is known: what has been opened until now can be indexed."""
        if self._vocabulary is None:
            self._vocabulary = vocabulary
            for folders in dict.fromkeys(self._folders.values()):
                self._run(folders)

    def open(self, session: int, folders: Sequence[str]) -> None:
        """The client has these folders open, and no others."""
        kept = tuple(sorted({os.path.normpath(f) for f in folders if os.path.isabs(f)}))
        before = self._folders.get(session)
        if before == kept:
            return
        self._folders[session] = kept
        if before is not None:
            self._end_if_unused(before)
        self._run(kept)

    def document_changed(self, session: int, uri: str, document: Document | None) -> None:
        """The client's text is now that of this snapshot; None: it has closed the document."""
        path = path_of(uri)
        if path is None:
            return
        documents = self._documents.setdefault(session, {})
        if document is None:
            documents.pop(path, None)
        else:
            documents[path] = document
        if (workspace := self._of(session)) is not None:
            workspace.document_changed(path, document)

    def touch(self, session: int, paths: Sequence[str]) -> None:
        if (workspace := self._of(session)) is not None:
            workspace.touch(paths)

    def leave(self, session: int) -> None:
        """The client has gone."""
        workspace = self._of(session)
        for path in self._documents.pop(session, {}):
            if workspace is not None:
                workspace.document_changed(path, None)
        folders = self._folders.pop(session, None)
        if folders is not None:
            self._end_if_unused(folders)

    def live(self, session: int) -> "LiveStore | None":
        workspace = self._of(session)
        return workspace.live if workspace is not None else None

    def status(self) -> list[dict[str, Any]]:
        return [workspace.progress for workspace in self._running.values()]

    def close(self) -> None:
        for workspace in self._running.values():
            workspace.close()
        self._running.clear()

    def _of(self, session: int) -> AnyWorkspace | None:
        return self._running.get(self._folders.get(session, ()))

    def _run(self, folders: Folders) -> None:
        if self._vocabulary is None or not folders or folders in self._running:
            return
        if len(self._running) >= MAX_WORKSPACES:
            log.warning("more than %d workspaces are open; one is not indexed", MAX_WORKSPACES)
            return
        workspace = self._make(folders, self._cache_dir, self._vocabulary)
        self._running[folders] = workspace
        workspace.start()
        for session, documents in self._documents.items():
            if self._folders.get(session) == folders:
                for path, document in documents.items():
                    workspace.document_changed(path, document)

    def _end_if_unused(self, folders: Folders) -> None:
        if folders not in self._folders.values() and folders in self._running:
            # Not here: a builder at work takes a while to end.
            Thread(target=self._running.pop(folders).close, name="index end").start()
