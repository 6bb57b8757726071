import io
import math
import os
import re
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any
from unittest.mock import patch

import pytest

from goose_lsp.errors import ModelLoadError
from goose_lsp.index import builder as module
from goose_lsp.index.builder import MAX_SINGLE_FILES, Builder, Inbox, _reason, _Sender, _serve
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
from goose_lsp.ipc.framing import FrameDecoder, encode_frame
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
        self.start = start
        self.said: list[Message] = []
        self.watched: set[str] = set()
        self.builder = self.new_builder()

    def new_builder(self) -> Builder:
        return Builder(self.start, self.said.append, self._watch)

    def _watch(self, folders: Iterable[str]) -> bool:
        n_before = len(self.watched)
        self.watched.update(folders)
        return len(self.watched) > n_before

    def follow(self, *names: str) -> list[Message]:
        """What is said about one burst of changes."""
        inbox: Inbox = SimpleQueue()
        for name in names:
            inbox.put(str(self.root / name))
        n_before = len(self.said)
        batch = self.builder.next_batch(inbox)
        assert batch is not None
        self.builder.take(batch)
        return self.news(n_before)

    def news(self, n_before: int = 0) -> list[Message]:
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


def test_the_same_file_again_and_again_is_no_more_news_than_once(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MIN_NEWS", 10)
    rig.builder.build()
    for i in range(5):
        (rig.root / "a.py").write_text("abcd" + "e" * i)
        assert [type(message) for message in rig.follow("a.py")] == [FileChanged]


def test_so_many_changed_files_lead_to_a_new_base(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_NEWS_FILES", 1)
    rig.builder.build()
    (rig.root / "a.py").write_text("a")
    assert [type(message) for message in rig.follow("a.py")] == [FileChanged]
    (rig.root / "b.py").write_text("b")
    assert [type(message) for message in rig.follow("b.py")] == [FileChanged, Published]


def test_a_new_folder_is_watched_and_read(rig: Rig) -> None:
    rig.builder.build()
    (rig.root / "in" / "deep").mkdir(parents=True)
    (rig.root / "in" / "deep" / "a.py").write_text("a")
    (message,) = rig.follow("in")
    assert isinstance(message, FileChanged)
    assert rig.watched == {str(rig.root / name) for name in ("", "in", "in/deep")}


def test_a_new_folder_that_is_refused_costs_no_scan(rig: Rig) -> None:
    (rig.root / ".gitignore").write_text("build/\n")
    rig.builder.build()
    (rig.root / "build").mkdir()
    (rig.root / "__pycache__").mkdir()
    n_before = len(rig.said)
    rig.follow("build", "__pycache__")
    assert len(rig.said) == n_before  # a scan tells of its progress


def test_a_file_reached_through_a_link_is_the_same_file(rig: Rig) -> None:
    (rig.root / "a.py").write_text("a")
    rig.builder.build()
    (rig.root.parent / "link").symlink_to("work")
    (rig.root / "a.py").write_text("new")
    (message,) = rig.follow("../link/a.py")
    assert isinstance(message, FileChanged)
    assert message.path == os.fsencode(rig.root / "a.py")


@pytest.mark.parametrize("name", [".gitignore", ".gooselspignore"])
def test_what_is_ignored_from_now_on_is_not_left_on_disk(rig: Rig, name: str) -> None:
    (rig.root / "a.py").write_text("a")
    rig.builder.build()
    (rig.root / name).write_text("a.py\n")
    *_, last = rig.follow(name)
    assert isinstance(last, Published)
    assert rig.new_builder()._collection.entries.keys() == {str(rig.root / name)}


def test_what_is_a_secret_from_now_on_is_not_left_on_disk(rig: Rig) -> None:
    (rig.root / "a.py").write_text("a")
    rig.builder.build()
    (rig.root / "a.py").write_text("-----BEGIN RSA " + "PRIVATE KEY-----\nabc\n")
    *_, last = rig.follow("a.py")
    assert isinstance(last, Published)
    assert (last.n_tokens, last.refused) == (0, {"secret": 1})


def test_what_is_left_out_is_counted_by_reason(rig: Rig) -> None:
    (rig.root / ".env").write_text("a")
    (rig.root / "a.dat").write_bytes(b"\0")
    (rig.root / "a.py").write_text("a")
    rig.builder.build()
    (message,) = rig.news()
    assert isinstance(message, Published)
    assert message.n_files == 1
    assert message.refused == {"secret": 1, "binary": 1}


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Call it, and nothing can be kept any more."""

    def fail(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    return lambda: monkeypatch.setattr("goose_lsp.index.persist._flush", fail)


def test_a_full_disk_is_said_and_the_work_goes_on(rig: Rig, full_disk: Callable[[], None]) -> None:
    full_disk()
    (rig.root / "a.py").write_text("a")
    rig.builder.build()
    (notice,) = rig.news()
    assert isinstance(notice, Notice)
    assert "cannot be kept (No space left on device)" in notice.text
    (rig.root / "b.py").write_text("b")
    assert [type(message) for message in rig.follow("b.py")] == [FileChanged]


def test_with_a_full_disk_an_older_base_is_used_and_what_has_changed_since_is_told(
    rig: Rig, full_disk: Callable[[], None]
) -> None:
    (rig.root / "a.py").write_text("a")
    (rig.root / "b.py").write_text("b")
    rig.builder.build()
    full_disk()
    (rig.root / "a.py").write_text("other")
    (rig.root / "b.py").unlink()
    n_before = len(rig.said)
    rig.new_builder().build()
    assert [type(message) for message in rig.news(n_before)] == [
        Notice,
        Published,
        FileRemoved,
        FileChanged,
    ]


def test_with_a_full_disk_a_switch_of_branches_is_told_file_by_file(
    rig: Rig, full_disk: Callable[[], None]
) -> None:
    rig.builder.build()
    full_disk()
    names = [f"{i}.py" for i in range(MAX_SINGLE_FILES + 1)]
    for name in names:
        (rig.root / name).write_text(name)
    said = rig.follow(*names)
    assert [type(message) for message in said] == [Notice, *[FileChanged] * len(names)]


def test_the_end_of_the_inbox_ends_the_work(rig: Rig) -> None:
    inbox: Inbox = SimpleQueue()
    inbox.put(None)
    rig.builder.run(inbox)
    assert not rig.said


class TimedInbox:
    """Gives each path at its time, on a clock that moves only while somebody waits."""

    def __init__(self, arrivals: Sequence[tuple[float, str | None]]) -> None:
        self.now_s = 0.0
        self._arrivals = list(arrivals)

    def clock(self) -> float:
        return self.now_s

    def get(self, timeout: float = math.inf) -> str | None:
        at_s = self._arrivals[0][0] if self._arrivals else math.inf
        if at_s > self.now_s + timeout:
            self.now_s += timeout
            raise Empty
        self.now_s = max(self.now_s, at_s)
        return self._arrivals.pop(0)[1]


def check_batches(
    rig: Rig,
    arrivals: Sequence[tuple[float, str | None]],
    expected: Sequence[set[str]],
    work_s: float = 0,
) -> None:
    inbox: Any = TimedInbox([*arrivals, (1000, None)])
    builder = Builder(rig.start, rig.said.append, clock=inbox.clock)
    batches: list[set[str]] = []

    def take(batch: set[str]) -> None:
        batches.append(batch)
        inbox.now_s += work_s

    with patch.object(builder, "take", take):
        builder.run(inbox)
    assert batches == expected


def test_a_moment_of_calm_ends_a_batch(rig: Rig) -> None:
    check_batches(rig, [(1.0, "a"), (1.05, "b"), (1.5, "c")], [{"a", "b"}, {"c"}])


def test_without_calm_a_batch_ends_at_last(rig: Rig) -> None:
    steady = [(i / 20, f"{i}") for i in range(30)]
    check_batches(rig, steady, [{f"{i}" for i in range(21)}, {f"{i}" for i in range(21, 30)}])


def test_long_work_is_followed_by_a_longer_rest(rig: Rig) -> None:
    # Two seconds of work from 0.1 on: until 2.1 it is busy, until 10.1 it rests.
    arrivals = [(0.0, "a"), (3.0, "b"), (9.0, "c"), (10.05, "d"), (20.0, "e")]
    check_batches(rig, arrivals, [{"a"}, {"b", "c", "d"}, {"e"}], work_s=2)


def test_an_end_during_the_rest_is_heard(rig: Rig) -> None:
    check_batches(rig, [(0.0, "a"), (3.0, "b"), (3.1, None)], [{"a"}], work_s=2)


def test_a_tokenizer_that_cannot_be_read_is_one_line(rig: Rig) -> None:
    os.truncate(os.fsdecode(rig.start.tokenizer), 10)
    with pytest.raises(ModelLoadError, match="is not a tokenizer"):
        rig.new_builder()


def test_what_the_parent_tells_is_taken_even_while_a_base_is_built(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or the pipe would fill and stop the parent, which has an editor to serve."""
    is_told, waited = threading.Event(), list[bool]()
    monkeypatch.setattr(Builder, "build", lambda _self: waited.append(is_told.wait(20)))
    reads, writes = os.pipe()
    with os.fdopen(reads, "rb") as inner:
        serving = threading.Thread(target=_serve, args=(inner, rig.said.append))
        serving.start()
        with os.fdopen(writes, "wb") as outer:
            for message in (rig.start, Touched([b"/none/" + b"x" * 100] * 20_000)):
                outer.write(encode_frame(encode(message)))
        is_told.set()
        serving.join()
    assert waited == [True]


def test_what_went_wrong_is_told_without_what_a_file_holds() -> None:
    with pytest.raises(UnicodeDecodeError) as caught:
        b"\xffsecret".decode()
    assert re.fullmatch(r"UnicodeDecodeError at test_builder.py:\d+", _reason(caught.value))
    assert _reason(ModelLoadError("one line")) == "one line"


def test_the_same_notice_is_sent_once() -> None:
    out = io.BytesIO()
    sender = _Sender(out)
    for text in ("full", "full", "other"):
        sender.send(Notice(text))
    found = [decode(payload) for payload in FrameDecoder().feed(out.getvalue())]
    assert found == [Notice("full"), Notice("other")]
