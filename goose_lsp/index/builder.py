"""The process that builds a workspace's index and follows the disk: `python -m goose_lsp.index.builder`.

Of its own, because it is mostly Python, which beside inference would hold the interpreter lock. Messages come in on
stdin, whose end ends it, and go out on stdout.
"""

import os
import sys
import threading
import traceback
from collections.abc import Callable, Iterable
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
from goose_lsp.index.refusal import Refusal
from goose_lsp.index.scan import Scanner
from goose_lsp.index.watch import Watch
from goose_lsp.ipc.framing import FrameDecoder, encode_frame
from goose_lsp.tokenizer import Tokenizer

# Changes that come together are looked at together: after a moment of calm, or at last after a longer one.
CALM_S, AT_LAST_S = 0.1, 1.0
# After work it rests so many times as long: a file that is written again and again costs a fifth of a core.
REST = 4.0
# More changed files than this at once are a switch of branches: all is compared, and a new base is built.
MAX_SINGLE_FILES = 200
# Files, and tokens in them, that have changed since the last base before a new one is due.
MAX_NEWS_FILES = 500
MIN_NEWS, NEWS_SHARE = 200_000, 0.1
MAX_TOTAL_BYTES = 2 << 30  # of all workspaces on disk
_TELL_S = 0.2
_NICE = 10
# How often the folders are listed again because new ones have appeared meanwhile.
_LISTINGS = 3

Send = Callable[[Message], None]
# Watches folders; whether any is new.
Follow = Callable[[Iterable[str]], bool]
# A path; None: stdin has ended.
Inbox = SimpleQueue[str | None]


