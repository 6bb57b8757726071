"""What a daemon and the process that builds its index say to each other, and their bytes.

Frames as on the daemon's own wire; both ends are ours and of one version, so a frame that is no message ends the pair.
"""

from dataclasses import dataclass, fields
from typing import Any, get_args

import msgpack

from goose_lsp.errors import ProtocolError


@dataclass(frozen=True, slots=True)
class Start:
    """To the builder, first: what to index. Paths are the file system's bytes."""

    roots: list[bytes]
    cache_dir: bytes
    tokenizer: bytes  # a file that `Tokenizer.save` wrote
    tokenizer_key: str
    keeps_watching: bool = True


@dataclass(frozen=True, slots=True)
class Touched:
    """To the builder: these files may have changed."""

    paths: list[bytes]


@dataclass(frozen=True, slots=True)
class Progress:
    phase: str  # scanning, reading, building
    n_done: int
    n_total: int  # 0: not known yet


@dataclass(frozen=True, slots=True)
class Published:
    """A new base is on disk. It holds every change that was told before."""

    generation: int
    n_files: int
    n_tokens: int
    n_read: int  # files that had to be read anew
    refused: dict[str, int]


@dataclass(frozen=True, slots=True)
class FileChanged:
    path: bytes
    tokens: bytes  # int32, little-endian


@dataclass(frozen=True, slots=True)
class FileRemoved:
    path: bytes


@dataclass(frozen=True, slots=True)
class Notice:
    """Something a user should know; each cause is told once."""

    text: str


Message = Start | Touched | Progress | Published | FileChanged | FileRemoved | Notice
_KINDS: dict[str, type[Any]] = {kind.__name__: kind for kind in get_args(Message)}


def encode(message: Message) -> bytes:
    """The payload of one frame."""
    body = [getattr(message, f.name) for f in fields(message)]
    payload: bytes = msgpack.packb([type(message).__name__, *body])
    return payload


def decode(payload: bytes) -> Message:
    """The message in one frame; raises `ProtocolError` on anything else."""
    try:
        name, *body = msgpack.unpackb(payload)
        message: Message = _KINDS[name](*body)
    except Exception as error:  # noqa: BLE001  msgpack raises many kinds, all meaning the same here
        raise ProtocolError(f"not a message of the index: {type(error).__name__}") from None
    return message
