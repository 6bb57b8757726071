import os
import stat
from concurrent.futures import ThreadPoolExecutor
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


def changed(name: str, place: int, value: int) -> Snapshot:
    """A snapshot with one number that its writer got wrong, or meant ill with."""
    it = snapshot()
    library = it.library
    arrays: dict[str, Any] = {
        "tokens": library.segment.tokens,
        "order": library.segment.order,
        "starts": library.starts,
        "keys": library.counts.keys,
    }
    arrays[name][place] = value
    return it


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("tokens", 0, 10),  # no such token
        ("tokens", 0, -2),
        ("tokens", 5, 1),  # nothing between two files
        ("order", 0, 12),  # behind the end
        ("order", 0, -1),
        ("starts", 0, 1),
        ("starts", 1, 0),  # not ascending
        ("starts", 3, 13),
        ("keys", 0, 1 << 62),  # not ascending
        ("keys", -1, (4 << 42) | (1 << 21) | 10),  # followed by no such token
    ],
)
def test_numbers_that_lead_astray_are_noticed_where_all_sums_agree(
    tmp_path: Path, name: str, place: int, value: int
) -> None:
    assert shelf(tmp_path).newest() is None
    shelf(tmp_path).write(changed(name, place, value))
    assert shelf(tmp_path).newest() is None


def test_writers_take_turns(tmp_path: Path) -> None:
    """The second waits for the first: were it not so, each would sweep away what the other makes."""
    with ThreadPoolExecutor(4) as pool:
        generations = list(pool.map(lambda _: shelf(tmp_path).write(snapshot()), range(12)))
    assert sorted(generations) == list(range(1, 13))
    assert os.listdir(shelf(tmp_path).folder) == ["12"]


def test_use_counts_when_room_is_made(tmp_path: Path) -> None:
    one, other = (Shelf.of(tmp_path, [root], "t", 10) for root in ("/a", "/b"))
    for kept in (one, other):
        kept.write(snapshot())
        os.utime(kept.folder, (1000, 1000))
    one.mark_used()
    size = sum(file.stat().st_size for file in (one.folder / "1").iterdir())
    limit_total(tmp_path, tmp_path / "none", size)
    assert [kept.folder.exists() for kept in (one, other)] == [True, False]


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
        os.utime(kept.folder, (1000 + age, 1000 + age))
    size = sum(f.stat().st_size for f in (shelves[0].folder / "1").iterdir())
    limit_total(tmp_path, shelves[0].folder, 2 * size)
    assert [kept.folder.exists() for kept in shelves] == [True, False, True]
