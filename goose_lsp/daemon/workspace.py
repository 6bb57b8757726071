"""One workspace's store, kept up to date: the builder's news and the open documents, on a thread of its own.

Everybody else reads `live`, which is replaced whole and never changed. Tokenising a document releases the
interpreter lock, and so does every kernel.
"""

import logging
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import numpy as np
import numpy.typing as npt

from goose_lsp.index.decode import text_of
from goose_lsp.index.ignore import GIT_FILE, OWN_FILE
from goose_lsp.index.live import LiveStore, folders_of
from goose_lsp.index.messages import (
    FileChanged,
    FileRemoved,
    Message,
    Notice,
    Progress,
    Published,
    Start,
)
from goose_lsp.index.overlay import Overlay
from goose_lsp.index.persist import Shelf
from goose_lsp.index.process import BuilderProcess
from goose_lsp.index.refusal import Refusal
from goose_lsp.index.retokenise import Retokeniser
from goose_lsp.index.scan import Scanner
from goose_lsp.text.document import Document
from goose_lsp.tokenizer import Tokenizer

log = logging.getLogger(__name__)

MAX_DOCUMENT_CHARS = 1 << 20
_END_S = 5.0
_RULE_FILES = (os.fsencode(GIT_FILE), os.fsencode(OWN_FILE))
# What a document of these kinds teaches must not be kept.
_PRIVATE = (Refusal.IGNORED, Refusal.SECRET)
Tokens = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """A tokenizer as the builder process is given it."""

    tokenizer: Tokenizer
    file: Path
    key: str


