import numpy as np
import pytest

from goose_lsp.draft.store import DEAD, FAR, NEAR
from goose_lsp.index.live import LiveStore, folders_of
from goose_lsp.index.overlay import Overlay
from goose_lsp.index.persist import FileRecord, Snapshot
from goose_lsp.request import Point
from goose_lsp.text.document import Document
from tests.sources import library_of
from tests.vocabularies import marked_tokenizer

TOKENIZER = marked_tokenizer([])
LENGTHS = TOKENIZER.byte_lengths()


def store(*paths: str, opened: dict[str, str] | None = None) -> LiveStore:
    """A base of these files, one token each, under these open ones."""
    records = tuple(FileRecord(path, 0, 0, 0, b"") for path in paths)
    overlay = Overlay(Snapshot(records, library_of(*(([1], FAR) for _ in paths))))
    for path, text in (opened or {}).items():
        overlay.put(path, np.array(TOKENIZER.encode(text), np.int32))
    return LiveStore(
        overlay.view(), overlay.base_paths, tuple(overlay.delta_paths), *folders_of(paths)
    )


def test_files_of_the_same_folder_count_more_unless_they_are_dead() -> None:
    live = store("/w/a.py", "/w/in/b.py", "/w/c.py", opened={"/w/c.py": "x"})
    seen = live.seen_from("/w/new.py", Document("", 1, "", ""), Point(0, 0), LENGTHS)
    assert seen.base.weights.tolist() == [NEAR, FAR, DEAD]
    assert live.view.base.weights.tolist() == [FAR, FAR, DEAD]


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_the_place_of_the_cursor_is_found_in_the_open_file(line_end: str) -> None:
    text = f"é = 1{line_end}abc"
    live = store(opened={"/w/x": "first", "/w/a": text.replace("\r\n", "\n")})
    seen = live.seen_from("/w/a", Document("", 1, "", text), Point(1, 2), LENGTHS)
    low, high = seen.cursor.tolist()
    tokens = seen.delta.segment.tokens[low:high].tolist()
    assert TOKENIZER.decode(tokens) == "\nabc"


def test_a_file_that_is_not_open_has_no_place() -> None:
    seen = store(opened={"/w/a": "abc"}).seen_from(
        "/w/b", Document("", 1, "", ""), Point(0, 0), LENGTHS
    )
    assert seen.cursor.tolist() == [0, 0]


def test_paths_of_the_base_come_before_those_of_the_delta() -> None:
    assert store("/w/a", opened={"/w/b": ""}).paths == ["/w/a", "/w/b"]
