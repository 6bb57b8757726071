"""Conversions on disk: what is kept comes back, what is damaged is not used, and keys follow content."""

import hashlib
import json
import logging
import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import SafetensorError

from goose_lsp.engine.forward import NewTokens
from goose_lsp.engine.int8 import converted
from goose_lsp.engine.int8.arrays import Linear
from goose_lsp.engine.int8.forward import Int8Forward, Int8Model
from goose_lsp.engine.int8.pack import pack
from tests.tiny import BYTE_SIZED, byte_tokenizer, tiny_source

WEIGHTS, TOKENIZER = "weights.safetensors", "tokenizer.json"


@cache
def model() -> Int8Model:
    return pack(tiny_source(config=BYTE_SIZED))


def arrays_of(model: Int8Model) -> dict[str, np.ndarray[Any, Any]]:
    arrays: dict[str, np.ndarray[Any, Any]] = {"embedding": model.embedding}
    for name, value in model.weights._asdict().items():
        parts = value if isinstance(value, Linear) else [value]
        arrays |= {f"{name} {number}": part for number, part in enumerate(parts)}
    return arrays


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = converted.folder_of("abc", tmp_path)
    converted.save(folder, model(), byte_tokenizer())
    return folder


def check_whole(folder: Path) -> None:
    loaded = converted.load(folder)
    assert loaded is not None
    ours, theirs = arrays_of(loaded[0]), arrays_of(model())
    assert ours.keys() == theirs.keys()
    for name, array in ours.items():
        assert array.dtype == theirs[name].dtype
        assert np.array_equal(array, theirs[name]), name


