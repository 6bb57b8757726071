"""A spawned daemon sees the settings its client has."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from goose_lsp.config import Settings, load_settings
from goose_lsp.errors import DaemonUnavailableError
from goose_lsp.ipc.spawn import StartedDaemon, environment_of, start_daemon
from tests.daemon_rig import settings_in


def ended(started: StartedDaemon) -> StartedDaemon:
    started._process.wait(20)
    return started


def test_the_environment_gives_the_same_settings_again(tmp_path: Path) -> None:
    overrides = {"engine.threads": 3, "draft.policy": "plain", "paths.log_dir": str(tmp_path)}
    settings = load_settings(overrides, {}, tmp_path / "none.toml")
    again = load_settings({}, environment_of(settings, {}), tmp_path / "none.toml")
    assert replace(again, origins={}) == replace(settings, origins={})


def test_a_flag_back_to_the_default_wins_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "goose-lsp.toml"
    file.write_text("[engine]\nthreads = 9\n", encoding="utf-8")
    settings = load_settings({"engine.threads": 0}, {}, file)
    assert load_settings({}, environment_of(settings, {}), file).engine.threads == 0


def test_the_rest_of_the_environment_is_passed_on() -> None:
    assert environment_of(Settings(), {"HOME": "/h"}) == {"HOME": "/h"}


def test_a_relative_directory_means_the_same_place_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = replace(Settings(), paths=replace(Settings().paths, log_dir="logs"))
    assert environment_of(settings, {})["GOOSE_LSP_PATHS_LOG_DIR"] == str(tmp_path / "logs")


def test_last_words_are_those_of_this_start(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    for words in ("first", "second"):
        code = f"import sys; sys.exit('why\\n{words}')"
        started = ended(start_daemon(settings, [sys.executable, "-c", code]))
        assert started.has_ended
        assert started.last_words() == words


def test_a_silent_end_leaves_no_words(tmp_path: Path) -> None:
    started = ended(start_daemon(settings_in(tmp_path), [sys.executable, "-c", ""]))
    assert started.last_words() == ""


def test_a_log_of_many_starts_does_not_grow_for_ever(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    settings.runtime_dir.mkdir(mode=0o700)
    log = settings.runtime_dir / "daemon-start.log"
    log.write_bytes(b"x" * 100_000)
    started = ended(start_daemon(settings, [sys.executable, "-c", "raise SystemExit('new')"]))
    assert started.last_words() == "new"
    assert log.stat().st_size < 100


def test_a_missing_program_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(DaemonUnavailableError, match="no daemon could be started"):
        start_daemon(settings_in(tmp_path), [str(tmp_path / "none")])
