"""A workspace with its real builder process."""

import os
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep

import pytest

from goose_lsp.daemon.workspace import Workspace, vocabulary_of
from goose_lsp.draft.store import DEAD
from goose_lsp.text.document import Document
from tests.vocabularies import marked_tokenizer

TOKENIZER = marked_tokenizer([])
LIMIT_S = 60
SECRET = "s3cr3t-0f-th3-t3st"


class Rig:
    def __init__(self, tmp_path: Path) -> None:
        self.root = tmp_path / "work"
        self.root.mkdir()
        (self.root / "a.py").write_text("aa\n")
        (self.root / "b.py").write_text("bb\n")
        self.workspace = Workspace(
            [str(self.root)], tmp_path / "cache", vocabulary_of(TOKENIZER, tmp_path / "cache")
        )

    def type(self, name: str, text: str | None) -> None:
        path = str(self.root / name)
        document = None if text is None else Document(f"file://{path}", 1, "python", text)
        self.workspace.document_changed(path, document)
        self.workspace.settle()

    def texts(self) -> dict[str, str]:
        """What a query may find, by file."""
        live, found = self.workspace.live, {}
        halves = ((live.view.base, live.base_paths), (live.view.delta, live.delta_paths))
        for library, paths in halves:
            for i, path in enumerate(paths):
                if library.weights[i] != DEAD:
                    tokens = library.segment.tokens[library.starts[i] : library.starts[i + 1] - 1]
                    found[os.path.relpath(path, self.root)] = TOKENIZER.decode(tokens.tolist())
        return found

    def wait_for(self, expected: dict[str, str]) -> None:
        """The builder is another process: its news take a moment."""
        end = monotonic() + LIMIT_S
        while self.texts() != expected and monotonic() < end:
            sleep(0.01)
        assert self.texts() == expected


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    rig = Rig(tmp_path)
    rig.workspace.start()
    yield rig
    rig.workspace.close()


def test_files_on_disk_are_found_and_followed(rig: Rig) -> None:
    rig.wait_for({"a.py": "aa\n", "b.py": "bb\n"})
    (rig.root / "b.py").write_text("bbb\n")
    (rig.root / "c.py").write_text("cc\n")
    rig.wait_for({"a.py": "aa\n", "b.py": "bbb\n", "c.py": "cc\n"})
    (rig.root / "a.py").unlink()
    rig.wait_for({"b.py": "bbb\n", "c.py": "cc\n"})


def test_an_open_document_wins_over_the_disk_until_it_is_closed(rig: Rig) -> None:
    rig.wait_for({"a.py": "aa\n", "b.py": "bb\n"})
    rig.type("a.py", "typed\r\nhere")
    assert rig.texts() == {"a.py": "typed\nhere", "b.py": "bb\n"}
    (rig.root / "a.py").write_text("saved\n")
    (rig.root / "b.py").write_text("more\n")
    rig.wait_for({"a.py": "typed\nhere", "b.py": "more\n"})
    rig.type("a.py", None)
    rig.wait_for({"a.py": "saved\n", "b.py": "more\n"})


def test_a_document_that_is_no_file_yet_is_found(rig: Rig) -> None:
    rig.type("new.py", "new\n")
    rig.wait_for({"a.py": "aa\n", "b.py": "bb\n", "new.py": "new\n"})


@pytest.mark.parametrize("name", [".env", "local.py", "own.py"])
def test_an_open_document_that_the_rules_refuse_is_in_no_store(rig: Rig, name: str) -> None:
    (rig.root / ".gitignore").write_text("local.py\n")
    (rig.root / ".gooselspignore").write_text("own.py\n")
    (rig.root / name).write_text(SECRET)
    rig.type(name, SECRET)
    rig.type("a.py", "aa\n")
    assert not any(SECRET in text for text in rig.texts().values())
    assert str(rig.root / name) in rig.workspace.live.refused
    tokens = rig.workspace.live.view.delta.segment.tokens.tolist()
    assert SECRET not in TOKENIZER.decode([token for token in tokens if token >= 0])


def test_a_document_too_large_to_index_is_left_out(rig: Rig) -> None:
    rig.type("a.py", "x = 1\n" * 200_000)
    assert "a.py" not in rig.texts()
    rig.type("a.py", "small\n")
    assert rig.texts()["a.py"] == "small\n"


def test_the_tokenizer_is_written_once_where_the_builder_finds_it(tmp_path: Path) -> None:
    first, second = vocabulary_of(TOKENIZER, tmp_path), vocabulary_of(TOKENIZER, tmp_path)
    assert first.file == second.file
    assert os.listdir(tmp_path / "index") == [first.file.name]


def test_rules_that_change_hold_for_open_documents_too(rig: Rig) -> None:
    rig.wait_for({"a.py": "aa\n", "b.py": "bb\n"})
    (rig.root / ".gitignore").write_text("a.py\n")
    rig.wait_for({".gitignore": "a.py\n", "b.py": "bb\n"})
    rig.type("a.py", SECRET)
    assert str(rig.root / "a.py") in rig.workspace.live.refused