class Workspace:
    """Lives from `start` to `close`. Documents come from the loop thread, news from the builder's."""

    def __init__(self, roots: Sequence[str], cache_dir: Path, vocabulary: Vocabulary) -> None:
        self.live = LiveStore(Overlay().view(), (), (), *folders_of(()))
        self.progress: dict[str, Any] = {"folders": list(roots), "phase": "waiting"}
        self._vocabulary = vocabulary
        self._start = Start(
            [os.fsencode(root) for root in roots],
            os.fsencode(cache_dir),
            os.fsencode(vocabulary.file),
            vocabulary.key,
        )
        self._scanner = Scanner([Path(root) for root in roots])
        self._shelf = Shelf.of(
            cache_dir, self._scanner.roots, vocabulary.key, vocabulary.tokenizer.n_vocab
        )
        self._overlay = Overlay()
        self._folders = folders_of(())
        self._documents: dict[
            str, Document | None
        ] = {}  # the newest not yet looked at; None: closed
        self._open: dict[str, tuple[str, Tokens]] = {}  # what was typed, and its tokens
        self._retokeniser = Retokeniser(vocabulary.tokenizer)
        self._refused: frozenset[str] = frozenset()
        self._on_disk: dict[
            str, Tokens | None
        ] = {}  # what has changed there since the base; None: gone
        self._inbox: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="index", daemon=True)
        self._builder: BuilderProcess | None = None

    def start(self) -> None:
        """Start the thread and the builder; without a builder open documents alone are known."""
        self._thread.start()
        try:
            self._builder = BuilderProcess(self._start, self._receive, self._builder_ended)
        except OSError as error:
            log.warning("the workspace is not indexed: %s", error.strerror)

    def close(self) -> None:
        self._inbox.put(None)
        if self._builder is not None:
            self._builder.close()
        self._thread.join(_END_S)

    def document_changed(self, path: str, document: Document | None) -> None:
        """The editor holds this snapshot, or no longer holds the file. Of many only the last is looked at."""
        self._documents[path] = document
        self._inbox.put(lambda: self._take_document(path))

    def touch(self, paths: Sequence[str]) -> None:
        if self._builder is not None:
            self._builder.touch(paths)

    def settle(self) -> None:
        """Wait until everything said so far is in `live`: for tests and measurements."""
        done = threading.Event()
        self._inbox.put(done.set)
        done.wait()

    def _run(self) -> None:
        while (act := self._inbox.get()) is not None:
            try:
                act()
            except Exception:
                # The thread must outlive any one file.
                log.exception("the index loses a change")

    def _receive(self, message: Message) -> None:
        """On the builder's thread."""
        match message:
            case Progress(phase, n_done, n_total):
                self.progress = {**self.progress, "phase": phase, "done": n_done, "total": n_total}
            case Notice(text):
                log.warning("%s", text)
                self.progress = {**self.progress, "notice": text}
            case _:
                self._inbox.put(lambda: self._take_news(message))

    def _builder_ended(self, code: int) -> None:
        if code:
            log.warning("the index builder ended with %d; the index stays as it is", code)
            self.progress = {**self.progress, "phase": "ended"}

    def _take_news(self, message: Message) -> None:
        match message:
            case Published():
                self._rebase(message)
            case FileChanged(path, tokens):
                self._reload_if_rules(path)
                self._take_file(os.fsdecode(path), np.frombuffer(tokens, "<i4").astype(np.int32))
            case FileRemoved(path):
                self._reload_if_rules(path)
                self._take_file(os.fsdecode(path), None)

    def _reload_if_rules(self, path: bytes) -> None:
        if os.path.basename(path) in _RULE_FILES:
            self._scanner.reload()

    def _rebase(self, news: Published) -> None:
        # Another builder may have replaced that generation by a newer one.
        found = self._shelf.read(news.generation)
        newest = self._shelf.newest() if found is None else None
        snapshot = newest[1] if newest else found
        if snapshot is None:
            log.warning("the index just built cannot be read; the older one stays")
            return
        self._scanner.reload()
        self._overlay = self._overlay.rebased(snapshot, self._open)
        self._folders = folders_of(self._overlay.base_paths)
        self._on_disk.clear()
        self.progress = {
            "folders": self.progress["folders"],
            "phase": "ready",
            "files": news.n_files,
            "tokens": news.n_tokens,
            "refused": news.refused,
        }
        self._publish()

    def _take_file(self, path: str, tokens: Tokens | None) -> None:
        self._on_disk[path] = tokens
        if path not in self._open:
            self._show_disk(path)
            self._publish()

    def _show_disk(self, path: str) -> None:
        """The file as it is on disk, in place of the editor's text."""
        if path not in self._on_disk:
            self._overlay.restore(path)
        elif (tokens := self._on_disk[path]) is None:
            self._overlay.remove(path)
        else:
            self._overlay.put(path, tokens)

    def _take_document(self, path: str) -> None:
        if path not in self._documents:
            return  # a newer snapshot has been taken already
        document = self._documents.pop(path)
        known = self._open.pop(path, None)
        self._refused -= {path}
        if document is None:
            self._show_disk(path)
        else:
            self._open_document(path, document, known)
        self._publish()

    def _open_document(
        self, path: str, document: Document, known: tuple[str, Tokens] | None
    ) -> None:
        refusal = self._scanner.verdict(path)
        # A file that is not on disk yet is a new one.
        text = (
            refusal
            if refusal not in (None, Refusal.UNREADABLE, Refusal.TOO_LARGE)
            else _text(path, document)
        )
        if isinstance(text, Refusal):
            self._overlay.remove(path)
            if text in _PRIVATE:
                self._refused |= {path}
        else:
            renew = self._retokeniser
            tokens = renew.updated(*known, text) if known else renew.tokens(text)
            self._overlay.put(path, tokens)
            self._open[path] = text, tokens

    def _publish(self) -> None:
        overlay = self._overlay
        paths = overlay.base_paths, tuple(overlay.delta_paths)
        self.live = LiveStore(
            overlay.view(), *paths, *self._folders, self._scanner.roots, self._refused
        )


def _text(path: str, document: Document) -> str | Refusal:
    """The document's text as the index holds texts, or why it holds none."""
    if sum(map(len, document.lines)) > MAX_DOCUMENT_CHARS:
        return Refusal.TOO_LARGE
    return text_of(os.path.basename(path), document.text.encode("utf-8", "replace"))


def vocabulary_of(tokenizer: Tokenizer, cache_dir: Path) -> Vocabulary:
    """Write the tokenizer where a builder finds it; raises `OSError`."""
    folder = cache_dir / "index"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    key = tokenizer.key()
    file = folder / f"tokenizer-{key}.json"
    if not file.exists():
        making = file.with_suffix(f".{os.getpid()}")
        tokenizer.save(making)
        making.replace(file)
    return Vocabulary(tokenizer, file, key)
