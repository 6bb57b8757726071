from pathlib import Path
from queue import SimpleQueue
from types import SimpleNamespace
from typing import Any

from watchdog.events import DirDeletedEvent, FileModifiedEvent, FileMovedEvent, FileOpenedEvent

from goose_lsp.index.watch import Watch


class FakeObserver:
    """Takes so many watches, then fails like a system that has run out of them."""

    def __init__(self, n_free: int = 100) -> None:
        self.folders: list[str] = []
        self._n_free = n_free

    def schedule(self, _handler: object, folder: str, recursive: bool) -> None:
        assert not recursive
        if len(self.folders) == self._n_free:
            raise OSError(28, "No space left on device")
        self.folders.append(folder)

    def is_alive(self) -> bool:
        return False


def rig(n_free: int = 100) -> SimpleNamespace:
    observer: Any = FakeObserver(n_free)
    changed: list[str] = []
    notices: list[str] = []
    return SimpleNamespace(
        watch=Watch(changed.append, notices.append, observer),
        observer=observer,
        changed=changed,
        notices=notices,
    )


def test_each_folder_is_watched_once_and_alone() -> None:
    it = rig()
    it.watch.follow(["/w", "/w/a"])
    it.watch.follow(["/w", "/w/a", "/w/b"])
    assert it.observer.folders == ["/w", "/w/a", "/w/b"]
    assert not it.notices


def test_when_the_system_has_no_watches_left_it_is_said_once() -> None:
    it = rig(n_free=2)
    it.watch.follow([f"/w/{i}" for i in range(5)])
    it.watch.follow(["/w/9"])
    assert len(it.observer.folders) == 2
    assert len(it.notices) == 1
    assert "No space left on device after 2 watched folders" in it.notices[0]


def test_reading_is_no_change_and_a_move_is_two() -> None:
    it = rig()
    it.watch.on_any_event(FileOpenedEvent("/w/a"))
    it.watch.on_any_event(FileModifiedEvent("/w/b"))
    it.watch.on_any_event(FileMovedEvent("/w/c", "/w/d"))
    assert it.changed == ["/w/b", "/w/c", "/w/d"]


def test_a_folder_that_comes_back_is_watched_again() -> None:
    it = rig()
    it.watch.follow(["/w/a"])
    it.watch.on_any_event(DirDeletedEvent("/w/a"))
    it.watch.follow(["/w/a"])
    assert it.observer.folders == ["/w/a", "/w/a"]


def test_a_real_change_is_seen(tmp_path: Path) -> None:
    changed: SimpleQueue[str] = SimpleQueue()
    watch = Watch(changed.put, changed.put)
    watch.start()
    try:
        watch.follow([str(tmp_path), str(tmp_path / "gone")])
        (tmp_path / "a.py").write_text("x")
        assert changed.get(timeout=20) == str(tmp_path / "a.py")
    finally:
        watch.close()
