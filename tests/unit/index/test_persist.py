import os
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goose_lsp.draft.store import FAR
from goose_lsp.index.persist import FileRecord, Shelf, Snapshot, limit_total
from tests.sources import library_of

FILES = [[1, 2, 3, 1, 2], [], [4, 1, 2, 3]]
PARTS = ("header.msgpack", "tokens", "order", "starts", "keys", "counts")


def snapshot() -> Snapshot:
    records = tuple(FileRecord(f"/w/\udcff{i}", i, 2**60 + i, i, b"d") for i in range(len(FILES)))
    return Snapshot(records, library_of(*((file, FAR) for file in FILES)))


def shelf(cache: Path, key: str = "tokens", n_vocab: int = 10) -> Shelf:
    return Shelf.of(cache, ["/w"], key, n_vocab)


def check_same(found: Snapshot, expected: Snapshot) -> None:
    assert found.files == expected.files
    assert as_lists(found) == as_lists(expected)


def as_lists(of: Snapshot) -> list[list[int]]:
    library = of.library
    arrays: list[Any] = [*library.segment, library.starts, *library.counts]
    return [array.tolist() for array in arrays]


def test_a_snapshot_comes_back_as_it_was_kept(tmp_path: Path) -> None:
    assert shelf(tmp_path).newest() is None
    assert shelf(tmp_path).write(snapshot()) == 1
    found = shelf(tmp_path).newest()
    assert found is not None
    check_same(found[1], snapshot())


def test_mapped_arrays_have_the_type_that_kernels_were_compiled_for(tmp_path: Path) -> None:
    shelf(tmp_path).write(snapshot())
    found = shelf(tmp_path).read(1)
    assert found is not None
    assert found.library.segment.order.flags.writeable
    assert found.library.segment.order.dtype == np.int32


def test_the_next_generation_replaces_the_one_before(tmp_path: Path) -> None:
    shelf(tmp_path).write(snapshot())
    (shelf(tmp_path).folder / "making-left").mkdir()
    assert shelf(tmp_path).write(snapshot()) == 2
    assert os.listdir(shelf(tmp_path).folder) == ["2"]


def test_only_the_user_can_read_it(tmp_path: Path) -> None:
    shelf(tmp_path).write(snapshot())
    folder = shelf(tmp_path).folder
    kept = [folder, folder / "1", *(folder / "1").iterdir()]
    assert {stat.S_IMODE(path.stat().st_mode) & 0o077 for path in kept} == {0}


@pytest.mark.parametrize(
    "other", [{"key": "others"}, {"n_vocab": 11}], ids=["tokenizer", "vocabulary"]
)
def test_another_tokenizers_snapshot_is_not_taken(tmp_path: Path, other: dict[str, object]) -> None:
    shelf(tmp_path).write(snapshot())
    stranger = shelf(tmp_path, **other)  # type: ignore[arg-type]
    assert Shelf(shelf(tmp_path).folder, stranger.tokenizer_key, stranger.n_vocab).newest() is None


@settings(max_examples=150)
@given(st.sampled_from(PARTS), st.integers(0, 10_000), st.integers(1, 255), st.booleans())
def test_a_damaged_file_is_noticed(
    tmp_path_factory: pytest.TempPathFactory, part: str, place: int, flip: int, cuts: bool
) -> None:
    kept = shelf(tmp_path_factory.mktemp("cache"))
    kept.write(snapshot())
    file = kept.folder / "1" / part
    data = bytearray(file.read_bytes())
    place %= len(data)
    data[place] ^= flip
    file.write_bytes(data[:place] if cuts else data)
    assert kept.newest() is None


def test_a_missing_file_is_noticed(tmp_path: Path) -> None:
    shelf(tmp_path).write(snapshot())
    (shelf(tmp_path).folder / "1" / "order").unlink()
    assert shelf(tmp_path).newest() is None


def test_a_workspace_without_files_is_kept_too(tmp_path: Path) -> None:
    shelf(tmp_path).write(Snapshot((), library_of()))
    found = shelf(tmp_path).newest()
    assert found is not None
    assert found[1].n_tokens == 0


def test_a_failing_disk_leaves_the_last_generation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf(tmp_path).write(snapshot())

    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("goose_lsp.index.persist._flush", full)
    with pytest.raises(OSError, match="No space"):
        shelf(tmp_path).write(snapshot())
    assert os.listdir(shelf(tmp_path).folder) == ["1"]


def test_the_workspace_used_longest_ago_makes_room(tmp_path: Path) -> None:
    shelves = [Shelf.of(tmp_path, [root], "t", 10) for root in ("/a", "/b", "/c")]
    for age, kept in enumerate(shelves):
        kept.write(snapshot())
        for file in (kept.folder / "1").iterdir():
            os.utime(file, (1000 + age, 1000 + age))
    size = sum(f.stat().st_size for f in (shelves[0].folder / "1").iterdir())
    limit_total(tmp_path, shelves[0].folder, 2 * size)
    assert [kept.folder.exists() for kept in shelves] == [True, False, True]
