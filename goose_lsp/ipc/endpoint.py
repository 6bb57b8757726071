"""The place where clients and the daemon meet: one directory that only its user can enter."""

import fcntl
import json
import os
import socket
import stat
import struct
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from goose_lsp.errors import ConfigError, ProtocolError

# Bytes of sockaddr_un.sun_path without the NUL that ends it.
MAX_SOCKET_PATH_BYTES = 107 if sys.platform == "linux" else 103


@dataclass(frozen=True, slots=True)
class DaemonRecord:
    """What a running daemon writes about itself; for people and error messages only."""

    pid: int
    protocol: int
    version: str
    started: str  # ISO 8601, UTC


class Endpoint:
    """The names in a runtime directory. Nothing is created or checked before `prepare`."""

    def __init__(self, runtime_dir: Path) -> None:
        self.runtime_dir = runtime_dir.absolute()
        self.socket_path = self.runtime_dir / "daemon.sock"
        self.lock_path = self.runtime_dir / "daemon.lock"
        self.record_path = self.runtime_dir / "daemon.json"
        self.start_log_path = self.runtime_dir / "daemon-start.log"

    def prepare(self) -> None:
        """Make the directory if needed. Raises `ConfigError` if it is not safe or not usable."""
        self._check_socket_path()
        try:
            self.runtime_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
            found = self.runtime_dir.lstat()
        except OSError as error:
            raise ConfigError(
                f"{self.runtime_dir} cannot be made: {error.strerror}; "
                "set GOOSE_LSP_PATHS_RUNTIME_DIR to a directory of yours"
            ) from None
        self._check_directory(found)

    def _check_socket_path(self) -> None:
        n_bytes = len(os.fsencode(self.socket_path))
        if n_bytes > MAX_SOCKET_PATH_BYTES:
            raise ConfigError(
                f"socket path is {n_bytes} bytes; the limit is {MAX_SOCKET_PATH_BYTES}; "
                "set GOOSE_LSP_PATHS_RUNTIME_DIR to a shorter directory"
            )

    def _check_directory(self, found: os.stat_result) -> None:
        if not stat.S_ISDIR(found.st_mode):
            kind = "a symbolic link" if stat.S_ISLNK(found.st_mode) else "not a directory"
            raise ConfigError(
                f"{self.runtime_dir} is {kind}; it must be a directory: "
                "remove it or set GOOSE_LSP_PATHS_RUNTIME_DIR"
            )
        if found.st_uid != os.geteuid():
            raise ConfigError(
                f"{self.runtime_dir} belongs to user {found.st_uid}; it must belong to you "
                f"({os.geteuid()}): set GOOSE_LSP_PATHS_RUNTIME_DIR to a directory of yours"
            )
        mode = stat.S_IMODE(found.st_mode)
        if mode & 0o077:
            raise ConfigError(
                f"{self.runtime_dir} has mode {mode:04o}; only you may enter it: "
                f"chmod 700 {self.runtime_dir}"
            )

    def is_held(self) -> bool:
        """Whether some daemon process lives, listening or not.

        The probe holds the lock for a moment; a daemon that starts just then tries again.
        """
        try:
            handle = os.open(self.lock_path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(handle)
        return False

    def write_record(self, record: DaemonRecord) -> None:
        draft = self.record_path.with_suffix(".new")
        draft.write_text(json.dumps(asdict(record)), encoding="utf-8")
        draft.replace(self.record_path)

    def read_record(self) -> DaemonRecord | None:
        """None if there is none, or none that can be understood."""
        try:
            return DaemonRecord(**json.loads(self.record_path.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return None


def check_peer(connected: socket.socket) -> None:
    """Raises `ProtocolError` unless the process at the other end belongs to this user."""
    uid = _peer_uid(connected)
    if uid != os.geteuid():
        raise ProtocolError(f"the peer is user {uid}; it must be {os.geteuid()}")


def _peer_uid(connected: socket.socket) -> int:
    uid: int
    if sys.platform == "linux":
        credentials = connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        _pid, uid, _gid = struct.unpack("iII", credentials)
    else:
        # LOCAL_PEERCRED (1) at SOL_LOCAL (0) gives struct xucred: version, uid, …
        # Written from the macOS headers and not yet tried on one.
        _version, uid = struct.unpack_from("II", connected.getsockopt(0, 1, 76))
    return uid
