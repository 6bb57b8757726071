"""The process that builds a workspace's index and follows the disk: `python -m goose_lsp.index.builder`.

Of its own, because it is mostly Python, which beside inference would hold the interpreter lock. Messages come in on
stdin, whose end ends it, and go out on stdout.
"""

import logging
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from time import monotonic
from typing import BinaryIO

from goose_lsp.errors import GooseError
from goose_lsp.index.collection import Collection
from goose_lsp.index.ignore import GIT_FILE, OWN_FILE
from goose_lsp.index.messages import (
    FileChanged,
    FileRemoved,
    Message,
    Notice,
    Progress,
    Published,
    Start,
    Touched,
    decode,
    encode,
)
from goose_lsp.index.persist import Shelf, limit_total
from goose_lsp.index.scan import Scanner
from goose_lsp.index.watch import Watch
from goose_lsp.ipc.framing import FrameDecoder, encode_frame
from goose_lsp.tokenizer import Tokenizer

log = logging.getLogger(__name__)

# Changes that come together are looked at together: after a moment of calm, or at last after a longer one.
CALM_S, AT_LAST_S = 0.1, 1.0
# More changed files than this at once are a switch of branches: all is compared, and a new base is built.
MAX_SINGLE_FILES = 200
# Tokens told one file at a time before a new base is due.
MIN_NEWS, NEWS_SHARE = 200_000, 0.1
MAX_TOTAL_BYTES = 2 << 30  # of all workspaces on disk
_TELL_S = 0.2
_NICE = 10

Send = Callable[[Message], None]
# A path; None: stdin has ended.
Inbox = SimpleQueue[str | None]


class Builder:
    """One workspace from its first scan to the end of its process. Everything runs on one thread."""

    def __init__(self, start: Start, send: Send, clock: Callable[[], float] = monotonic) -> None:
        tokenizer = Tokenizer.from_saved(Path(os.fsdecode(start.tokenizer)), ())
        roots = [os.fsdecode(root) for root in start.roots]
        self._send = send
        self._clock = clock
        self._cache_dir = Path(os.fsdecode(start.cache_dir))
        self._scanner = Scanner([Path(root) for root in roots])
        self._shelf = Shelf.of(
            self._cache_dir, self._scanner.roots, start.tokenizer_key, tokenizer.n_vocab
        )
        kept = self._shelf.newest()
        self._generation = kept[0] if kept else 0
        self._collection = Collection(self._scanner, tokenizer, kept[1] if kept else None)
        self._n_news = 0  # tokens told since the last base
        self._told_s = -1.0
        self._noticed: set[str] = set()

    def build(self) -> None:
        """Bring the base up to date and publish it."""
        changed, gone = self._collection.rescan(self._tell)
        if changed or gone or not self._generation:
            self._build_base()
        self._publish()

    def folders(self) -> list[str]:
        return list(self._scanner.folders())

    def follow(self, inbox: Inbox, watch_folders: Callable[[list[str]], None]) -> None:
        """Tell what changes until the inbox says that nobody listens any more."""
        while (batch := self.next_batch(inbox)) is not None:
            self.take(batch, watch_folders)

    def take(self, batch: set[str], watch_folders: Callable[[list[str]], None]) -> None:
        """Look at what may have changed and tell what did."""
        is_large = len(batch) > MAX_SINGLE_FILES or any(map(_changes_rules, batch))
        if is_large or any(os.path.isdir(path) for path in batch):
            self._compare_all()
            watch_folders(self.folders())
        else:
            # A folder that went takes its files along.
            below = tuple(path + os.sep for path in batch)
            inside = [path for path in self._collection.entries if path.startswith(below)]
            self._tell_files(*self._collection.update([*batch, *inside]))
        if self._n_news > max(MIN_NEWS, NEWS_SHARE * self._n_tokens()):
            self._build_base()
            self._publish()

    def notice(self, text: str) -> None:
        if text not in self._noticed:
            self._noticed.add(text)
            self._send(Notice(text))

    def _compare_all(self) -> None:
        changed, gone = self._collection.rescan(self._tell)
        if len(changed) + len(gone) > MAX_SINGLE_FILES:
            self._build_base()
            self._publish()
        else:
            self._tell_files(changed, gone)

    def _tell_files(self, changed: set[str], gone: set[str]) -> None:
        for path in sorted(gone):
            self._send(FileRemoved(os.fsencode(path)))
        for path in sorted(changed):
            tokens = self._collection.entries[path].tokens
            self._n_news += len(tokens)
            self._send(FileChanged(os.fsencode(path), tokens.astype("<i4").tobytes()))

    def _build_base(self) -> None:
        self._tell("building", 0, 0)
        try:
            self._generation = self._shelf.write(self._collection.snapshot())
            limit_total(self._cache_dir, self._shelf.folder, MAX_TOTAL_BYTES)
        except OSError as error:
            self.notice(
                f"the index of the workspace cannot be kept ({error.strerror}); it is not used"
            )
            return
        self._n_news = 0

    def _publish(self) -> None:
        if self._generation:
            entries = self._collection.entries.values()
            refused = {str(reason): n for reason, n in self._scanner.n_refused.items()}
            n_files = sum(bool(entry.record.digest) for entry in entries)
            n_read, self._collection.n_read = self._collection.n_read, 0
            self._send(Published(self._generation, n_files, self._n_tokens(), n_read, refused))

    def _n_tokens(self) -> int:
        return sum(len(entry.tokens) for entry in self._collection.entries.values())

    def _tell(self, phase: str, n_done: int, n_total: int) -> None:
        now_s = self._clock()
        if n_done in (0, n_total) or now_s - self._told_s >= _TELL_S:
            self._told_s = now_s
            self._send(Progress(phase, n_done, n_total))

    def next_batch(self, inbox: Inbox) -> set[str] | None:
        """Paths that changed, a burst of them together; None at the end."""
        first = inbox.get()
        if first is None:
            return None
        batch, end_s = {first}, self._clock() + AT_LAST_S
        with suppress(Empty):
            while self._clock() < end_s:
                path = inbox.get(timeout=CALM_S)
                if path is None:
                    return None
                batch.add(path)
        return batch


