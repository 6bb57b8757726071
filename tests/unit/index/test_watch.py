import errno
import os
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest
from watchdog.events import (
    DirModifiedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileOpenedEvent,
)

from goose_lsp.index import watch as module
from goose_lsp.index.watch import Changed, Watch, WholeTrees


class FakeSystem:
    """Takes so many folders, then fails like a system that has run out of watches."""

    def __init__(self, n_free: int = 100, gone: tuple[str, ...] = ()) -> None:
        self.folders: set[str] = set()
        self._n_free = n_free
        self._gone = gone

    def add(self, folder: str) -> bool:
        if folder in self._gone:
            raise FileNotFoundError(errno.ENOENT, "gone")
        if folder in self.folders:
            return False
        if len(self.folders) == self._n_free:
            raise OSError(errno.ENOSPC, "inotify watch limit reached")
        self.folders.add(folder)
        return True

    def close(self) -> None:
        self.folders.clear()


class Rig:
    def __init__(self, n_free: int = 100, gone: tuple[str, ...] = ()) -> None:
        self.system = FakeSystem(n_free, gone)
        self.notices: list[str] = []
        self.watch = Watch(lambda _path: None, self.notices.append, lambda _changed: self.system)


def test_only_folders_that_are_new_are_news() -> None:
    rig = Rig()
    assert rig.watch.follow(["/w", "/w/a"])
    assert not rig.watch.follow(["/w", "/w/a"])
    assert rig.watch.follow(["/w", "/w/b"])
    assert rig.system.folders == {"/w", "/w/a", "/w/b"}
    assert not rig.notices


def test_when_the_system_has_no_watches_left_it_is_said_once() -> None:
    rig = Rig(n_free=2)
    assert rig.watch.follow(f"/w/{i}" for i in range(5))
    assert not rig.watch.follow(f"/w/{i}" for i in range(5))
    assert len(rig.system.folders) == 2
    (notice,) = rig.notices
    assert "2 folders are watched, no more can be (inotify watch limit reached)" in notice


def test_a_folder_that_has_gone_again_is_passed_over() -> None:
    rig = Rig(gone=("/w/a",))
    assert rig.watch.follow(["/w", "/w/a", "/w/b"])
    assert rig.system.folders == {"/w", "/w/b"}
    assert not rig.notices


def test_of_too_many_folders_the_first_are_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_FOLDERS", 3)
    rig = Rig()
    rig.watch.follow(f"/w/{i}" for i in range(5))
    assert rig.system.folders == {"/w/0", "/w/1", "/w/2"}
    assert "3 folders are watched" in rig.notices[0]


def test_a_system_that_gives_nothing_is_said_and_done_without() -> None:
    def refuse(_changed: Changed) -> FakeSystem:
        raise OSError(errno.EMFILE, "inotify instance limit reached")

    notices: list[str] = []
    watch = Watch(lambda _path: None, notices.append, refuse)
    assert not watch.follow(["/w"])
    watch.close()
    assert len(notices) == 1
    assert "inotify instance limit reached" in notices[0]


def test_a_real_change_is_seen(tmp_path: Path) -> None:
    changed: SimpleQueue[str] = SimpleQueue()
    watch = Watch(changed.put, changed.put)
    try:
        watch.follow([str(tmp_path), str(tmp_path / "gone")])
        (tmp_path / "a.py").write_text("x")
        assert changed.get(timeout=20) == str(tmp_path / "a.py")
    finally:
        watch.close()


class FakeObserver:
    def __init__(self) -> None:
        self.folders: list[str] = []

    def start(self) -> None: ...

    def schedule(self, _handler: object, folder: str, recursive: bool) -> None:
        assert recursive
        self.folders.append(folder)


def test_a_whole_tree_is_watched_at_once() -> None:
    observer: Any = FakeObserver()
    trees = WholeTrees(lambda _path: None, observer)
    added = [trees.add(folder) for folder in ("/w", "/w/a", "/w2", "/w/a/b")]
    assert added == [True, False, True, False]
    assert observer.folders == ["/w", "/w2"]


def test_reading_is_no_change_and_a_move_is_two() -> None:
    observer: Any = FakeObserver()
    changed: list[str] = []
    trees = WholeTrees(changed.append, observer)
    trees.on_any_event(FileOpenedEvent("/w/a"))
    trees.on_any_event(DirModifiedEvent("/w"))
    trees.on_any_event(FileModifiedEvent("/w/b"))
    trees.on_any_event(FileMovedEvent("/w/c", "/w/d"))
    assert changed == ["/w/b", "/w/c", "/w/d"]


def test_a_whole_trees_observer_sees_what_lies_deep_in_it(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    changed: SimpleQueue[str] = SimpleQueue()
    trees = WholeTrees(changed.put)
    try:
        trees.add(os.fspath(tmp_path))
        (tmp_path / "in" / "a.py").write_text("x")
        assert changed.get(timeout=20) == str(tmp_path / "in" / "a.py")
    finally:
        trees.close()
