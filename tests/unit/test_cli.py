"""The command line: one line for whatever is wrong, and an exit code a script can use.

The daemon's client is replaced, so nothing here starts a daemon.
"""

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

import pytest

from goose_lsp import __version__
from goose_lsp.cli import main
from goose_lsp.config import Settings, load_settings
from goose_lsp.engine import load, pull
from goose_lsp.errors import DaemonUnavailableError
from goose_lsp.ipc.messages import Status
from goose_lsp.request import Completion, Point, Reason
from tests.vocabularies import marked_tokenizer

POINT = Point(0, 3)
COMPLETION = Completion(
    "return 1", POINT, POINT, Reason.OK, stats={"n_tokens": 3, "policy": "goose"}
)
STATUS = Status(
    0, 4711, __version__, "tiny", "ready", "", 61.4, 1, 2, {"requests": 9, "answered": {"ok": 8}}
)


class FakeClient:
    """Answers what the test says and notes what it was asked."""

    completion: Completion | BaseException = COMPLETION
    running: Status | None = STATUS
    calls: list[tuple[str, Any]] = []  # noqa: RUF012  reset by the fixture
    settings: Settings

    def __init__(self, settings: Settings, client: str) -> None:
        assert client == "cli"
        FakeClient.settings = settings

    async def open(self, uri: str, version: int, language: str, text: str) -> None:
        self.calls.append(("open", text))

    async def complete(self, uri: str, version: int, point: Point, **options: Any) -> Completion:
        self.calls.append(("complete", {"point": point, **options}))
        if isinstance(self.completion, BaseException):
            raise self.completion
        return self.completion

    async def status(self) -> Status | None:
        return self.running

    async def start(self) -> None:
        self.calls.append(("start", None))

    async def shutdown(self) -> bool:
        self.calls.append(("shutdown", None))
        return self.running is not None

    async def aclose(self) -> None:
        self.calls.append(("aclose", None))


@pytest.fixture(autouse=True)
def _own_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Neither this machine's settings nor its models count, and what --set exports ends with the test."""
    for name in [name for name in os.environ if name.startswith("GOOSE_LSP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("GOOSE_LSP_PATHS_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    handler = signal.getsignal(signal.SIGTERM)
    with patch.dict(os.environ):
        yield
    signal.signal(signal.SIGTERM, handler)


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> type[FakeClient]:
    """The fake client in the real one's place, and a model that is there."""
    module = ModuleType("goose_lsp.ipc.client")
    module.__dict__["DaemonClient"] = FakeClient
    monkeypatch.setitem(sys.modules, "goose_lsp.ipc.client", module)
    monkeypatch.setattr(FakeClient, "calls", [])
    Path("tiny.gguf").touch()
    Path("a.py").write_text("abc\n")
    monkeypatch.setenv("GOOSE_LSP_ENGINE_MODEL", "tiny.gguf")
    return FakeClient


@pytest.fixture
def check_refused(capsys: pytest.CaptureFixture[str]) -> Callable[..., None]:
    def check(argv: list[str], *words: str) -> None:
        assert main(argv) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith("goose-lsp: ")
        assert err.count("\n") == 1
        assert err.endswith("\n")
        for word in words:
            assert word in err

    return check


def test_version_is_the_packages_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["version"]) == 0
    assert capsys.readouterr().out == f"goose-lsp {__version__}\n"


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        ([], "--help"),
        (["frob"], "invalid choice: 'frob'"),
        (["--frob"], "--frob"),
        (["daemon"], "--help"),
        (["daemon", "frob"], "'frob'"),
        (["models"], "--help"),
        (["models", "info"], "NAME"),
        (["models", "info", "smollm-135m"], "did you mean smollm2-135m?"),
        (["models", "pull", "nope"], "'nope'"),
        (["complete"], "FILE:LINE:COL"),
        (["complete", "a.py"], "FILE:LINE:COL"),
        (["complete", "gone.py:1:1"], "gone.py does not exist"),
        (["complete", "two\nlines.py:1:1"], "does not exist"),
        (["complete", ".:1:1"], "is a folder"),
        (["complete", "a.py:1:1", "--policy", "fast"], "'fast'"),
        (["complete", "a.py:1:1", "--max-new-tokens", "0"], "between 1 and 4096"),
        (["complete", "a.py:1:1", "--max-new-tokens", "9" * 5000], "between 1 and 4096"),
        (["version", "--set"], "--set"),
        (["version", "--set", "engine.model"], "section.key=value"),
        (["version", "--set", "engine.modle=x"], "did you mean engine.model?"),
        (["version", "--set", "engine.threads=many"], "must be a whole number"),
        (["version", "--set", "draft.policy=fast"], "goose, goose-paper, plain"),
    ],
)
def test_wrong_use_is_one_line(
    argv: list[str], words: str, check_refused: Callable[..., None]
) -> None:
    check_refused(argv, words)


