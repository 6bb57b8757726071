"""Which model a setting means, and what a wrong one is told."""

import subprocess
import sys
from pathlib import Path

import pytest

from goose_lsp.config import load_settings
from goose_lsp.engine.catalog import (
    CATALOG,
    HubSource,
    ResolvedModel,
    WheelSource,
    find_entry,
    installed_path,
    model_folder,
    resolve_model,
)
from goose_lsp.errors import ConfigError, GooseError, ModelLoadError, ModelMissingError


def resolve(model: str, tmp_path: Path) -> ResolvedModel:
    overrides = {"engine.model": model, "paths.cache_dir": str(tmp_path / "cache")}
    return resolve_model(load_settings(overrides, {}, tmp_path / "absent.toml"))


def check_refused(model: str, tmp_path: Path, kind: type[GooseError], *words: str) -> None:
    with pytest.raises(kind) as caught:
        resolve(model, tmp_path)
    assert type(caught.value) is kind
    assert "\n" not in str(caught.value)
    for word in words:
        assert word in str(caught.value)


def test_names_are_unique_and_never_look_like_paths() -> None:
    names = [entry.name for entry in CATALOG]
    assert len(set(names)) == len(names)
    assert not any("/" in name or name.endswith(".gguf") for name in names)


def test_the_default_model_is_the_first_entry_and_needs_no_hub() -> None:
    assert load_settings({}, {}, Path("absent.toml")).engine.model == CATALOG[0].name
    assert isinstance(CATALOG[0].source, WheelSource)


def test_models_with_an_apache_licence_come_first() -> None:
    licences = [entry.licence == "Apache-2.0" for entry in CATALOG]
    assert licences == sorted(licences, reverse=True)


def test_no_hub_pattern_matches_pickled_weights() -> None:
    for entry in CATALOG:
        if isinstance(entry.source, HubSource):
            for name in ("pytorch_model.bin", "model.pt", "model.pth", "data.pkl", "model.ckpt"):
                assert not any(Path(name).match(pattern) for pattern in entry.source.patterns)


def test_importing_the_catalog_does_not_import_torch() -> None:
    code = "import sys, goose_lsp.engine.catalog; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_model_that_is_not_here_names_the_command_that_fetches_it(tmp_path: Path) -> None:
    with pytest.raises(ModelMissingError) as caught:
        resolve("smollm2-135m", tmp_path)
    assert str(caught.value) == (
        "model smollm2-135m is not on this machine; "
        "fetch it with: goose-lsp models pull smollm2-135m"
    )


def test_a_file_of_the_wrong_size_counts_as_not_here(tmp_path: Path) -> None:
    entry = find_entry("smollm2-135m")
    assert isinstance(entry.source, WheelSource)
    file = model_folder(entry, tmp_path) / entry.source.file_name
    file.parent.mkdir(parents=True)
    file.write_bytes(b"half")
    assert installed_path(entry, tmp_path) is None
    with file.open("r+b") as stream:
        stream.truncate(entry.n_bytes)
    assert installed_path(entry, tmp_path) == file


def test_a_hub_model_is_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "cache" / "models" / "qwen2.5-coder-0.5b"
    folder.mkdir(parents=True)
    (folder / "config.json").touch()
    check_refused("qwen2.5-coder-0.5b", tmp_path, ModelMissingError, "models pull qwen2.5-coder")
    (folder / "model.safetensors").touch()
    assert resolve("qwen2.5-coder-0.5b", tmp_path) == ResolvedModel("qwen2.5-coder-0.5b", folder)


def test_an_unknown_name_is_told_the_nearest(tmp_path: Path) -> None:
    check_refused("smollm-135m", tmp_path, ConfigError, "'smollm-135m'", "smollm2-135m?")
    check_refused("SMOLLM2-135M", tmp_path, ConfigError, "smollm2-135m?")


def test_a_name_like_none_is_told_all(tmp_path: Path) -> None:
    check_refused("", tmp_path, ConfigError, "smollm2-135m", "mellum-4b")


def test_an_entry_that_this_version_cannot_run_is_refused_before_it_is_fetched(
    tmp_path: Path,
) -> None:
    check_refused("starcoder2-3b", tmp_path, ModelLoadError, "starcoder2-3b", "smollm2-135m")


def test_a_gguf_file_is_taken_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "My Model.gguf"
    file.touch()
    assert resolve(str(file), tmp_path) == ResolvedModel("My Model", file)


def test_a_folder_of_safetensors_is_taken_as_it_is(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").touch()
    (folder / "a.safetensors").touch()
    assert resolve(str(folder), tmp_path) == ResolvedModel("model", folder)


def test_a_path_that_leads_nowhere_is_named(tmp_path: Path) -> None:
    check_refused(str(tmp_path / "gone.gguf"), tmp_path, ModelLoadError, "gone.gguf", "not exist")


@pytest.mark.parametrize("name", ["model.bin", "model.pt", "model.pth", "model.ckpt"])
def test_a_pickled_checkpoint_is_refused_with_the_reason(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    check_refused(str(tmp_path / name), tmp_path, ModelLoadError, name, "run code", "safetensors")


def test_a_folder_of_pickled_weights_is_refused_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "config.json").touch()
    (tmp_path / "pytorch_model.bin").touch()
    check_refused(str(tmp_path), tmp_path, ModelLoadError, "run code")


def test_any_other_file_or_folder_is_told_what_a_model_is(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    (tmp_path / "empty").mkdir()
    (tmp_path / "folder.gguf").mkdir()
    for name in ("notes.txt", "empty", "folder.gguf"):
        check_refused(str(tmp_path / name), tmp_path, ModelLoadError, name, "is not a model")
