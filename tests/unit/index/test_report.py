import json
import os
from pathlib import Path

import pytest

from goose_lsp.errors import GooseError
from goose_lsp.index.messages import Published
from goose_lsp.index.report import Report, build_index
from tests.vocabularies import marked_tokenizer

PUBLISHED = Published(3, 1200, 34567, 5, {"binary": 2, "ignored": 1000, "generated": 2})
REPORT = Report(("/w", "/v"), PUBLISHED, 1_250_000, Path("/cache/index/abc"), ())


def test_people_read_numbers_with_the_most_frequent_reason_first() -> None:
    assert REPORT.as_facts() == {
        "folders": "/w, /v",
        "files": "1,200, of which 5 were read anew",
        "tokens": "34,567",
        "left out": {"ignored": "1,000", "binary": "2", "generated": "2"},
        "size": "1.2 MB",
        "kept in": Path("/cache/index/abc"),
    }
    assert list(REPORT.as_facts()["left out"]) == ["ignored", "binary", "generated"]  # type: ignore[call-overload]


def test_programs_read_plain_values() -> None:
    assert json.loads(json.dumps(REPORT.as_json())) == {
        "folders": ["/w", "/v"],
        "files": 1200,
        "files_read": 5,
        "tokens": 34567,
        "left_out": {"ignored": 1000, "binary": 2, "generated": 2},
        "bytes": 1_250_000,
        "kept_in": "/cache/index/abc",
    }


@pytest.fixture
def tokenizer_file(tmp_path: Path) -> Path:
    file = tmp_path / "tokenizer.json"
    marked_tokenizer([]).save(file)
    return file


def test_an_index_is_built_and_then_only_brought_up_to_date(
    tmp_path: Path, tokenizer_file: Path
) -> None:
    root = tmp_path / "work"
    root.mkdir()
    (root / "a.py").write_text("abc")
    (root / ".env").write_text("SECRET=1")
    phases: list[str] = []

    def build() -> Report:
        tell = lambda phase, _done, _total: phases.append(phase)  # noqa: E731
        return build_index([root], tmp_path / "cache", tokenizer_file, "key", tell)

    first = build()
    assert (first.published.n_files, first.published.n_read) == (1, 1)
    assert first.published.refused == {"secret": 1}
    assert dict.fromkeys(phases) == dict.fromkeys(["scanning", "reading", "building"])
    kept = [file for file in first.kept_in.rglob("*") if file.is_file()]
    assert first.n_bytes == sum(file.stat().st_size for file in kept) > 0
    assert build().published.n_read == 0


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_cache_that_cannot_be_written_is_one_line(tmp_path: Path, tokenizer_file: Path) -> None:
    (tmp_path / "cache").mkdir(mode=0o500)
    with pytest.raises(GooseError, match="cannot be kept"):
        build_index([tmp_path], tmp_path / "cache", tokenizer_file, "key", lambda *_: None)


def test_a_file_in_the_caches_place_is_one_line(tmp_path: Path, tokenizer_file: Path) -> None:
    (tmp_path / "cache").touch()
    with pytest.raises(GooseError, match=r"cannot be kept \(Not a directory\)"):
        build_index([tmp_path], tmp_path / "cache", tokenizer_file, "key", lambda *_: None)


def test_a_tokenizer_that_cannot_be_read_is_one_line(tmp_path: Path, tokenizer_file: Path) -> None:
    tokenizer_file.write_text("{}")
    with pytest.raises(GooseError, match=r"the index builder ends: .*tokenizer.json is not a tok"):
        build_index([tmp_path], tmp_path / "cache", tokenizer_file, "key", lambda *_: None)
