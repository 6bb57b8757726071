import os
from pathlib import Path
from queue import SimpleQueue

import pytest

from goose_lsp.index import builder as module
from goose_lsp.index.builder import MAX_SINGLE_FILES, Builder, Inbox
from goose_lsp.index.messages import (
    FileChanged,
    FileRemoved,
    Message,
    Notice,
    Progress,
    Published,
    Start,
)
from tests.vocabularies import marked_tokenizer


class Rig:
    """A builder without its process: what it is told comes from a list, what it says goes into one."""

    def __init__(self, tmp_path: Path) -> None:
        self.root = tmp_path / "work"
        self.root.mkdir()
        file = tmp_path / "tokenizer.json"
        marked_tokenizer([]).save(file)
        start = Start(
            [os.fsencode(self.root)], os.fsencode(tmp_path / "cache"), os.fsencode(file), "key"
        )
        self.said: list[Message] = []
        self.watched: list[str] = []
        self.builder = Builder(start, self.said.append)

    def follow(self, *names: str) -> list[Message]:
        """What is said about one burst of changes."""
        inbox: Inbox = SimpleQueue()
        for name in names:
            inbox.put(str(self.root / name))
        n_before = len(self.said)
        batch = self.builder.next_batch(inbox)
        assert batch is not None
        self.builder.take(batch, self.watched.extend)
        return [message for message in self.said[n_before:] if not isinstance(message, Progress)]


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path)


def test_a_burst_of_changes_is_one_batch(rig: Rig) -> None:
    rig.builder.build()
    for name in ("a.py", "b.py"):
        (rig.root / name).write_text(name)
    said = rig.follow("a.py", "b.py", "a.py", "none.py")
    assert [type(message) for message in said] == [FileChanged, FileChanged]


def test_a_switch_of_branches_is_one_new_base(rig: Rig) -> None:
    rig.builder.build()
    names = [f"{i}.py" for i in range(MAX_SINGLE_FILES + 1)]
    for name in names:
        (rig.root / name).write_text(name)
    (message,) = rig.follow(*names)
    assert isinstance(message, Published)
    assert message.n_files == len(names)


def test_a_folder_that_goes_takes_its_files_along(rig: Rig) -> None:
    (rig.root / "in").mkdir()
    (rig.root / "in" / "a.py").write_text("a")
    rig.builder.build()
    (rig.root / "in").rename(rig.root.parent / "out")
    assert rig.follow("in") == [FileRemoved(os.fsencode(rig.root / "in" / "a.py"))]


def test_many_small_changes_lead_to_a_new_base(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MIN_NEWS", 10)
    rig.builder.build()
    (rig.root / "a.py").write_text("abcdefghijklmnop")
    said = rig.follow("a.py")
    assert [type(message) for message in said] == [FileChanged, Published]


def test_a_new_folder_is_watched(rig: Rig) -> None:
    rig.builder.build()
    (rig.root / "in").mkdir()
    rig.follow("in")
    assert str(rig.root / "in") in rig.watched


def test_a_full_disk_is_said_once_and_the_work_goes_on(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("goose_lsp.index.persist._flush", full)
    (rig.root / "a.py").write_text("a")
    rig.builder.build()
    rig.builder.build()
    notices = [message for message in rig.said if isinstance(message, Notice)]
    assert len(notices) == 1
    assert "cannot be kept (No space left on device)" in notices[0].text
    assert not any(isinstance(message, Published) for message in rig.said)
    (rig.root / "b.py").write_text("b")
    assert [type(message) for message in rig.follow("b.py")] == [FileChanged]


def test_the_end_of_the_inbox_ends_the_work(rig: Rig) -> None:
    inbox: Inbox = SimpleQueue()
    inbox.put(None)
    rig.builder.follow(inbox, rig.watched.extend)
    assert not rig.said
