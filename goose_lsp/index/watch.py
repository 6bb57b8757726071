"""Which files change on disk, folder by folder, so that ignored trees cost nothing. The only user of watchdog."""

import logging
import os
from collections.abc import Callable, Iterable

from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver

log = logging.getLogger(__name__)

# More folders than this are not watched one by one; the editor's own events have to do.
MAX_FOLDERS = 20_000
_READ_ONLY = frozenset({"opened", "closed_no_write"})


class Watch(FileSystemEventHandler):
    """Calls `changed(path)` on a thread of its own for every file or folder made, changed, moved or removed."""

    def __init__(
        self,
        changed: Callable[[str], None],
        notice: Callable[[str], None],
        observer: BaseObserver | None = None,
    ) -> None:
        self._changed = changed
        self._notice = notice
        self._observer = observer or Observer()
        self._folders: set[str] = set()
        self._is_full = False

    def start(self) -> None:
        self._observer.start()

    def close(self) -> None:
        if self._observer.is_alive():
            self._observer.stop()
            self._observer.join()

    def follow(self, folders: Iterable[str]) -> None:
        """Watch these folders, those that are watched already left alone; says once when no more can be."""
        for folder in folders:
            if self._is_full:
                return
            if folder not in self._folders:
                self._add(folder)

    def _add(self, folder: str) -> None:
        try:
            if len(self._folders) >= MAX_FOLDERS:
                raise OSError(f"more than {MAX_FOLDERS} folders")  # noqa: TRY301  one way to be full
            self._observer.schedule(self, folder, recursive=False)
            self._folders.add(folder)
        except FileNotFoundError:
            pass  # gone again
        except OSError as error:
            self._is_full = True
            reason = error.strerror or str(error)
            self._notice(
                f"changes made outside the editor may be seen late: {reason} after {len(self._folders)} "
                "watched folders; a higher fs.inotify.max_user_watches helps on Linux"
            )

    def on_any_event(self, event: FileSystemEvent) -> None:
        if event.event_type in _READ_ONLY:
            return
        for path in (event.src_path, event.dest_path):
            if path:
                self._forget(event, os.fsdecode(path))
                self._changed(os.fsdecode(path))

    def _forget(self, event: FileSystemEvent, path: str) -> None:
        """A folder that went may come back as another one."""
        if event.is_directory and event.event_type in {"deleted", "moved"}:
            self._folders.discard(path)
