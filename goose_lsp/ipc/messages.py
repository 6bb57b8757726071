"""The messages of the wire, and their bytes. Nothing else ever crosses it.

A message is a msgpack pair [name, {field: value}]. Text may hold anything an editor can hold, lone
surrogates included. Decoding checks every name, field and type and raises `ProtocolError`; it never
guesses. Change a message and `PROTOCOL_VERSION` changes with it.
"""

from dataclasses import dataclass, field, fields
from types import GenericAlias
from typing import Any, get_args, get_origin, get_type_hints

import msgpack

from goose_lsp.errors import ProtocolError
from goose_lsp.ipc.framing import MAX_FRAME_BYTES

PROTOCOL_VERSION = 2
# Containers come only as lists of edits and maps of statistics; far below this in honest traffic.
MAX_ELEMENTS = 200_000


@dataclass(frozen=True, slots=True)
class Hello:
    """Client, first message. The daemon answers `Welcome` whatever the versions are.

    `Hello`, `Welcome`, `Shutdown` and `Failure` keep their form in every protocol version, so that a
    client can always ask a daemon of another version to end.
    """

    protocol: int
    version: str
    client: str  # "lsp", "cli", …: for the log only


@dataclass(frozen=True, slots=True)
class Welcome:
    """Daemon, first message. A client of another version may only send `Shutdown` after it."""

    protocol: int
    version: str
    pid: int


@dataclass(frozen=True, slots=True)
class OpenWorkspace:
    """The folders the client has open, as absolute paths; what was said before no longer holds."""

    folders: list[str]


@dataclass(frozen=True, slots=True)
class FilesChanged:
    """Files that the client saw change on disk. A hint: the daemon watches by itself where it can."""

    paths: list[str]


@dataclass(frozen=True, slots=True)
class OpenDocument:
    uri: str
    version: int
    language: str
    text: str


@dataclass(frozen=True, slots=True)
class ChangeDocument:
    """Edits apply in order, each to the result of the one before.

    An edit is [start line, start column, end line, end column, text], columns in code points.
    """

    uri: str
    from_version: int
    version: int
    edits: list[list[Any]]


@dataclass(frozen=True, slots=True)
class CloseDocument:
    uri: str


@dataclass(frozen=True, slots=True)
class Resync:
    """Daemon: what came does not fit the document it holds; send `OpenDocument` again."""

    uri: str


@dataclass(frozen=True, slots=True)
class Complete:
    """Ask for a completion. Answered by exactly one `CompleteReply` with the same request id."""

    request_id: int
    uri: str
    version: int
    line: int
    column: int
    trigger: str = "automatic"
    deadline_ms: int = 0  # 0: no deadline
    max_new_tokens: int = 0  # 0: the daemon's setting
    policy: str = ""  # "": the daemon's setting; "plain" decodes without drafts
    is_isolated: bool = False  # start from an empty cache and empty tables: for measuring
    wants_trace: bool = False  # also return who proposed each token
    tab_size: int = 0  # blanks that the editor indents by; 0: it has not said
    insert_spaces: bool = True  # false: it indents by tabs


@dataclass(frozen=True, slots=True)
class Accepted:
    """The user has taken over this text, the last that was offered there or the end of it."""

    uri: str
    text: str


@dataclass(frozen=True, slots=True)
class Rejected:
    """The user does not want this text, which was offered there."""

    uri: str
    text: str


@dataclass(frozen=True, slots=True)
class Cancel:
    request_id: int


@dataclass(frozen=True, slots=True)
class CompleteReply:
    request_id: int
    uri: str
    version: int
    text: str
    start_line: int
    start_column: int
    end_line: int
    end_column: int
    reason: str
    detail: str = ""
    stats: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AskStatus:
    request_id: int


@dataclass(frozen=True, slots=True)
class Status:
    """`model_state` is one of missing, idle, loading, ready, broken."""

    request_id: int
    pid: int
    version: str
    model: str
    model_state: str
    detail: str
    uptime_s: float
    n_clients: int
    n_documents: int
    counters: dict[str, Any] = field(default_factory=dict)
    index: list[dict[str, Any]] = field(default_factory=list)  # one a workspace


@dataclass(frozen=True, slots=True)
class Shutdown:
    """Ask the daemon to end; it closes every connection."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Daemon: this connection cannot go on; it is closed afterwards."""

    message: str


Message = (
    Hello
    | Welcome
    | OpenWorkspace
    | FilesChanged
    | OpenDocument
    | ChangeDocument
    | CloseDocument
    | Resync
    | Complete
    | Accepted
    | Rejected
    | Cancel
    | CompleteReply
    | AskStatus
    | Status
    | Shutdown
    | Failure
)
_KINDS: dict[str, type[Any]] = {kind.__name__: kind for kind in get_args(Message)}
_HINTS = {kind: get_type_hints(kind) for kind in _KINDS.values()}


def encode(message: Message) -> bytes:
    """The payload of one frame. Raises `ProtocolError` if it would exceed `MAX_FRAME_BYTES`."""
    body = {f.name: getattr(message, f.name) for f in fields(message)}
    payload: bytes = msgpack.packb(
        [type(message).__name__, body], use_bin_type=True, unicode_errors="surrogatepass"
    )
    if len(payload) > MAX_FRAME_BYTES:
        raise ProtocolError(
            f"a {type(message).__name__} of {len(payload)} bytes; the limit is {MAX_FRAME_BYTES}"
        )
    return payload


def decode(payload: bytes) -> Message:
    """The message in one frame. Raises `ProtocolError` on anything else."""
    match _unpack(payload):
        case [str(name), dict(body)] if name in _KINDS:
            return _build(_KINDS[name], body)
        case [str(name), *_]:
            raise ProtocolError(f"unknown message {name[:40]!r}")
        case _:
            raise ProtocolError("a frame must hold [name, {field: value}]")


def _unpack(payload: bytes) -> Any:
    try:
        return msgpack.unpackb(
            payload,
            unicode_errors="surrogatepass",
            max_array_len=MAX_ELEMENTS,
            max_map_len=MAX_ELEMENTS,
            max_str_len=MAX_FRAME_BYTES,
            max_bin_len=0,
            max_ext_len=0,
        )
    except Exception as error:  # noqa: BLE001  msgpack raises many kinds, all meaning the same here
        raise ProtocolError(f"not a message: {type(error).__name__}: {error}") from None


def _build(kind: type[Any], body: dict[Any, Any]) -> Message:
    hints = _HINTS[kind]
    for name, value in body.items():
        if name not in hints:
            raise ProtocolError(f"{kind.__name__} has no field {str(name)[:40]!r}")
        if not _fits(value, hints[name]):
            raise ProtocolError(
                f"{kind.__name__}.{name} is a {type(value).__name__}; it must be {hints[name]}"
            )
    try:
        message: Message = kind(**body)
    except TypeError as error:
        raise ProtocolError(f"{kind.__name__} is incomplete: {error}") from None
    return message


def _fits(value: Any, hint: type[Any] | GenericAlias | object) -> bool:
    """Whether a decoded value has exactly the annotated type (a bool is not an int here)."""
    if hint is Any:
        return True
    if get_origin(hint) is list:
        (inner,) = get_args(hint)
        return type(value) is list and all(_fits(item, inner) for item in value)
    if get_origin(hint) is dict:
        return type(value) is dict and all(type(key) is str for key in value)
    if hint is float:
        return type(value) in (float, int)
    return type(value) is hint
