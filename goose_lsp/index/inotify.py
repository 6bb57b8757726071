"""Watching many folders on Linux with one descriptor and one thread, where watchdog's own observer takes a thread each.

Imported on Linux alone.
"""

import itertools
import os
import threading
from collections.abc import Callable

from watchdog.observers.inotify_c import (
    CallbackId,
    InotifyConstants,
    InotifyEvent,
    InotifyFD,
    Mask,
    WatchCallback,
    WatchDescriptor,
)

# A file counts once its writer closes it: a log that is always open costs nothing.
_MASK = Mask(
    InotifyConstants.IN_CREATE
    | InotifyConstants.IN_CLOSE_WRITE
    | InotifyConstants.IN_DELETE
    | InotifyConstants.IN_MOVE
    | InotifyConstants.IN_ONLYDIR
    | InotifyConstants.IN_DONT_FOLLOW
)


class InotifyFolders(WatchCallback):
    """Calls `changed(path)` on its own thread for what is made, saved, moved or removed in the folders added."""

    def __init__(self, changed: Callable[[str], None]) -> None:
        """Raises `OSError` where the system gives no descriptor."""
        self._changed = changed
        self._descriptor = InotifyFD()
        self._descriptor.daemon = True
        self._descriptor.start()
        self._lock = threading.Lock()
        self._paths: dict[WatchDescriptor, tuple[str, CallbackId]] = {}
        self._ids = map(CallbackId, itertools.count())

    def add(self, folder: str) -> bool:
        """Watch a folder, not those in it; whether it is new. Raises `OSError`: `ENOSPC` for want of watches."""
        with self._lock:
            number = next(self._ids)
            # The system knows a folder by what it is, not by its path: to one watched already it gives its old watch.
            watch = self._descriptor.add_callback(os.fsencode(folder), _MASK, self, number)
            before = self._paths.get(watch)
            self._paths[watch] = folder, number
        if before is not None:
            self._descriptor.remove_callbacks([(watch, before[1])])
        return before is None or before[0] != folder

    def close(self) -> None:
        with self._lock:
            self._paths.clear()  # or each would be told as gone
        self._descriptor.stop()
        self._descriptor.join()

    def on_event(self, event: InotifyEvent) -> None:
        folder, _ = self._paths.get(event.wd, ("", None))
        if not folder:
            return
        path = os.path.join(folder, os.fsdecode(event.name))
        if event.is_directory and event.is_moved_from:
            self._forget(path)
        self._changed(path)

    def on_watch_deleted(self, wd: WatchDescriptor) -> None:
        """The folder is gone, or we have let go of it."""
        with self._lock:
            folder, _ = self._paths.pop(wd, ("", None))
        if folder:
            self._changed(folder)

    def on_queue_overflow(self) -> None:
        """Whatever has changed was not told: look at all of it."""
        for folder, _ in list(self._paths.values()):
            if os.path.isdir(folder):
                self._changed(folder)
                return

    def _forget(self, moved: str) -> None:
        """A watch stays with its folder, which has another path now."""
        with self._lock:
            left = [
                (watch, number)
                for watch, (path, number) in self._paths.items()
                if path == moved or path.startswith(moved + os.sep)
            ]
            for watch, _ in left:
                del self._paths[watch]
        self._descriptor.remove_callbacks(left)