def test_a_broken_configuration_file_is_one_line(
    tmp_path: Path, check_refused: Callable[..., None]
) -> None:
    file = tmp_path / "config" / "goose-lsp" / "goose-lsp.toml"
    file.parent.mkdir(parents=True)
    file.write_text("[engine\n")
    check_refused(["version"], str(file))


def test_a_wrong_variable_is_one_line(
    monkeypatch: pytest.MonkeyPatch, check_refused: Callable[..., None]
) -> None:
    monkeypatch.setenv("GOOSE_LSP_ENGINE_THREADS", "-1")
    check_refused(["version"], "GOOSE_LSP_ENGINE_THREADS", "between 0 and 256")


@pytest.mark.parametrize(
    ("content", "place", "words"),
    [
        (b"abc\n", "a.py:40:1", "a.py has 2 lines; line 40 lies outside"),
        (b"abc\n", "a.py:1:99", "line 1 has 3 characters; column 99 lies outside (1 to 4)"),
        (b"a\0b", "a.py:1:1", "binary"),
        (b"\xff", "a.py:1:1", "UTF-8"),
    ],
)
def test_a_place_that_is_not_there_is_one_line(
    content: bytes, place: str, words: str, check_refused: Callable[..., None]
) -> None:
    Path("a.py").write_bytes(content)
    check_refused(["complete", place], words)


def test_a_missing_model_names_the_command_before_any_daemon_is_asked(
    client: type[FakeClient], check_refused: Callable[..., None]
) -> None:
    argv = ["complete", "a.py:1:1", "--set", "engine.model=smollm2-135m"]
    check_refused(argv, "fetch it with: goose-lsp models pull smollm2-135m")
    assert client.calls == []


@pytest.mark.parametrize("model", ["nope", "./gone.gguf", "a.py", "./a.py", "starcoder2-3b"])
def test_a_model_that_cannot_be_is_one_line(
    model: str, client: type[FakeClient], check_refused: Callable[..., None]
) -> None:
    check_refused(["complete", "a.py:1:1", "--set", f"engine.model={model}"], Path(model).name)


def test_a_completion_is_printed_as_it_is_for_programs(
    client: type[FakeClient], capsys: pytest.CaptureFixture[str]
) -> None:
    argv = ["complete", "a.py:1:4", "--policy", "plain", "--max-new-tokens", "7"]
    assert main(argv) == 0
    assert capsys.readouterr() == ("return 1\n", "")
    asked = {"trigger": "invoked", "policy": "plain", "max_new_tokens": 7, "wants_trace": False}
    assert client.calls == [
        ("open", "abc\n"),
        ("complete", {"point": POINT, **asked}),
        ("aclose", None),
    ]


