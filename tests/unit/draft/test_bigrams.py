import gc
import logging
import os
import sys
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goose_lsp.draft.bigrams import NO_TOKEN, WAYS, AdjacencyTable
from goose_lsp.errors import GooseError

N_VOCAB = 100
Arrays = dict[str, Any]


def harvest(
    table: AdjacencyTable, *rows: tuple[int, int, list[int]], before: int = NO_TOKEN
) -> None:
    """Rows of (previous, current, successors); probabilities fall by rank."""
    width = max(len(successors) for _, _, successors in rows)
    probabilities = np.array([[0.5 / (i + 1) for i in range(width)]] * len(rows), np.float32)
    table.harvest(
        [previous for previous, _, _ in rows],
        [current for _, current, _ in rows],
        np.array([successors for _, _, successors in rows]),
        probabilities,
        [before] * len(rows),
    )


def successors(
    table: AdjacencyTable, previous: int, current: int, before: int = NO_TOKEN
) -> list[int] | None:
    found = table.successors(previous, current, before)
    return found.token_ids if found else None


def small_table(k: int = 2) -> AdjacencyTable:
    """One bucket of every tier but the last token's, which has two."""
    return AdjacencyTable(k=k, max_pairs=WAYS, max_tokens=2 * WAYS)


def contents(table: AdjacencyTable) -> list[list[Any]]:
    return [column.tolist() for column in table.rows]


def test_the_longest_known_context_wins() -> None:
    table = AdjacencyTable(k=2)
    harvest(table, (1, 2, [3, 4]), before=8)
    harvest(table, (1, 2, [5, 6]), before=9)
    harvest(table, (7, 2, [10, 11]), before=9)
    assert successors(table, 1, 2, before=8) == [3, 4]
    assert successors(table, 1, 2, before=9) == [5, 6]
    assert successors(table, 1, 2, before=50) == [5, 6]
    assert successors(table, 1, 2) == [5, 6]
    assert successors(table, 50, 2, before=9) == [10, 11]
    assert successors(table, NO_TOKEN, 2) == [10, 11]
    assert successors(table, 9, 9) is None


def test_the_same_tokens_in_another_order_are_another_context() -> None:
    table = AdjacencyTable(k=1)
    harvest(table, (2, 3, [30]), before=1)
    harvest(table, (3, 2, [20]), before=1)
    harvest(table, (1, 3, [31]), before=2)
    assert successors(table, 2, 3, before=1) == [30]
    assert successors(table, 3, 2, before=1) == [20]
    assert successors(table, 1, 3, before=2) == [31]


def test_the_pair_says_that_it_is_one() -> None:
    table = AdjacencyTable(k=2)
    harvest(table, (1, 2, [3, 4]))
    pair, single = table.successors(1, 2), table.successors(9, 2)
    assert pair is not None
    assert single is not None
    assert (pair.is_pair, single.is_pair) == (True, False)
    assert pair.probabilities == pytest.approx([0.5, 0.25])


def test_the_last_position_wins_within_one_pass() -> None:
    table = AdjacencyTable(k=1)
    harvest(table, (1, 2, [3]), (1, 2, [4]))
    assert successors(table, 1, 2) == [4]
    assert successors(table, NO_TOKEN, 2) == [4]


def test_an_unknown_token_fills_only_the_shorter_contexts() -> None:
    table = AdjacencyTable(k=1)
    harvest(table, (NO_TOKEN, 2, [3]), before=7)
    found = table.successors(1, 2)
    assert found is not None
    assert not found.is_pair
    assert len(table) == 0
    harvest(table, (1, 2, [4]))
    harvest(table, (1, 2, [5]), before=8)
    assert len(table) == 1
    assert successors(table, 1, 2, before=7) == [5]


def test_a_row_without_probabilities_teaches_nothing() -> None:
    table = AdjacencyTable(k=1)
    harvest(table, (1, 2, [3]))
    before = contents(table)
    table.harvest([1, 5], [2, 6], np.array([[9], [9]]), np.zeros((2, 1), np.float32))
    assert contents(table) == before


def test_probabilities_that_are_no_numbers_teach_nothing() -> None:
    table = AdjacencyTable(k=1)
    table.harvest([1], [2], np.array([[9]]), np.array([[np.nan]], np.float32))
    assert table.successors(1, 2) is None


