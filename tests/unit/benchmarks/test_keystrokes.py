import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.keystrokes import Moment, is_one_key, play, sessions, to_offset
from goose_lsp.errors import GooseError
from goose_lsp.request import Point

OPENED: list[dict[str, Any]] = [
    {"k": "doc", "doc": 0, "path": "src/a.ts"},
    {"k": "set", "doc": 0, "text": "one\ntwo\n"},
    {"k": "focus", "doc": 0},
]


def recording(folder: Path, events: list[dict[str, Any]]) -> Path:
    file = folder / "keystrokes" / "session.jsonl.gz"
    file.parent.mkdir()
    file.write_bytes(gzip.compress("\n".join(json.dumps(event) for event in events).encode()))
    return file


def played(folder: Path, *events: dict[str, Any]) -> list[Moment]:
    return list(play(recording(folder, [*OPENED, *events])))


def test_a_change_is_a_moment_at_the_cursor_the_recording_tells(tmp_path: Path) -> None:
    [moment] = played(
        tmp_path,
        {"k": "chg", "doc": 0, "e": [[3, 3, "()"]]},
        {"k": "sel", "doc": 0, "s": [[4, 4]]},
        {"k": "sel", "doc": 0, "s": [[0, 0]]},
    )
    assert moment.document.text == "one()\ntwo\n"
    assert (moment.cursor, moment.path, moment.is_typed) == (Point(0, 4), "src/a.ts", True)
    assert moment.document.language == "typescript"


def test_without_a_word_about_the_cursor_it_stands_behind_what_was_written(tmp_path: Path) -> None:
    moments = played(
        tmp_path,
        {"k": "chg", "doc": 0, "e": [[7, 7, "x"]]},
        {"k": "chg", "doc": 0, "e": [[0, 4, "pasted\ntext"]]},
    )
    assert [moment.cursor for moment in moments] == [Point(1, 4), Point(1, 4)]
    assert [moment.is_typed for moment in moments] == [True, False]


def test_edits_of_one_change_count_in_the_text_before_it_and_ask_nothing(tmp_path: Path) -> None:
    moments = played(
        tmp_path,
        {"k": "chg", "doc": 0, "e": [[0, 3, "1"], [4, 7, "2"]]},
        {"k": "chg", "doc": 0, "e": [[1, 1, "!"]]},
    )
    assert [moment.document.text for moment in moments] == ["1!\n2\n"]


@pytest.mark.parametrize(
    ("text", "is_key"),
    [("a", True), ("{}", True), ("\n\t\t", True), ("\r\n  ", True), ("ab", False), ("\nx", False)],
)
def test_what_one_key_writes_is_typed(text: str, is_key: bool) -> None:
    assert is_one_key(text) is is_key


def test_offsets_are_counted_in_utf16_units() -> None:
    assert to_offset("abc", 2) == 2
    assert to_offset("\N{GRINNING FACE}bc", 2) == 1
    assert to_offset("\N{GRINNING FACE}bc", 3) == 2


def test_missing_recordings_are_named(tmp_path: Path) -> None:
    with pytest.raises(GooseError, match=r"no data set keystrokes under .*--data"):
        sessions(tmp_path)