def _changes_rules(path: str) -> bool:
    return os.path.basename(path) in (GIT_FILE, OWN_FILE)


def main() -> int:
    """Serve the process that started this one; the exit code."""
    with suppress(OSError, AttributeError):
        os.nice(_NICE)
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # nothing but frames goes out
    lock = threading.Lock()

    def send(message: Message) -> None:
        with lock:  # the watch's thread tells of its limits itself
            out.write(encode_frame(encode(message)))
            out.flush()

    try:
        return _serve(sys.stdin.buffer, send)
    except BrokenPipeError:
        return 0  # nobody listens any more
    except GooseError as error:
        log.warning("%s", error)
        return 1


def _serve(stream: BinaryIO, send: Send) -> int:
    messages = _Messages(stream)
    start = messages.next()
    if not isinstance(start, Start):
        return 0
    builder = Builder(start, send)
    inbox: Inbox = SimpleQueue()
    watch = Watch(inbox.put, builder.notice)
    try:
        if start.keeps_watching:
            # Watched before it is read, so that no change falls between.
            watch.start()
            watch.follow(builder.folders())
        builder.build()
        if start.keeps_watching:
            threading.Thread(target=_receive, args=(messages, inbox), daemon=True).start()
            builder.follow(inbox, watch.follow)
    finally:
        watch.close()
    return 0


def _receive(messages: "_Messages", inbox: Inbox) -> None:
    while (message := messages.next()) is not None:
        if isinstance(message, Touched):
            for path in message.paths:
                inbox.put(os.fsdecode(path))
    inbox.put(None)


class _Messages:
    """What comes in on a stream."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._decoder = FrameDecoder()
        self._waiting: list[bytes] = []

    def next(self) -> Message | None:
        """The next message; None at the end."""
        while not self._waiting:
            data = os.read(self._stream.fileno(), 1 << 16)
            if not data:
                return None
            self._waiting = list(self._decoder.feed(data))[::-1]
        return decode(self._waiting.pop())


if __name__ == "__main__":
    sys.exit(main())