def test_fewer_probabilities_than_tokens_are_refused() -> None:
    # Of probability 0, so that nothing reads behind the row that is too short.
    with pytest.raises(GooseError, match="differ in length"):
        AdjacencyTable(k=4).harvest([1], [2], np.array([[3, 4]]), np.zeros((1, 1), np.float32))


def test_no_positions_teach_nothing() -> None:
    table = AdjacencyTable(k=2)
    table.harvest([], [], np.zeros((0, 2), int), np.zeros((0, 2), np.float32))
    assert len(table) == 0


def test_fewer_successors_than_k_leave_no_ghosts_of_the_old_row() -> None:
    table = AdjacencyTable(k=3)
    harvest(table, (1, 2, [3, 4, 5]))
    harvest(table, (1, 2, [6]))
    assert successors(table, 1, 2) == [6]


def test_more_successors_than_k_are_cut() -> None:
    table = AdjacencyTable(k=1)
    harvest(table, (1, 2, [3, 4, 5]))
    assert successors(table, 1, 2) == [3]


def test_a_table_wider_than_the_vocabulary_holds_all_of_it() -> None:
    table = AdjacencyTable(k=64)
    harvest(table, (0, 1, [1, 0]))
    assert successors(table, 0, 1) == [1, 0]


def test_a_column_without_probability_ends_the_row() -> None:
    table = AdjacencyTable(k=4)
    table.harvest([1], [2], np.array([[3, 4, 5, 6]]), np.array([[0.9, 0.1, 0, 0]], np.float32))
    assert successors(table, 1, 2) == [3, 4]


def test_the_row_written_longest_ago_makes_room() -> None:
    table = small_table(k=1)
    for token in range(WAYS):
        harvest(table, (token, token, [10 + token]))
    harvest(table, (0, 0, [20]))  # written again: now 1 is the oldest
    harvest(table, (9, 9, [30]))
    pairs = [table.successors(token, token) for token in (0, 2, 3, 9)]
    assert [found and found.token_ids for found in pairs] == [[20], [12], [13], [30]]
    assert all(found is not None and found.is_pair for found in pairs)
    lost = table.successors(1, 1)
    assert lost is None or not lost.is_pair
    assert len(table) == WAYS


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(*[st.integers(0, 9)] * 3, st.integers(0, 99)), max_size=60))
def test_a_bucket_holds_the_contexts_written_last(writes: list[tuple[int, int, int, int]]) -> None:
    table = AdjacencyTable(k=1, max_pairs=1, max_tokens=1)  # one bucket a tier
    written: dict[tuple[int, ...], int] = {}
    pairs: dict[tuple[int, ...], int] = {}
    for before, previous, current, successor in writes:
        harvest(table, (previous, current, [successor]), before=before)
        for key, held in (((before, previous, current), written), ((previous, current), pairs)):
            held.pop(key, None)
            held[key] = successor
    for context, successor in list(written.items())[-WAYS:]:
        assert successors(table, context[1], context[2], context[0]) == [successor]
    for context, successor in list(pairs.items())[-WAYS:]:
        assert successors(table, context[0], context[1]) == [successor]
    assert len(table) == min(WAYS, len(pairs))


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(*[st.integers(0, 5)] * 3, st.integers(0, 99)), max_size=60))
def test_a_table_with_room_knows_the_last_of_every_context(
    writes: list[tuple[int, int, int, int]],
) -> None:
    table = AdjacencyTable(k=1, max_pairs=1 << 12, max_tokens=1 << 10)
    known: dict[tuple[int, ...], int] = {}
    for before, previous, current, successor in writes:
        harvest(table, (previous, current, [successor]), before=before)
        known |= dict.fromkeys(
            [(before, previous, current), (previous, current), (current,)], successor
        )
    for before, previous, current, _ in writes:
        for key in ((before, previous, current), (9, previous, current), (9, 9, current)):
            longest = next(known[key[i:]] for i in range(3) if key[i:] in known)
            assert successors(table, key[1], key[2], key[0]) == [longest]


def test_ids_at_the_edge_of_their_type_are_tokens_like_others() -> None:
    table, edge = AdjacencyTable(k=2), 2**31 - 1
    harvest(table, (edge, edge, [edge, 0]), before=edge)
    assert successors(table, edge, edge, before=edge) == [edge, 0]
    assert successors(table, edge - 1, edge - 1) is None