def check_unusable(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert converted.load(folder) is None
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert str(folder) in record.getMessage()


def test_what_was_saved_is_loaded_bit_by_bit(folder: Path) -> None:
    check_whole(folder)
    loaded = converted.load(folder)
    assert loaded is not None
    assert loaded[0].config == BYTE_SIZED
    tokenizer, original = loaded[1], byte_tokenizer()
    assert tokenizer.control_ids == original.control_ids == {256}
    assert tokenizer.n_vocab == original.n_vocab
    text = "def f(): return 'ä<|end|>'\n"
    assert tokenizer.encode(text) == original.encode(text)


def test_a_loaded_model_computes_what_the_packed_one_does(folder: Path) -> None:
    loaded = converted.load(folder)
    assert loaded is not None
    tokens = NewTokens.causal([1, 2, 3, 4, 5])
    ours, theirs = (
        forward.logits(forward.new_store(64), 0, tokens)
        for forward in (Int8Forward(loaded[0], 64), Int8Forward(model(), 64))
    )
    assert np.array_equal(ours, theirs)


def test_loaded_arrays_lie_in_the_mapped_file_and_cannot_be_written(folder: Path) -> None:
    loaded = converted.load(folder)
    assert loaded is not None
    for name, array in arrays_of(loaded[0]).items():
        if array.size == 0:
            continue  # angles are the forward's to make
        base: Any = array
        while isinstance(base, np.ndarray) and not isinstance(base, np.memmap):
            base = base.base
        assert isinstance(base, np.memmap), name
        assert not array.flags.writeable, name


def test_saving_again_replaces_and_leaves_nothing_else(folder: Path) -> None:
    (folder / "left over").touch()
    converted.save(folder, model(), byte_tokenizer())
    check_whole(folder)
    assert sorted(path.name for path in folder.iterdir()) == [TOKENIZER, WEIGHTS]
    assert list(folder.parent.iterdir()) == [folder]


def test_a_save_that_fails_leaves_the_old_conversion_and_no_half_of_a_new_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(converted, "save_file", full)
    with pytest.raises(OSError, match="No space left"):
        converted.save(folder, model(), byte_tokenizer())
    check_whole(folder)
    assert list(folder.parent.iterdir()) == [folder]


def test_where_nothing_was_converted_nothing_is_loaded_or_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert converted.load(converted.folder_of("abc", tmp_path)) is None
    assert not caplog.records


@pytest.mark.parametrize("n_left", [0, 1, 7, 8, 9, 500, 20_000, -1])
def test_a_truncated_file_is_not_used(
    folder: Path, caplog: pytest.LogCaptureFixture, n_left: int
) -> None:
    content = (folder / WEIGHTS).read_bytes()
    (folder / WEIGHTS).write_bytes(content[:n_left])
    check_unusable(folder, caplog)


def test_a_file_with_more_behind_it_is_not_used(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with (folder / WEIGHTS).open("ab") as stream:
        stream.write(b"\0")
    check_unusable(folder, caplog)


def framed(header: bytes) -> bytes:
    return len(header).to_bytes(8, "little") + header


NO_WEIGHTS = {
    "garbage": b"garbage, and long enough to hold a length",
    "huge header": (2**63).to_bytes(8, "little") + b"{}",
    "large header": framed(b"{}" + b" " * 2**20),
    "empty header": framed(b""),
    "half a header": framed(b"{"),
    "header in no encoding": framed(b"\xff\xfe\xfd"),
    "header without metadata": framed(b"{}"),
    "header of a list": framed(b"[]"),
    "header of nothing": framed(b"null"),
    "header of text": framed(b'"text"'),
    "header too deep": framed(b"[" * 100_000),
    "no arrays": framed(b'{"__metadata__": {}}'),
    "array of a number": framed(b'{"__metadata__": {}, "embedding": 5}'),
    "array without an end": framed(b'{"__metadata__": {}, "embedding": {"data_offsets": []}}'),
    "array between texts": framed(
        b'{"__metadata__": {}, "embedding": {"data_offsets": ["a", "b"]}}'
    ),
    "array of no type": framed(b'{"__metadata__": {}, "embedding": {"data_offsets": [0, 0]}}'),
}


@pytest.mark.parametrize(
    "content",
    NO_WEIGHTS.values(),
    ids=NO_WEIGHTS,
)
def test_a_file_that_holds_no_weights_is_not_used(
    folder: Path, caplog: pytest.LogCaptureFixture, content: bytes
) -> None:
    (folder / WEIGHTS).write_bytes(content)
    check_unusable(folder, caplog)


def rewrite_header(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    content = (folder / WEIGHTS).read_bytes()
    end = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:end])
    change(header)
    (folder / WEIGHTS).write_bytes(framed(json.dumps(header).encode()) + content[end:])


def config_without(name: str) -> str:
    fields = {n: getattr(BYTE_SIZED, n) for n in BYTE_SIZED.__dataclass_fields__ if n != name}
    return json.dumps(fields)


WRONG: dict[str, Callable[[dict[str, Any]], object]] = {
    "no metadata": lambda h: h.pop("__metadata__"),
    "metadata of nothing": lambda h: h.update(__metadata__=None),
    "no config": lambda h: h["__metadata__"].pop("config"),
    "broken config": lambda h: h["__metadata__"].update(config="{"),
    "config of a list": lambda h: h["__metadata__"].update(config="[]"),
    "config of a number": lambda h: h["__metadata__"].update(config="7"),
    "config of zeros": lambda h: h["__metadata__"].update(config='{"n_layers": 0}'),
    "config without a size": lambda h: h["__metadata__"].update(config=config_without("n_vocab")),
    "no control ids": lambda h: h["__metadata__"].pop("control_ids"),
    "control ids of a number": lambda h: h["__metadata__"].update(control_ids="5"),
    "no embedding": lambda h: h.update(other=h.pop("embedding")),
    "no scales": lambda h: h.update(other=h.pop("qkv.scales")),
    "unknown type": lambda h: h["embedding"].update(dtype="I64"),
    "wrong shape": lambda h: h["embedding"].update(shape=[1, 2, 3]),
    "shape of text": lambda h: h["embedding"].update(shape="wide"),
    "no place": lambda h: h["embedding"].pop("data_offsets"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_header_with_wrong_contents_is_not_used(
    folder: Path, caplog: pytest.LogCaptureFixture, wrong: str
) -> None:
    rewrite_header(folder, WRONG[wrong])
    check_unusable(folder, caplog)


@pytest.mark.parametrize("content", [None, b"", b"{}", b"\xff", b"[1, 2]"])
def test_a_missing_or_damaged_tokenizer_makes_a_conversion_unusable(
    folder: Path, caplog: pytest.LogCaptureFixture, content: bytes | None
) -> None:
    (folder / TOKENIZER).unlink()
    if content is not None:
        (folder / TOKENIZER).write_bytes(content)
    check_unusable(folder, caplog)


@pytest.mark.parametrize("name", [WEIGHTS, TOKENIZER])
def test_a_folder_in_a_files_place_makes_a_conversion_unusable(
    folder: Path, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    (folder / name).unlink()
    (folder / name).mkdir()
    check_unusable(folder, caplog)


def test_a_file_in_the_folders_place_is_no_conversion(folder: Path) -> None:
    loose = folder.with_name("loose")
    loose.write_text("")
    assert converted.load(loose) is None


_SAVER = """
import sys
from pathlib import Path
from tests.unit.engine.int8.test_converted import byte_tokenizer, converted, model
folder, weights, tokenizer = Path(sys.argv[1]), model(), byte_tokenizer()
print("ready", flush=True)
sys.stdin.readline()
n_saved = 0
for _ in range(20):
    try:
        converted.save(folder, weights, tokenizer)
        n_saved += 1
    except OSError:
        pass
print(n_saved)
"""


def test_processes_that_save_at_once_leave_one_whole_conversion(tmp_path: Path) -> None:
    folder, root = converted.folder_of("abc", tmp_path), Path(__file__).parents[4]
    savers = [
        subprocess.Popen(
            [sys.executable, "-c", _SAVER, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=root,
        )
        for _ in range(2)
    ]
    for saver in savers:
        assert saver.stdout is not None
        assert saver.stdout.readline() == "ready\n"
    for saver in savers:
        assert saver.stdin is not None
        saver.stdin.write("\n")
        saver.stdin.flush()
    n_saved = [int(saver.communicate(timeout=120)[0]) for saver in savers]
    assert [saver.returncode for saver in savers] == [0, 0]
    assert max(n_saved) > 0
    check_whole(folder)
    assert list(folder.parent.iterdir()) == [folder]


def test_a_folder_is_named_after_the_key_and_the_format(tmp_path: Path) -> None:
    folder = converted.folder_of("k3y", tmp_path)
    assert folder.parent == tmp_path / "converted"
    assert folder.name == f"k3y-int8-v{converted.FORMAT}"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"weights")
    return path


@pytest.fixture
def cache_dir(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def folder_source(path: Path, **files: bytes) -> Path:
    path.mkdir()
    for name, content in files.items():
        (path / name).write_bytes(content)
    return path


def test_the_same_content_elsewhere_has_the_same_key(source: Path, cache_dir: Path) -> None:
    key = converted.source_key(source, cache_dir)
    other = source.with_name("another name.gguf")
    other.write_bytes(source.read_bytes())
    assert converted.source_key(other, cache_dir) == key
    assert converted.source_key(other, cache_dir.with_name("elsewhere")) == key
    assert len(key) == 24
    assert key.isalnum()


def test_changed_content_has_another_key(source: Path, cache_dir: Path) -> None:
    key = converted.source_key(source, cache_dir)
    source.write_bytes(b"weight!")
    os.utime(source, ns=(0, 1))  # whatever the clock's resolution
    assert converted.source_key(source, cache_dir) != key


def test_a_folders_key_depends_on_each_of_its_files(tmp_path: Path, cache_dir: Path) -> None:
    keys = [
        converted.source_key(folder_source(tmp_path / str(number), **files), cache_dir)
        for number, files in enumerate(
            [
                {"a": b"1", "b": b"2"},
                {"b": b"2", "a": b"1"},
                {"a": b"1", "b": b"3"},
                {"a": b"12", "b": b""},
                {"a": b"12"},
            ]
        )
    ]
    assert keys[0] == keys[1]
    assert len(set(keys)) == 4


def test_a_file_added_to_a_folder_changes_its_key(tmp_path: Path, cache_dir: Path) -> None:
    path = folder_source(tmp_path / "model", a=b"1")
    key = converted.source_key(path, cache_dir)
    (path / "b").write_bytes(b"2")
    assert converted.source_key(path, cache_dir) != key


def test_an_unchanged_model_is_not_read_again(
    source: Path, cache_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = converted.source_key(source, cache_dir)

    def read_again(*_: Any) -> None:
        raise AssertionError("the model was read again")

    monkeypatch.setattr(hashlib, "file_digest", read_again)
    assert converted.source_key(source, cache_dir) == key
    os.utime(source, ns=(0, 1))
    with pytest.raises(AssertionError, match="read again"):
        converted.source_key(source, cache_dir)


def test_notes_keep_every_model(source: Path, cache_dir: Path) -> None:
    other = source.with_name("other.gguf")
    other.write_bytes(b"other")
    for path in (source, other):
        converted.source_key(path, cache_dir)
    notes = json.loads((cache_dir / "converted" / "sources.json").read_text())
    assert notes.keys() == {str(source.resolve()), str(other.resolve())}
    assert [path.name for path in (cache_dir / "converted").iterdir()] == ["sources.json"]


def damaged_notes(source: Path) -> list[bytes]:
    status = source.stat()
    stamp = [[source.name, status.st_size, status.st_mtime_ns]]
    wrong: list[Any] = [None, 5, [], {}, {"stamp": stamp, "key": ["no", "text"]}]
    return [
        b"", b"{", b"[]", b"null", b"\xff\xfe", b'"text"',
        *(json.dumps({str(source.resolve()): n}).encode() for n in wrong),
    ]  # fmt: skip


def test_damaged_notes_are_ignored_and_made_again(source: Path, cache_dir: Path) -> None:
    key = converted.source_key(source, cache_dir)
    notes = cache_dir / "converted" / "sources.json"
    whole = json.loads(notes.read_text())
    for content in damaged_notes(source):
        notes.write_bytes(content)
        assert converted.source_key(source, cache_dir) == key
        assert json.loads(notes.read_text()) == whole


def test_notes_that_cannot_be_kept_only_cost_time(source: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    key = converted.source_key(source, tmp_path / "file")
    assert key == converted.source_key(source, tmp_path / "cache")


def test_a_model_that_is_gone_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="gone"):
        converted.source_key(tmp_path / "gone", tmp_path)


def test_what_a_killed_conversion_left_is_removed_after_a_day(folder: Path) -> None:
    old, recent = folder.parent / "making-old", folder.parent / "making-recent"
    for left in (old, recent):
        left.mkdir()
    os.utime(old, (0, 0))
    converted.save(folder, model(), byte_tokenizer())
    assert not old.exists()
    assert recent.exists()


def test_a_full_disk_is_an_ordinary_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise SafetensorError("no space left")

    monkeypatch.setattr(converted, "save_file", fail)
    with pytest.raises(OSError, match="no space left"):
        converted.save(folder, model(), byte_tokenizer())
    assert converted.load(folder) is not None, "what was there before stays"
    assert not list(folder.parent.glob("making-*"))
