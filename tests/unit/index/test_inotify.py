"""Against the real kernel; what it tells is waited for."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from queue import SimpleQueue

import pytest

if sys.platform != "linux":
    pytest.skip("inotify is Linux's", allow_module_level=True)

from goose_lsp.index.inotify import InotifyFolders

LIMIT_S = 20
LAST = "last"


class Rig:
    def __init__(self, root: Path) -> None:
        self.root = root
        self._queue: SimpleQueue[str] = SimpleQueue()
        self.folders = InotifyFolders(self._queue.put)
        self.folders.add(str(root))

    def told(self) -> list[str]:
        """All that was told until now, without repetitions: events come in order, so a last one ends them."""
        (self.root / LAST).mkdir()
        told: list[str] = []
        while (path := self._queue.get(timeout=LIMIT_S)) != str(self.root / LAST):
            told.append(os.path.relpath(path, self.root))
        (self.root / LAST).rmdir()
        assert self._queue.get(timeout=LIMIT_S) == str(self.root / LAST)
        return list(dict.fromkeys(told))

    def add(self, name: str) -> bool:
        return self.folders.add(str(self.root / name))


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    it = Rig(tmp_path)
    yield it
    it.folders.close()


def test_what_is_made_saved_moved_and_removed_is_told(rig: Rig) -> None:
    (rig.root / "a").write_text("1")
    os.replace(rig.root / "a", rig.root / "b")
    (rig.root / "c").mkdir()
    (rig.root / "b").unlink()
    assert rig.told() == ["a", "b", "c"]


def test_reading_is_not_told_nor_writing_before_the_end(rig: Rig) -> None:
    (rig.root / "log").write_text("1")
    assert rig.told() == ["log"]
    assert (rig.root / "log").read_text() == "1"
    with (rig.root / "log").open("a") as log:
        log.write("more")
        log.flush()
        assert rig.told() == []
    assert rig.told() == ["log"]


def test_a_folder_is_watched_alone_and_once(rig: Rig) -> None:
    (rig.root / "in").mkdir()
    assert rig.told() == ["in"]
    (rig.root / "in" / "a").touch()
    assert rig.told() == []
    assert rig.add("in")
    assert not rig.add("in")
    (rig.root / "in" / "b").touch()
    assert rig.told() == ["in/b"]


def test_a_folder_that_moved_is_not_told_of_by_its_old_name(rig: Rig) -> None:
    (rig.root / "in" / "deep").mkdir(parents=True)
    assert rig.add("in")
    assert rig.add("in/deep")
    (rig.root / "in").rename(rig.root / "out")
    assert rig.told() == ["in", "out"]
    (rig.root / "out" / "deep" / "a").touch()
    assert rig.told() == []
    assert rig.add("out")
    assert rig.add("out/deep")
    (rig.root / "out" / "deep" / "b").touch()
    assert rig.told() == ["out/deep/b"]


def test_a_folder_that_is_added_by_another_name_is_told_of_by_that(rig: Rig) -> None:
    (rig.root / "real" / "in").mkdir(parents=True)
    (rig.root / "link").symlink_to("real")
    assert rig.add("real/in")
    assert rig.add("link/in")
    (rig.root / "real" / "in" / "a").touch()
    assert rig.told() == ["real", "link", "link/in/a"]


def test_a_folder_that_goes_is_told_and_may_come_back(rig: Rig) -> None:
    (rig.root / "in").mkdir()
    rig.add("in")
    (rig.root / "in").rmdir()
    assert rig.told() == ["in"]
    (rig.root / "in").mkdir()
    assert rig.add("in")
    (rig.root / "in" / "a").touch()
    assert rig.told() == ["in", "in/a"]


def test_what_was_not_told_is_looked_for_everywhere(rig: Rig) -> None:
    rig.folders.on_queue_overflow()
    assert rig.told() == ["."]


@pytest.mark.parametrize("name", ["gone", "file", "link"])
def test_what_is_no_folder_is_refused(rig: Rig, name: str) -> None:
    (rig.root / "file").touch()
    (rig.root / "link").symlink_to(".")
    with pytest.raises(OSError, match=r"No such file|Not a directory"):
        rig.add(name)


def test_after_the_end_nothing_is_told(tmp_path: Path) -> None:
    told: list[str] = []
    folders = InotifyFolders(told.append)
    folders.add(str(tmp_path))
    folders.close()
    assert told == []