def test_columns_of_different_lengths_are_refused() -> None:
    with pytest.raises(GooseError, match="differ in length"):
        AdjacencyTable().harvest([1], [1, 2], np.zeros((2, 1), int), np.zeros((2, 1), np.float32))


@pytest.mark.parametrize("sizes", [(0, 1, 1), (1, 0, 1), (1, 1, 0)])
def test_a_table_without_room_is_refused(sizes: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="must be ≥ 1"):
        AdjacencyTable(*sizes)


def filled() -> AdjacencyTable:
    table = small_table()
    harvest(table, (1, 2, [3, 4]), (2, 3, [4, 99]), before=9)
    return table


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    file = tmp_path / "made" / "table.npz"
    table, loaded = filled(), small_table()
    table.save(file)
    assert loaded.load(file, N_VOCAB)
    assert contents(loaded) == contents(table)
    assert [path.name for path in file.parent.iterdir()] == [file.name]
    harvest(loaded, (5, 6, [7, 8]))
    harvest(table, (5, 6, [7, 8]))
    assert contents(loaded) == contents(table)


def test_what_is_loaded_takes_the_place_of_what_was_there(tmp_path: Path) -> None:
    file, table = tmp_path / "table.npz", small_table()
    filled().save(file)
    harvest(table, (5, 6, [7, 8]), (6, 7, [8, 9]), (7, 8, [9, 10]))
    assert table.load(file, N_VOCAB)
    assert contents(table) == contents(filled())


def test_an_empty_table_is_saved_and_loaded(tmp_path: Path) -> None:
    small_table().save(tmp_path / "table.npz")
    table = small_table()
    assert table.load(tmp_path / "table.npz", N_VOCAB)
    assert contents(table) == contents(small_table())


def test_a_file_that_is_not_there_is_nothing_to_speak_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    table = filled()
    assert not table.load(tmp_path / "none.npz", N_VOCAB)
    assert contents(table) == contents(filled())
    assert not caplog.records


def check_refused(file: Path, caplog: pytest.LogCaptureFixture, n_vocab: int = N_VOCAB) -> None:
    """The table stays as it was, and one line of the log names the file."""
    table = small_table()
    harvest(table, (50, 51, [52, 53]))
    before = contents(table)
    with warnings.catch_warnings(), caplog.at_level(logging.WARNING, "goose_lsp.draft.bigrams"):
        warnings.simplefilter("ignore", ResourceWarning)  # looked at by its own test
        assert not table.load(file, n_vocab)
        messages = taken_messages(caplog)
    assert contents(table) == before
    assert [message.partition(" is damaged")[0] for message in messages] == [str(file)]