class Builder:
    """One workspace from its first scan to the end of its process. Everything runs on one thread."""

    def __init__(
        self,
        start: Start,
        send: Send,
        follow: Follow = lambda _folders: False,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """Raises `ModelLoadError` where the tokenizer cannot be read."""
        tokenizer = Tokenizer.from_saved(Path(os.fsdecode(start.tokenizer)), ())
        self._send, self._follow, self._clock = send, follow, clock
        self._cache_dir = Path(os.fsdecode(start.cache_dir))
        self._scanner = Scanner([Path(os.fsdecode(root)) for root in start.roots])
        self._shelf = Shelf.of(
            self._cache_dir, self._scanner.roots, start.tokenizer_key, tokenizer.n_vocab
        )
        kept = self._shelf.newest()
        self._shelf.mark_used()
        self._generation = kept[0] if kept else 0
        self._collection = Collection(self._scanner, tokenizer, kept[1] if kept else None)
        self._news: dict[str, int] = {}  # tokens by path, of what was told since the last base
        self._told_s = self._rests_until_s = -1.0

    def build(self) -> None:
        """Bring the base up to date and publish it; from here on changes are seen."""
        self._watch()
        changed, gone = self._collection.rescan(self._tell)
        if not (changed or gone) and self._generation:
            self._publish()
        elif not self._publish_new() and self._generation:
            self._publish()
            self._tell_files(changed, gone)

    def run(self, inbox: Inbox) -> None:
        """Tell what changes until the inbox says that nobody listens any more."""
        while (batch := self.next_batch(inbox)) is not None:
            began_s = self._clock()
            self.take(batch)
            now_s = self._clock()
            self._rests_until_s = now_s + REST * (now_s - began_s)

    def next_batch(self, inbox: Inbox) -> set[str] | None:
        """Paths that changed, a burst of them together; None at the end."""
        batch = set[str]()
        path, now_s = inbox.get(), self._clock()
        end_s = max(now_s + AT_LAST_S, self._rests_until_s)
        with suppress(Empty):
            while path is not None:
                batch.add(path)
                if now_s >= end_s:
                    return batch
                path = inbox.get(timeout=max(CALM_S, self._rests_until_s - now_s))
                now_s = self._clock()
            return None
        return batch

    def take(self, batch: set[str]) -> None:
        """Look at what may have changed and tell what did."""
        if len(batch) > MAX_SINGLE_FILES or any(map(self._changes_much, batch)):
            self._watch()
            changed, gone = self._collection.rescan(self._tell)
        else:
            # A folder that went takes its files along.
            below = tuple(path + os.sep for path in batch)
            inside = [path for path in self._collection.entries if path.startswith(below)]
            changed, gone = self._collection.update([*batch, *inside])
        is_large = len(changed) + len(gone) > MAX_SINGLE_FILES
        if not (is_large and self._publish_new()):
            self._tell_files(changed, gone)
            if self._must_forget(changed, gone) or self._has_much_news():
                self._publish_new()

    def _changes_much(self, path: str) -> bool:
        if os.path.basename(path) in (GIT_FILE, OWN_FILE):
            return True
        is_folder = os.path.isdir(path) and not os.path.islink(path)
        return is_folder and self._scanner.is_walked(path)

    def _watch(self) -> None:
        """Before anything is read, so that no change falls between."""
        self._scanner.reload()
        for _ in range(_LISTINGS):
            if not self._follow(self._scanner.folders()):
                return

    def _must_forget(self, changed: set[str], gone: set[str]) -> bool:
        """Whether what is refused from now on is in the base on disk."""
        refusals = (self._collection.entries[path].record.refusal for path in changed)
        return Refusal.SECRET in refusals or any(map(os.path.lexists, gone))

    def _has_much_news(self) -> bool:
        n_tokens = sum(self._news.values())
        is_much = n_tokens > max(MIN_NEWS, NEWS_SHARE * self._n_tokens())
        return is_much or len(self._news) > MAX_NEWS_FILES

    def _tell_files(self, changed: set[str], gone: set[str]) -> None:
        for path in sorted(gone):
            self._news[path] = 0
            self._send(FileRemoved(os.fsencode(path)))
        for path in sorted(changed):
            tokens = self._collection.entries[path].tokens
            self._news[path] = len(tokens)
            self._send(FileChanged(os.fsencode(path), tokens.astype("<i4").tobytes()))

    def _publish_new(self) -> bool:
        """Build and publish a base; False where it cannot be kept, when the one before stays."""
        self._tell("building", 0, 0)
        self._news.clear()  # also where it fails: the next try is due after as much again
        try:
            self._generation = self._shelf.write(self._collection.snapshot())
        except OSError as error:
            self._send(
                Notice(
                    f"the index of the workspace cannot be kept ({error.strerror}); an older one stays in use"
                )
            )
            return False
        limit_total(self._cache_dir, self._shelf.folder, MAX_TOTAL_BYTES)
        self._publish()
        return True

    def _publish(self) -> None:
        entries = self._collection.entries.values()
        n_files = sum(not entry.record.refusal for entry in entries)
        n_read, self._collection.n_read = self._collection.n_read, 0
        refused = dict(self._collection.n_refused())
        self._send(Published(self._generation, n_files, self._n_tokens(), n_read, refused))

    def _n_tokens(self) -> int:
        return sum(len(entry.tokens) for entry in self._collection.entries.values())

    def _tell(self, phase: str, n_done: int, n_total: int) -> None:
        now_s = self._clock()
        if n_done in (0, n_total) or now_s - self._told_s >= _TELL_S:
            self._told_s = now_s
            self._send(Progress(phase, n_done, n_total))


def main() -> int:
    """Serve the process that started this one; the exit code."""
    with suppress(OSError, AttributeError):
        os.nice(_NICE)
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # nothing but frames goes out
    send = _Sender(out).send
    with suppress(BrokenPipeError):  # nobody listens any more
        try:
            _serve(sys.stdin.buffer, send)
        except BrokenPipeError:
            raise
        except Exception as error:  # noqa: BLE001  whatever it is, the parent should know
            send(Notice(f"the index builder ends: {_reason(error)}"))
            return 1
    return 0


def _reason(error: Exception) -> str:
    """In one line, and without what a file holds, which messages of errors may quote."""
    if isinstance(error, GooseError):
        return str(error)
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} at {os.path.basename(place.filename)}:{place.lineno}"


class _Sender:
    """Writes messages, from any thread; a notice once."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._lock = threading.Lock()
        self._noticed: set[str] = set()

    def send(self, message: Message) -> None:
        with self._lock:
            if isinstance(message, Notice):
                if message.text in self._noticed:
                    return
                self._noticed.add(message.text)
            self._out.write(encode_frame(encode(message)))
            self._out.flush()


def _serve(stream: BinaryIO, send: Send) -> None:
    messages = _Messages(stream)
    start = messages.next()
    if not isinstance(start, Start):
        return
    inbox: Inbox = SimpleQueue()
    if not start.keeps_watching:
        Builder(start, send).build()
        return
    # From the beginning, or what the parent tells would fill the pipe and stop the parent.
    threading.Thread(target=_receive, args=(messages, inbox), daemon=True).start()
    watch = Watch(inbox.put, lambda text: send(Notice(text)))
    try:
        builder = Builder(start, send, watch.follow)
        builder.build()
        builder.run(inbox)
    finally:
        watch.close()


def _receive(messages: "_Messages", inbox: Inbox) -> None:
    try:
        while (message := messages.next()) is not None:
            if isinstance(message, Touched):
                for path in message.paths:
                    inbox.put(os.fsdecode(path))
    finally:
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
