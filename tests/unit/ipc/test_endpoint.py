"""The runtime directory is ours alone, or it is not used."""

import fcntl
import os
import socket
from pathlib import Path

import pytest

from goose_lsp.errors import ConfigError, ProtocolError
from goose_lsp.ipc.endpoint import MAX_SOCKET_PATH_BYTES, DaemonRecord, Endpoint, check_peer


def test_a_new_directory_is_for_its_user_only(tmp_path: Path) -> None:
    Endpoint(tmp_path / "deep" / "run").prepare()
    assert (tmp_path / "deep" / "run").stat().st_mode & 0o777 == 0o700


def test_a_directory_of_ours_is_used_again(tmp_path: Path) -> None:
    Endpoint(tmp_path / "run").prepare()
    Endpoint(tmp_path / "run").prepare()


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o701, 0o704])
def test_a_directory_that_others_may_enter_is_refused(tmp_path: Path, mode: int) -> None:
    tmp_path.chmod(mode)
    with pytest.raises(ConfigError, match=f"has mode {mode:04o}.*chmod 700"):
        Endpoint(tmp_path).prepare()
    tmp_path.chmod(0o700)


def test_a_symbolic_link_is_refused_although_its_target_would_do(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "run").symlink_to(tmp_path / "real")
    with pytest.raises(ConfigError, match="is a symbolic link"):
        Endpoint(tmp_path / "run").prepare()


def test_a_directory_of_another_user_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: tmp_path.stat().st_uid + 1)
    with pytest.raises(ConfigError, match="belongs to user"):
        Endpoint(tmp_path).prepare()


def test_a_directory_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match=r"cannot be made: .*GOOSE_LSP_PATHS_RUNTIME_DIR"):
        Endpoint(tmp_path / "file" / "run").prepare()


@pytest.mark.parametrize("letter", ["x", "ü"])
def test_a_socket_path_is_measured_in_bytes(letter: str) -> None:
    rest = MAX_SOCKET_PATH_BYTES - len("//daemon.sock")
    fitting = Path("/" + letter * (rest // len(letter.encode())))
    Endpoint(fitting)._check_socket_path()
    with pytest.raises(ConfigError, match=rf"limit is {MAX_SOCKET_PATH_BYTES}; set GOOSE_LSP"):
        Endpoint(Path(f"{fitting}{letter}")).prepare()


def test_the_lock_is_held_while_its_holder_lives(tmp_path: Path) -> None:
    endpoint = Endpoint(tmp_path)
    assert not endpoint.is_held()
    with endpoint.lock_path.open("w") as holder:
        fcntl.flock(holder, fcntl.LOCK_EX)
        assert endpoint.is_held()
    assert not endpoint.is_held()


def test_a_probe_does_not_keep_the_lock(tmp_path: Path) -> None:
    endpoint = Endpoint(tmp_path)
    with endpoint.lock_path.open("w") as holder:
        assert not endpoint.is_held()
        fcntl.flock(holder, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_record_comes_back_as_it_was(tmp_path: Path) -> None:
    record = DaemonRecord(7, 1, "0.1", "2026-01-01T00:00:00+00:00")
    Endpoint(tmp_path).write_record(record)
    assert Endpoint(tmp_path).read_record() == record


@pytest.mark.parametrize("text", ["", "[]", "{}", "[1, 2]", "7", '{"pid": 1}', "\xff"])
def test_a_record_that_makes_no_sense_is_none(tmp_path: Path, text: str) -> None:
    endpoint = Endpoint(tmp_path)
    endpoint.record_path.write_bytes(text.encode("latin-1"))
    assert endpoint.read_record() is None


def test_a_peer_of_the_same_user_is_let_in() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        check_peer(ours)


def test_a_peer_of_another_user_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    uid = os.geteuid()
    monkeypatch.setattr("os.geteuid", lambda: uid + 1)
    ours, theirs = socket.socketpair()
    with ours, theirs, pytest.raises(ProtocolError, match=f"the peer is user {uid}"):
        check_peer(ours)
