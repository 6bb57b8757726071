"""FILE:LINE:COL: what is a place, what is text, and the one line for everything else."""

import os
from pathlib import Path

import pytest

from goose_lsp.errors import ConfigError
from goose_lsp.request import Point
from goose_lsp.text.place import open_place


def write(folder: Path, content: bytes, name: str = "a.py") -> Path:
    file = folder / name
    file.write_bytes(content)
    return file


def check_refused(place: str, *words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        open_place(place)
    for word in words:
        assert word in str(caught.value)


def test_line_and_column_count_from_one_and_columns_are_characters(tmp_path: Path) -> None:
    file = write(tmp_path, "x\n\U0001f986é = 1\r\n".encode())
    document, point = open_place(f"{file}:2:3")
    assert point == Point(1, 2)
    assert document.line_text(1)[: point.column] == "\U0001f986é"
    assert document.uri == file.as_uri()


def test_a_file_name_may_hold_colons(tmp_path: Path) -> None:
    file = write(tmp_path, b"abc", "a:1:2.py")
    assert open_place(f"{file}:1:4")[1] == Point(0, 3)


def test_an_empty_file_has_one_place(tmp_path: Path) -> None:
    file = write(tmp_path, b"")
    assert open_place(f"{file}:1:1")[1] == Point(0, 0)
    check_refused(f"{file}:1:2", "line 1 has 0 characters", "column 2 lies outside (1 to 1)")
    check_refused(f"{file}:2:1", "has 1 line;", "line 2 lies outside")


def test_a_place_outside_is_told_what_would_be_inside(tmp_path: Path) -> None:
    file = write(tmp_path, b"line\n" * 11)
    check_refused(f"{file}:40:1", f"{file} has 12 lines; line 40 lies outside")
    check_refused(f"{file}:3:99", "line 3 has 4 characters; column 99 lies outside (1 to 5)")


def test_a_byte_order_mark_is_no_character(tmp_path: Path) -> None:
    file = write(tmp_path, b"\xef\xbb\xbfab")
    document, _ = open_place(f"{file}:1:3")
    assert document.text == "ab"


@pytest.mark.parametrize(
    "place", ["", "a.py", "a.py:1", "a.py:1:x", ":1:1", "a.py:-1:1", "a.py:²:1"]
)
def test_anything_else_is_no_place(place: str) -> None:
    check_refused(place, repr(place), "FILE:LINE:COL")


@pytest.mark.parametrize("place", ["a.py:0:1", "a.py:1:0"])
def test_zero_is_told_that_counting_starts_at_one(place: str) -> None:
    check_refused(place, "count from 1")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    check_refused(f"{tmp_path / 'gone.py'}:1:1", "gone.py does not exist")


def test_what_is_no_regular_file_is_refused_without_opening_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    check_refused(f"{tmp_path / 'pipe'}:1:1", "pipe is not a regular file")
    check_refused(f"{tmp_path}:1:1", "is a folder")


def test_a_file_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    check_refused(f"{tmp_path / ('x' * 300)}:1:1", "cannot be read", "too long")
    check_refused(f"{write(tmp_path, b'') / 'below'}:1:1", "cannot be read", "directory")


def test_a_binary_file_is_refused(tmp_path: Path) -> None:
    check_refused(f"{write(tmp_path, bytes(10))}:1:1", "binary", "UTF-8")


def test_another_encoding_is_told_to_become_utf_8(tmp_path: Path) -> None:
    check_refused(f"{write(tmp_path, 'né'.encode('latin-1'))}:1:1", "not UTF-8 (byte 1)")
