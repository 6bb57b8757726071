import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import drafting, measures, speculation
from benchmarks.policies import COPY_ONLY, PLAIN, TABLE_ONLY, Config
from benchmarks.prompts import RANDOM_SET, Prompt
from benchmarks.speculation import Stage, main, run_all
from benchmarks.streams import Recording
from tests.recordings import (
    COST,
    END_IDS,
    PROMPTS,
    counts,
    live_target,
    new_recording,
    recorded,
    replayed,
)


@pytest.fixture(autouse=True)
def short_context(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drafting, "draft_ms", lambda _prompts: 0.5)


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    file = tmp_path / "streams.npz"
    recorded()[0].save(file)
    return file


def stage(recording: Recording | None = None) -> Stage:
    random = [Prompt(RANDOM_SET, list(range(60, 90)), 6)]
    prompts = {"humaneval": PROMPTS["humaneval"], RANDOM_SET: random}
    return Stage(live_target(recording), prompts, END_IDS, COST, "live", {})


def last_line(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(capsys.readouterr().out.splitlines()[-1])
    return result


def test_a_replay_ends_with_one_json_object(
    recording: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--replay", str(recording), "--policies", "goose,pld", "--budgets", "6,auto"]) == 0
    result = last_line(capsys)
    assert {row["mode"] for row in result["rows"]} == {"replay"}
    assert {row["differing_tokens"] for row in result["rows"]} == {0}
    assert set(result["macro"]) == {"plain", "goose", "pld", COPY_ONLY, TABLE_ONLY}
    assert set(result["macro"]["goose"]) == {"6", "auto"}
    assert (result["model"], result["n"], result["draft_ms_at_60"]) == ("tiny", 3, 0.5)
    for key in ("non_degradation_violations", "synergy", "machine", "versions", "started"):
        assert key in result


def test_a_replay_takes_only_the_sets_and_prompts_asked_for(
    recording: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--replay", str(recording), "--policies", "plain"]
    assert main([*arguments, "--sets", "humaneval", "--prompts", "1"]) == 0
    result = last_line(capsys)
    assert [(row["set"], row["n_prompts"]) for row in result["rows"]] == [("humaneval", 1)]
    assert main([*arguments, "--sets", "mbpp"]) == 2
    assert "holds none of the sets mbpp" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--budgets", "8,many"], "--budgets is '8,many'"),
        (["--budgets", "0"], "a budget is 1 to 95 nodes"),
        (["--policies", "gander"], "there is no policy gander"),
        (["--policies", "pld", "--budgets", "auto"], "no policy fits these budgets"),
    ],
)
def test_what_cannot_be_run_is_said_in_one_line(
    recording: Path, capsys: pytest.CaptureFixture[str], flags: list[str], message: str
) -> None:
    assert main(["--replay", str(recording), *flags]) == 2
    error = capsys.readouterr().err.strip()
    assert message in error
    assert "\n" not in error


def test_plots_are_refused_before_a_long_run(
    recording: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmarks.spec_plots.find_spec", lambda _name: None)
    monkeypatch.setattr(speculation, "run_all", lambda *_args, **_kwargs: pytest.fail("it ran"))
    assert main(["--replay", str(recording), "--plots"]) == 2
    assert "plots need matplotlib" in capsys.readouterr().err


def test_the_sources_alone_run_with_the_nodes_they_had_in_the_tree() -> None:
    names = ("goose", COPY_ONLY, TABLE_ONLY)
    results = run_all(stage(), [PLAIN, *(Config(name, 12) for name in names)], is_cold=False)
    tree = results["humaneval"][Config("goose", 12)]
    for part in measures.parts_of(tree):
        assert part in results["humaneval"]
    assert set(results[RANDOM_SET]) == {PLAIN, Config("goose", 12)}


def test_a_live_run_saves_what_a_replay_needs(tmp_path: Path) -> None:
    configs = [PLAIN, Config("goose", 6)]
    file = tmp_path / "streams.npz"
    live = run_all(stage(new_recording(live_target())), configs, is_cold=False, record=file)
    assert counts(replayed(Recording.load(file), configs)) == counts(live)
