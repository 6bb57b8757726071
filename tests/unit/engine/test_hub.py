"""What the hub's many errors become: one line that says what to do."""

import sys
from pathlib import Path
from types import ModuleType

import pytest

from goose_lsp.engine import hub


def fake_hub(monkeypatch: pytest.MonkeyPatch, error: Exception | None) -> list[dict[str, object]]:
    """Put a hub library in place that notes its calls and raises `error`."""
    calls: list[dict[str, object]] = []

    def snapshot_download(repo_id: str, **options: object) -> None:
        calls.append({"repo_id": repo_id, **options})
        if error is not None:
            raise error

    module = ModuleType("huggingface_hub")
    module.__dict__["snapshot_download"] = snapshot_download
    monkeypatch.setitem(sys.modules, "huggingface_hub", module)
    return calls


def make_error(*names: str, text: str = "first line\nsecond line") -> Exception:
    """An exception whose classes have these names, the most special first."""
    kind: type[Exception] = Exception
    for name in reversed(names):
        kind = type(name, (kind,), {})
    return kind(text)


def test_only_the_asked_patterns_go_to_the_asked_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    calls = fake_hub(monkeypatch, None)
    assert hub.main(["owner/name", "main", str(tmp_path), "*.json", "*.safetensors"]) == 0
    assert calls == [
        {
            "repo_id": "owner/name",
            "revision": "main",
            "local_dir": str(tmp_path),
            "allow_patterns": ["*.json", "*.safetensors"],
        }
    ]


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (("GatedRepoError", "RepositoryNotFoundError"), "gated"),
        (("RepositoryNotFoundError",), "no such repository"),
        (("RevisionNotFoundError",), "no such revision"),
        (("LocalEntryNotFoundError",), "is there a network?"),
        (("ConnectError",), "is there a network?"),
        (("SomethingElse",), "SomethingElse: first line"),
    ],
)
def test_every_error_becomes_one_line(
    names: tuple[str, ...],
    words: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    fake_hub(monkeypatch, make_error(*names))
    assert hub.main(["owner/name", "main", "folder"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("owner/name: ")
    assert words in line


def test_a_missing_hub_library_names_the_extra_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    assert hub.main(["owner/name", "main", "folder"]) == 1
    assert "goose-lsp[engine]" in capsys.readouterr().err
