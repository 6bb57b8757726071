"""Converted weights on disk: one safetensors file, mapped into memory, and the tokenizer beside it.

A conversion is a folder named after the source's content and this format's version, made under another
name and renamed when whole. Nothing in it is code.
"""

import errno
import hashlib
import json
import logging
import os
import shutil
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from tempfile import mkdtemp
from time import time
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import save_file

from goose_lsp.engine.architecture import LlamaConfig
from goose_lsp.engine.int8.forward import Int8Model
from goose_lsp.engine.int8.layout import Arrays, arrays_of, shapes, weights_of
from goose_lsp.tokenizer import Tokenizer

log = logging.getLogger(__name__)

FORMAT = 1  # changes with the layout of the bytes
_WEIGHTS, _TOKENIZER = "weights.safetensors", "tokenizer.json"
_DTYPES = {"U8": np.uint8, "F32": np.float32, "F16": np.float16}
_MAX_HEADER_BYTES = 1 << 20
_MAKING, _ABANDONED_S = "making-", 86_400


def source_key(path: Path, cache_dir: Path) -> str:
    """The folder name for a model file or folder: a digest of its content.

    Remembers the digest by path, sizes and times, so that an unchanged model is not read again.
    """
    files = [path] if path.is_file() else sorted(f for f in path.iterdir() if f.is_file())
    stamp = [[f.name, (status := f.stat()).st_size, status.st_mtime_ns] for f in files]
    notes = cache_dir / "converted" / "sources.json"
    known = _read_notes(notes)
    note = known.get(str(path.resolve()))
    if isinstance(note, dict) and note.get("stamp") == stamp and isinstance(note.get("key"), str):
        return str(note["key"])
    digest = hashlib.sha256()
    for file in files:
        with file.open("rb") as stream:
            digest.update(hashlib.file_digest(stream, "sha256").digest())
    key = digest.hexdigest()[:24]
    known[str(path.resolve())] = {"stamp": stamp, "key": key}
    _write_text(notes, json.dumps(known, indent=1))
    return key


def folder_of(key: str, cache_dir: Path) -> Path:
    return cache_dir / "converted" / f"{key}-int8-v{FORMAT}"


def save(folder: Path, model: Int8Model, tokenizer: Tokenizer) -> None:
    """Write a conversion; a folder that exists already is replaced. Raises `OSError`."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    _sweep(folder.parent)
    making = Path(mkdtemp(prefix=_MAKING, dir=folder.parent))
    try:
        metadata = {
            "format": str(FORMAT),
            "config": json.dumps(asdict(model.config)),
            "control_ids": json.dumps(sorted(tokenizer.control_ids)),
        }
        arrays = {"embedding": np.ascontiguousarray(model.embedding), **arrays_of(model.weights)}
        save_file(arrays, making / _WEIGHTS, metadata)
        tokenizer.save(making / _TOKENIZER)
        for file in (_WEIGHTS, _TOKENIZER):
            _flush(making / file)  # a rename that outlives a power cut must not outlive the data
        shutil.rmtree(folder, ignore_errors=True)
        making.rename(folder)
    except SafetensorError as error:  # its word for a full disk, too
        raise OSError(errno.EIO, str(error)) from None
    finally:
        shutil.rmtree(making, ignore_errors=True)


def load(folder: Path) -> tuple[Int8Model, Tokenizer] | None:
    """A conversion, its weights mapped; None where there is none or it is damaged (which is logged)."""
    if not folder.is_dir():
        return None
    try:
        tensors, metadata = _map(folder / _WEIGHTS)
        config = LlamaConfig(**json.loads(metadata["config"]))
        return _assemble(config, tensors), _tokenizer(folder, metadata)
    except Exception as error:  # noqa: BLE001  a damaged file fails in any of a dozen ways
        log.warning("%s cannot be used and is made again: %r", folder, error)
        return None


def load_tokenizer(folder: Path) -> Tokenizer | None:
    """A conversion's tokenizer alone; None where there is none or it is damaged."""
    if not folder.is_dir():
        return None
    try:
        _, metadata = _map(folder / _WEIGHTS)
        return _tokenizer(folder, metadata)
    except Exception as error:  # noqa: BLE001  a damaged file fails in any of a dozen ways
        log.warning("%s cannot be used: %r", folder, error)
        return None


def _tokenizer(folder: Path, metadata: dict[str, str]) -> Tokenizer:
    return Tokenizer.from_saved(folder / _TOKENIZER, json.loads(metadata["control_ids"]))


def _sweep(parent: Path) -> None:
    """Remove what conversions that were killed have left."""
    for left in parent.glob(f"{_MAKING}*"):
        with suppress(OSError):
            if time() - left.stat().st_mtime > _ABANDONED_S:
                shutil.rmtree(left, ignore_errors=True)


def _flush(file: Path) -> None:
    with file.open("rb+") as stream:
        os.fsync(stream.fileno())


def _assemble(config: LlamaConfig, arrays: Arrays) -> Int8Model:
    """Raises `ValueError` unless every array is there in its shape: the kernels check no bounds."""
    has_head_norms = arrays["q_norm"].shape[1] > 0
    for name, shape in shapes(config, has_head_norms=has_head_norms).items():
        if arrays[name].dtype != _dtype_of(name):
            raise ValueError(f"{name} holds {arrays[name].dtype}")
        if arrays[name].shape != shape:
            raise ValueError(f"{name} has shape {arrays[name].shape}; it must be {shape}")
    angles = np.zeros((0, config.head_size // 2), dtype=np.float32)
    return Int8Model(config, weights_of(arrays, angles), arrays["embedding"])


def _dtype_of(name: str) -> type[np.generic]:
    if name == "embedding":
        return np.float16
    return np.uint8 if name.endswith(".weights") else np.float32


def _map(path: Path) -> tuple[Arrays, dict[str, str]]:
    """Arrays over the file's own pages, which safetensors' reader would copy; raises `ValueError`."""
    n_bytes = path.stat().st_size
    with path.open("rb") as stream:
        n_header = int.from_bytes(stream.read(8), "little")
        if not 0 < n_header <= _MAX_HEADER_BYTES:
            raise ValueError(f"a header of {n_header} bytes")
        header = json.loads(stream.read(n_header))
    metadata = header.pop("__metadata__")
    start = 8 + n_header
    end = start + max(entry["data_offsets"][1] for entry in header.values())
    if end != n_bytes:
        raise ValueError(f"{n_bytes} bytes where the header promises {end}")
    pages = np.memmap(path, dtype=np.uint8, mode="r")
    tensors = {}
    for name, entry in header.items():
        first, last = entry["data_offsets"]
        raw = pages[start + first : start + last].view(np.ndarray)
        tensors[name] = raw.view(_DTYPES[entry["dtype"]]).reshape(entry["shape"])
    return tensors, metadata


def _read_notes(path: Path) -> dict[str, Any]:
    try:
        notes = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return notes if isinstance(notes, dict) else {}


def _write_text(path: Path, text: str) -> None:
    """Atomically; a note that cannot be written is only slower."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(text, "utf-8")
        temporary.replace(path)
    except OSError as error:
        log.debug("%s: %s", path, error)