def taken_messages(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What was logged; the records let go of the errors they mention, and these of open files."""
    messages = [record.getMessage() for record in caplog.records]
    for record in caplog.records:
        record.args = ()
    gc.collect()
    return messages


@pytest.mark.parametrize("n_bytes", [0, 1, 100, -1, -30])
def test_a_file_that_was_cut_is_refused(
    n_bytes: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "table.npz"
    filled().save(file)
    file.write_bytes(file.read_bytes()[:n_bytes])
    check_refused(file, caplog)


def test_a_file_that_was_cut_is_not_left_open(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, left_open = tmp_path / "table.npz", list[str]()
    filled().save(file)
    file.write_bytes(file.read_bytes()[:100])
    monkeypatch.setattr(sys, "unraisablehook", lambda it: left_open.append(str(it.exc_value)))
    with warnings.catch_warnings():
        warnings.simplefilter("error", ResourceWarning)
        small_table().load(file, N_VOCAB)
        taken_messages(caplog)
    assert not left_open


def test_a_file_with_a_changed_byte_is_refused(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "table.npz"
    filled().save(file)
    with zipfile.ZipFile(file) as archive:
        part = archive.getinfo("keys.npy")
        start = part.header_offset + 30 + len(part.filename)
    content = bytearray(file.read_bytes())
    content[start + part.compress_size // 2] ^= 0xFF
    file.write_bytes(content)
    check_refused(file, caplog)


def test_a_file_of_another_kind_is_refused(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "table.npz"
    with file.open("wb") as stream:
        np.save(stream, np.zeros(3))
    check_refused(file, caplog)


def test_a_table_of_other_sizes_is_refused(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "table.npz"
    AdjacencyTable(k=2, max_pairs=64, max_tokens=8).save(file)
    check_refused(file, caplog)


def test_a_table_of_another_width_is_refused(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "table.npz"
    small_table(k=3).save(file)
    check_refused(file, caplog)


def test_a_table_of_a_larger_vocabulary_is_refused(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "table.npz"
    filled().save(file)
    assert small_table().load(file, n_vocab=100)
    check_refused(file, caplog, n_vocab=99)


def with_value(name: str, value: Any) -> Callable[[Arrays], Arrays]:
    """The array with `value` in its first place."""

    def change(arrays: Arrays) -> Arrays:
        changed = arrays[name].copy()
        changed.flat[0] = value
        return arrays | {name: changed}

    return change


def with_array(name: str, make: Callable[[npt.NDArray[Any]], Any]) -> Callable[[Arrays], Arrays]:
    return lambda arrays: arrays | {name: np.asarray(make(arrays[name]))}


def without(name: str) -> Callable[[Arrays], Arrays]:
    return lambda arrays: {other: array for other, array in arrays.items() if other != name}


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(with_value("format", 0), id="another format"),
        pytest.param(with_value("starts", 4), id="other tiers"),
        pytest.param(with_value("rows", -1), id="a row before the first"),
        pytest.param(with_value("rows", 16), id="a row behind the last"),
        pytest.param(with_value("keys", -1), id="a free row"),
        pytest.param(with_value("token_ids", -1), id="a negative token"),
        pytest.param(with_value("token_ids", N_VOCAB), id="a token out of the vocabulary"),
        pytest.param(with_value("probabilities", np.nan), id="not a number"),
        pytest.param(with_value("probabilities", np.inf), id="infinite"),
        pytest.param(with_array("keys", lambda keys: keys[:-1]), id="too few keys"),
        pytest.param(with_array("stamps", lambda stamps: stamps[:-1]), id="too few stamps"),
        pytest.param(with_array("token_ids", lambda ids: ids[:-1]), id="too few tokens"),
        pytest.param(with_array("token_ids", lambda ids: ids[:, :1]), id="too narrow"),
        pytest.param(with_array("probabilities", lambda p: p[:, :1]), id="narrow probabilities"),
        pytest.param(with_array("rows", lambda rows: rows + 0.5), id="half rows"),
        pytest.param(
            with_array("token_ids", lambda ids: ids.astype(object)), id="pickled token ids"
        ),
        pytest.param(with_array("keys", lambda keys: keys.astype(str)[:, None]), id="text"),
        *(
            pytest.param(without(name), id=f"no {name}")
            for name in ("format", "rows", "starts", "keys", "stamps", "token_ids", "probabilities")
        ),
        pytest.param(without("clock"), id="no clock"),
        pytest.param(with_array("clock", lambda _: 7), id="a bare clock"),
        pytest.param(
            with_array("stamps", lambda stamps: np.stack([stamps, stamps], 1)),
            id="twice the stamps",
        ),
    ],
)
def test_a_file_with_unsound_arrays_is_refused(
    change: Callable[[Arrays], Arrays], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "table.npz"
    filled().save(file)
    with np.load(file) as kept:
        arrays = {name: kept[name] for name in kept.files}
    with file.open("wb") as stream:
        np.savez_compressed(stream, **change(arrays))
    check_refused(file, caplog)


class Trap:
    """Its pickle makes a folder when read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __reduce__(self) -> tuple[Callable[[str], None], tuple[str]]:
        return os.mkdir, (str(self._folder),)


def test_a_pickle_is_never_run(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file, trap = tmp_path / "table.npz", Trap(tmp_path / "sprung")
    with file.open("wb") as stream:
        np.savez_compressed(stream, rows=np.array([trap], dtype=object))
    check_refused(file, caplog)
    assert not (tmp_path / "sprung").exists()


def test_a_save_that_fails_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError("no space left")

    filled().save(tmp_path / "table.npz")
    monkeypatch.setattr(np, "savez", fail)
    with pytest.raises(OSError, match="no space left"):
        filled().save(tmp_path / "table.npz")
    assert [file.name for file in tmp_path.iterdir()] == ["table.npz"]
    assert small_table().load(tmp_path / "table.npz", N_VOCAB)