def test_an_answer_of_another_model_than_asked_for_is_not_passed_off_as_ours(
    client: type[FakeClient], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    held = Completion("x", POINT, POINT, Reason.OK, stats={"model": "other"})
    monkeypatch.setattr(client, "completion", held)
    assert main(["complete", "a.py:1:4"]) == 0
    out, err = capsys.readouterr()
    assert out == "x\n"
    assert "the daemon holds other, not tiny; goose-lsp daemon restart" in err


def test_json_is_one_object(client: type[FakeClient], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["complete", "a.py:1:4", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["text"] == "return 1"
    assert answer["range"]["start"] == {"line": 1, "column": 4}
    assert (answer["n_tokens"], answer["n_steps"]) == (3, None)


def test_a_trace_names_who_proposed_each_piece(
    client: type[FakeClient], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    traced = Completion("ab", POINT, POINT, Reason.OK, stats={"trace": [["ab", "spine"]]})
    monkeypatch.setattr(client, "completion", traced)
    assert main(["complete", "a.py:1:4", "--trace"]) == 0
    assert capsys.readouterr().out.splitlines() == ["ab", "spine        'ab'"]


@pytest.mark.parametrize("is_json", [False, True])
def test_nothing_to_offer_exits_1_with_the_reason(
    is_json: bool,
    client: type[FakeClient],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    nothing = Completion("", POINT, POINT, Reason.NOTHING_TO_ADD, "the model ended at once")
    monkeypatch.setattr(client, "completion", nothing)
    assert main(["complete", "a.py:1:4", *(["--json"] if is_json else [])]) == 1
    out, err = capsys.readouterr()
    assert "nothing-to-add" in (out if is_json else err)
    assert (err if is_json else out) == ""


def test_a_surrogate_in_an_answer_is_printed_and_not_raised(
    client: type[FakeClient], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(client, "completion", Completion("\ud800", POINT, POINT, Reason.OK))
    assert main(["complete", "a.py:1:4"]) == 0
    assert capsys.readouterr().out == "\\ud800\n"


def test_a_daemon_that_cannot_be_reached_is_one_line_and_the_client_is_closed(
    client: type[FakeClient],
    monkeypatch: pytest.MonkeyPatch,
    check_refused: Callable[..., None],
) -> None:
    monkeypatch.setattr(client, "completion", DaemonUnavailableError("no daemon answers"))
    check_refused(["complete", "a.py:1:4"], "no daemon answers")
    assert client.calls[-1] == ("aclose", None)


def test_control_c_is_quiet(
    client: type[FakeClient], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(overrides: object) -> Settings:
        raise KeyboardInterrupt

    monkeypatch.setattr("goose_lsp.cli.load_settings", interrupt)
    assert main(["complete", "a.py:1:4"]) == 130
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    "argv",
    [
        ["--set", "engine.threads=3", "daemon", "status"],
        ["daemon", "--set", "engine.threads=3", "status"],
        ["daemon", "status", "--set=engine.threads=3"],
    ],
)
def test_a_setting_may_stand_anywhere(argv: list[str], client: type[FakeClient]) -> None:
    assert main(argv) == 0
    assert client.settings.engine.threads == 3
    assert client.settings.origins["engine.threads"] == "flag"


def test_a_setting_reaches_the_processes_that_a_command_starts(client: type[FakeClient]) -> None:
    main(["daemon", "status", "--set", "engine.model=./m.gguf"])
    assert os.environ["GOOSE_LSP_ENGINE_MODEL"] == str(Path.cwd() / "m.gguf")


def test_a_later_setting_wins(client: type[FakeClient]) -> None:
    main(["--set", "engine.threads=3", "daemon", "status", "--set", "engine.threads=4"])
    assert client.settings.engine.threads == 4


def test_status_tells_what_the_daemon_says(
    client: type[FakeClient], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["daemon", "status"]) == 0
    out = capsys.readouterr().out
    for words in ("4711", "tiny: ready", "61 s", "requests   9", "answered   8 ok"):
        assert words in out


def test_no_daemon_exits_1_and_names_the_command(
    client: type[FakeClient], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(client, "running", None)
    assert main(["daemon", "status"]) == 1
    assert "goose-lsp daemon start" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("command", "steps"),
    [("start", ["start"]), ("stop", ["shutdown"]), ("restart", ["shutdown", "start"])],
)
def test_daemon_commands_take_their_steps_in_order(
    command: str, steps: list[str], client: type[FakeClient], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["daemon", command]) == 0
    assert [name for name, _ in client.calls if name != "aclose"] == steps
    assert capsys.readouterr().out.count("\n") == len(steps)


def test_the_list_says_what_is_here_and_what_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "list"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert rows[0] == ["NAME", "SIZE", "LICENCE", "HERE", "RUNS"]
    assert rows[1] == ["smollm2-135m", "98", "MB", "Apache-2.0", "no", "yes"]
    assert rows[-1][-2:] == ["no", "no"]


def test_info_tells_licence_and_origin(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "info", "qwen2.5-coder-0.5b"]) == 0
    out = capsys.readouterr().out
    assert "Apache-2.0" in out
    assert "Qwen/Qwen2.5-Coder-0.5B" in out


def test_a_pull_without_a_name_takes_the_configured_model(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def pull_model(entry: Any, cache_dir: Path, progress: pull.Progress, from_file: Any) -> Path:
        assert (entry.name, from_file) == ("mellum-4b", None)
        progress(pull.Phase.DOWNLOADING, 1, 2)
        progress(pull.Phase.DOWNLOADING, 2, 2)
        return cache_dir / "there"

    monkeypatch.setattr(pull, "pull_model", pull_model)
    assert main(["models", "pull", "--set", "engine.model=mellum-4b"]) == 0
    out, err = capsys.readouterr()
    assert out == f"mellum-4b is here: {tmp_path / 'cache' / 'there'}\n"
    assert err == "mellum-4b: downloading\n"


def test_a_given_file_that_is_wrong_is_one_message(capsys: pytest.CaptureFixture[str]) -> None:
    Path("short.gguf").write_bytes(b"GGUF")
    assert main(["models", "pull", "--from", "short.gguf"]) == 2
    assert "short.gguf has 4 bytes" in capsys.readouterr().err.splitlines()[-1]


@pytest.fixture
def workspace(client: type[FakeClient], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one file and one secret, and the tiny model's tokenizer in place of its own."""
    folder = Path("work").absolute()
    folder.mkdir()
    (folder / "a.py").write_text("abc")
    (folder / ".env").write_text("KEY=1")
    monkeypatch.setenv("GOOSE_LSP_ENGINE_MODEL", str(Path("tiny.gguf").absolute()))
    monkeypatch.setattr(load, "load_tokenizer", lambda _path, _cache: marked_tokenizer([]))
    return folder


def test_an_index_is_told_of_in_words(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["index", "work"]) == 0
    out, err = capsys.readouterr()
    for words in (str(workspace), "1, of which 1 were read anew", "tokens    3", "1 secret"):
        assert words in out
    assert err.splitlines() == ["index: scanning", "index: reading", "index: building"]


def test_an_index_of_this_folder_is_told_of_as_json(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(workspace)
    assert main(["index", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["folders"], told["files"], told["left_out"]) == (
        [str(workspace)],
        1,
        {"secret": 1},
    )


def test_what_can_not_be_indexed_is_one_line(
    workspace: Path, tmp_path: Path, check_refused: Callable[..., None]
) -> None:
    check_refused(["index", "gone"], "gone is no folder")
    check_refused(["index", "work", "a.py"], "a.py is no folder")
    check_refused(["index", "--set", "engine.model=smollm2-135m"], "models pull smollm2-135m")


def test_without_the_engine_an_index_names_what_is_missing(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, check_refused: Callable[..., None]
) -> None:
    monkeypatch.setitem(sys.modules, "goose_lsp.index.report", None)
    check_refused(["index"], "is not installed; install goose-lsp[engine]")


def test_config_names_every_value_with_its_origin(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "--set", "engine.threads=2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith("goose-lsp.toml (not there)")
    assert "engine.threads = 2  (flag)" in lines
    assert 'engine.dtype = "auto"  (default)' in lines
    cache_dir = json.dumps(str(load_settings().cache_dir))
    assert f"paths.cache_dir = {cache_dir}  (GOOSE_LSP_PATHS_CACHE_DIR)" in lines
