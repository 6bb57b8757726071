"""Which files change on disk, told path by path. What this system cannot watch is told by the editor alone.

Only this module and `inotify.py` know watchdog.
"""

import os
import sys
from collections.abc import Callable, Iterable
from typing import Protocol

from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver

MAX_FOLDERS = 20_000
_NO_CHANGE = frozenset({"opened", "closed_no_write"})

Changed = Callable[[str], None]


class System(Protocol):
    """What an operating system offers; calls back on a thread of its own."""

    def add(self, folder: str) -> bool:
        """Watch a folder; whether it is new. Raises `OSError`."""

    def close(self) -> None: ...


class Watch:
    """Tells the path of every file and folder made, changed, moved or removed, refused ones too. For one thread."""

    def __init__(
        self,
        changed: Changed,
        notice: Callable[[str], None],
        system: Callable[[Changed], System] | None = None,
    ) -> None:
        self._notice = notice
        self._has_said = False
        self._system: System | None = None
        try:
            self._system = (system or _this_system)(changed)
        except OSError as error:
            self._give_up(error.strerror, 0)

    def follow(self, folders: Iterable[str]) -> bool:
        """Watch these folders, a root before what lies in it; whether any is new.

        Where no more can be watched it is said, once, and those watched already stay so.
        """
        has_new = False
        for n_watched, folder in enumerate(folders):
            if self._system is None:
                break
            try:
                if n_watched == MAX_FOLDERS:
                    self._give_up("too many folders", n_watched)
                    break
                has_new |= self._system.add(folder)
            except (FileNotFoundError, NotADirectoryError):
                continue  # gone again
            except OSError as error:
                self._give_up(error.strerror, n_watched)
                break
        return has_new

    def close(self) -> None:
        if self._system is not None:
            self._system.close()

    def _give_up(self, reason: str | None, n_watched: int) -> None:
        if self._has_said:
            return
        self._has_said = True
        self._notice(
            f"changes made outside the editor may be seen late: {n_watched} folders are watched, no more can be "
            f"({reason}); on Linux, fs.inotify.max_user_watches and max_user_instances set the limit"
        )


class WholeTrees(FileSystemEventHandler):
    """For systems that watch a folder with all that is in it at one price."""

    def __init__(self, changed: Changed, observer: BaseObserver | None = None) -> None:
        self._changed = changed
        self._observer = observer or Observer()
        self._observer.start()
        self._roots: set[str] = set()

    def add(self, folder: str) -> bool:
        """Nothing to do for what lies in a folder added before. Raises `OSError`."""
        if any(folder == root or folder.startswith(root + os.sep) for root in self._roots):
            return False
        self._observer.schedule(self, folder, recursive=True)
        self._roots.add(folder)
        return True

    def close(self) -> None:
        self._observer.stop()
        self._observer.join()

    def on_any_event(self, event: FileSystemEvent) -> None:
        # That something in a folder has changed is told of the something, too.
        is_told = event.is_directory and event.event_type == "modified"
        if is_told or event.event_type in _NO_CHANGE:
            return
        for path in (event.src_path, event.dest_path):
            if path:
                self._changed(os.fsdecode(path))


def _this_system(changed: Changed) -> System:
    if sys.platform != "linux":
        return WholeTrees(changed)
    from goose_lsp.index.inotify import InotifyFolders  # noqa: PLC0415  there is none elsewhere

    return InotifyFolders(changed)
