"""The real process, from its first message to its end."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue

import numpy as np
import pytest

from goose_lsp.index.messages import (
    FileChanged,
    FileRemoved,
    Message,
    Progress,
    Published,
    Start,
)
from goose_lsp.index.persist import Shelf
from goose_lsp.index.process import BuilderProcess
from goose_lsp.tokenizer import Tokenizer
from tests.vocabularies import marked_tokenizer

LIMIT_S = 60
MAX_QUEUED = 20_000  # events, above fs.inotify.max_queued_events as systems ship it
SECRET = "s3cr3t-0f-th3-t3st"


class Rig:
    """A workspace, a builder for it, and what the builder says."""

    def __init__(self, tmp_path: Path) -> None:
        self.root, self.cache = tmp_path / "work", tmp_path / "cache"
        self.root.mkdir()
        self.tokenizer_file = tmp_path / "tokenizer.json"
        marked_tokenizer([]).save(self.tokenizer_file)
        self.tokenizer = Tokenizer.from_saved(self.tokenizer_file, ())
        self.said: SimpleQueue[Message | int] = SimpleQueue()
        self.all_said: list[Message | int] = []

    @contextmanager
    def builder(self, *, keeps_watching: bool = True) -> Iterator[BuilderProcess]:
        start = Start(
            [os.fsencode(self.root)],
            os.fsencode(self.cache),
            os.fsencode(self.tokenizer_file),
            "key",
            keeps_watching,
        )
        process = BuilderProcess(start, self.said.put, self.said.put)
        try:
            yield process
        finally:
            process.close()

    def next(self) -> Message | int:
        while isinstance(message := self.said.get(timeout=LIMIT_S), Progress):
            self.all_said.append(message)
        self.all_said.append(message)
        return message

    def published(self) -> Published:
        message = self.next()
        assert isinstance(message, Published)
        return message

    def kept_texts(self) -> dict[str, str]:
        shelf = Shelf.of(self.cache, [str(self.root)], "key", self.tokenizer.n_vocab)
        found = shelf.newest()
        assert found is not None
        files, library = found[1].files, found[1].library
        return {
            os.path.relpath(file.path, self.root): self.tokenizer.decode(
                library.segment.tokens[library.starts[i] : library.starts[i + 1] - 1].tolist()
            )
            for i, file in enumerate(files)
        }


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path)


def text_of(rig: Rig, message: Message | int) -> tuple[str, str]:
    assert isinstance(message, FileChanged)
    name = os.path.relpath(os.fsdecode(message.path), rig.root)
    return name, rig.tokenizer.decode(np.frombuffer(message.tokens, "<i4").tolist())


def test_a_workspace_is_built_kept_and_read_again_only_where_it_changed(rig: Rig) -> None:
    (rig.root / "a.py").write_text("ab\n")
    (rig.root / "b.py").write_text("ba\n")
    with rig.builder():
        first = rig.published()
    assert (first.n_files, first.n_read) == (2, 2)
    assert rig.kept_texts() == {"a.py": "ab\n", "b.py": "ba\n"}
    assert rig.next() == 0  # it ended by itself, asked to
    (rig.root / "b.py").write_text("bab\n")
    with rig.builder(keeps_watching=False) as process:
        assert process.wait() == 0
    second = rig.published()
    assert (second.n_read, second.generation) == (1, first.generation + 1)
    assert rig.kept_texts()["b.py"] == "bab\n"


def test_changes_on_disk_are_told_as_they_happen(rig: Rig) -> None:
    (rig.root / "a.py").write_text("ab\n")
    with rig.builder():
        rig.published()
        (rig.root / "b.py").write_text("new\n")
        assert text_of(rig, rig.next()) == ("b.py", "new\n")
        os.replace(rig.root / "b.py", rig.root / "a.py")
        assert {type(rig.next()), type(rig.next())} == {FileChanged, FileRemoved}
        (rig.root / "in").mkdir()
        (rig.root / "in" / "c.py").write_text("deep\n")
        assert text_of(rig, rig.next()) == (os.path.join("in", "c.py"), "deep\n")


def test_a_file_that_the_editor_says_was_saved_is_looked_at(rig: Rig) -> None:
    (rig.root / "a.py").write_text("ab\n")
    with rig.builder() as process:
        rig.published()
        (rig.root / ".gitignore").write_text("a.py\n")
        process.touch([str(rig.root / ".gitignore")])
        said = [rig.next(), rig.next()]
    assert FileRemoved(os.fsencode(rig.root / "a.py")) in said


def test_a_builder_that_is_killed_leaves_what_was_kept(rig: Rig) -> None:
    (rig.root / "a.py").write_text("ab\n")
    with rig.builder() as process:
        rig.published()
        os.kill(process.pid, signal.SIGKILL)
        assert rig.next() == -signal.SIGKILL
    assert rig.kept_texts() == {"a.py": "ab\n"}


def test_a_module_of_the_workspace_never_stands_in_for_one_of_ours(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    (rig.root / "numpy.py").write_text("raise SystemExit(7)\n")
    (rig.root / "goose_lsp").mkdir()
    monkeypatch.chdir(rig.root)
    with rig.builder(keeps_watching=False) as process:
        assert process.wait() == 0
    assert rig.published().n_files == 1


def test_a_change_that_the_system_could_not_tell_of_is_seen_all_the_same(rig: Rig) -> None:
    with rig.builder() as process:
        rig.published()
        os.kill(process.pid, signal.SIGSTOP)
        for _ in range(MAX_QUEUED // 3):  # made, closed and removed, each an event
            (rig.root / "other").touch()
            (rig.root / "other").unlink()
        (rig.root / "a.py").write_text("late\n")
        os.kill(process.pid, signal.SIGCONT)
        assert text_of(rig, rig.next()) == ("a.py", "late\n")


def test_nothing_refused_is_in_any_message_or_any_byte_that_is_kept(rig: Rig) -> None:
    refused = [
        ".env",
        "id_rsa",
        "local.py",
        "node_modules/m/a.js",
        ".git/config",
        "big.txt",
        "min.js",
        "own.txt",
    ]
    for name in refused:
        (rig.root / name).parent.mkdir(parents=True, exist_ok=True)
        (rig.root / name).write_text(f"key = {SECRET}\n")
    (rig.root / "big.txt").write_text(SECRET + "x" * (1 << 21))
    (rig.root / "min.js").write_text(SECRET + "x;" * 4000)
    (rig.root / "pem.txt").write_text("-----BEGIN RSA " + f"PRIVATE KEY-----\n{SECRET}\n")
    (rig.root / "blob.dat").write_bytes(b"\0" + SECRET.encode())
    (rig.root / "link.py").symlink_to(".env")
    (rig.root / ".gitignore").write_text("local.py\n")
    (rig.root / ".gooselspignore").write_text("own.txt\n")
    (rig.root / "app.py").write_text("fine\n")
    with rig.builder():
        rig.published()
        (rig.root / ".env").write_text(f"again = {SECRET}\n")
        (rig.root / "app.py").write_text("finer\n")
        assert text_of(rig, rig.next()) == ("app.py", "finer\n")
    needles = [SECRET.encode(), np.array(rig.tokenizer.encode(SECRET), "<i4").tobytes()]
    kept = [path.read_bytes() for path in rig.cache.rglob("*") if path.is_file()]
    said = [repr(message).encode() for message in rig.all_said]
    sent = [message.tokens for message in rig.all_said if isinstance(message, FileChanged)]
    assert not any(needle in place for needle in needles for place in [*kept, *said, *sent])
    assert rig.kept_texts()["app.py"] == "fine\n"
