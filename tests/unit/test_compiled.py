import os
from pathlib import Path

import pytest

from goose_lsp import compiled
from goose_lsp.compiled import kernel


@kernel
def _halved(x: float) -> float:
    return x / 2


def test_a_kernel_computes_what_its_source_says_and_divides_by_zero_as_numpy_does() -> None:
    assert _halved(3.0) == 1.5


def test_a_packages_kernels_are_kept_apart_from_other_states_of_its_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    package = tmp_path / "package"
    package.mkdir()
    (package / "one.py").write_text("1")
    find = compiled._cache_folder.__wrapped__
    first = find(package)
    assert first == find(package)
    (package / "other.py").write_text("2")
    assert find(package) != first


@pytest.mark.skipif(os.name != "posix", reason="permissions of this kind are Unix's")
def test_a_folder_that_others_may_write_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    find = compiled._cache_folder.__wrapped__
    folder = find(tmp_path)
    assert folder is not None
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o777)
    assert find(tmp_path) is None


def test_a_folder_that_cannot_be_made_means_compiling_every_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(blocked))
    assert compiled._cache_folder.__wrapped__(tmp_path) is None


def test_code_that_cannot_be_kept_still_runs(caplog: pytest.LogCaptureFixture) -> None:
    def fail(*_: object) -> None:
        raise OSError("no space left")

    compiled._forgiving(fail)()
    assert "cannot be kept: no space left" in caplog.text


def test_code_nobody_has_used_for_long_is_removed_and_that_of_others_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    old, recent, other = (
        tmp_path / "cache" / name
        for name in ("goose-lsp-package-old", "goose-lsp-package-recent", "goose-lsp-draft-old")
    )
    for folder in (old, recent, other):
        folder.mkdir(parents=True)
    for folder in (old, other):
        os.utime(folder, (0, 0))
    package = tmp_path / "package"
    package.mkdir()
    assert compiled._cache_folder.__wrapped__(package) is not None
    assert [folder.exists() for folder in (old, recent, other)] == [False, True, True]
