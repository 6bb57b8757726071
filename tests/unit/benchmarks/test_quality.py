import json
from pathlib import Path

import pytest

from benchmarks.quality import main

RECORD = {
    "id": "own/1",
    "level": "must",
    "lang": "python",
    "prefix": "f(",
    "suffix": ")\n",
    "raw": "a)",
    "expect": {"shown": [{"text": "a", "eat": 0}]},
}
THEN = {"prefix": "f(", "suffix": ")\n", "shown": "abc"}
NOW = {"prefix": "f(a", "suffix": ")\n"}
REUSE = (
    {"then": THEN, "now": NOW, "expect": {"reuse": "bc"}},
    {"then": THEN, "now": NOW, "expect": {"reuse": "b"}},
)


def test_the_last_line_is_json_and_failures_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "postprocess"
    folder.mkdir()
    wrong = {**RECORD, "id": "own/2", "level": "should", "expect": {"nothing": "required"}}
    lines = [json.dumps(record) for record in (RECORD, RECORD, wrong)]
    (folder / "postprocess_cases.jsonl").write_text("\n".join(lines), "utf-8")
    (folder / "reuse_cases.jsonl").write_text("\n".join(map(json.dumps, REUSE)), "utf-8")
    assert main(["--data", str(tmp_path), "--json", "--no-model"]) == 0
    table, last = capsys.readouterr().out.rstrip("\n").rsplit("\n", 1)
    assert "should own/2: ok 'a'" in table
    result = json.loads(last)
    assert result["postprocess"]["must_pass"] == result["postprocess"]["must_total"] == 2
    assert result["postprocess"]["should_pass"] == 0
    assert result["reuse"] == {"pass": 1, "total": 2}
    assert set(result["postprocess_ms"]) == {"p50", "p95"}


def test_missing_data_is_one_clear_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--data", str(tmp_path)]) == 2
    message = capsys.readouterr().err
    assert message.startswith("benchmarks.quality: no data set postprocess under")
    assert message.count("\n") == 1
