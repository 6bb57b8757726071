"""Where a setting comes from, who wins, and what a wrong one is told."""

from pathlib import Path

import pytest

from goose_lsp.config import (
    DecodeSettings,
    Settings,
    as_environment,
    environment_name,
    is_model_path,
    load_settings,
    parse_overrides,
    setting_names,
    value_of,
)
from goose_lsp.errors import ConfigError


def write(folder: Path, text: str) -> Path:
    file = folder / "goose-lsp.toml"
    file.write_text(text, "utf-8")
    return file


def check_refused(
    tmp_path: Path,
    *words: str,
    toml: str = "",
    environ: dict[str, str] | None = None,
    overrides: dict[str, object] | None = None,
) -> None:
    """Loading fails with one line that holds every one of `words`."""
    with pytest.raises(ConfigError) as caught:
        load_settings(overrides, environ or {}, write(tmp_path, toml))
    message = str(caught.value)
    assert "\n" not in message
    for word in words:
        assert word in message


def test_without_any_source_the_defaults_hold(tmp_path: Path) -> None:
    assert load_settings({}, {}, tmp_path / "absent.toml") == Settings()


def test_a_flag_beats_the_environment_which_beats_the_file_which_beats_the_default(
    tmp_path: Path,
) -> None:
    file = write(tmp_path, "[prompt]\nmax_new_tokens = 1\nmax_prompt_tokens = 101\n")
    environ = {"GOOSE_LSP_PROMPT_MAX_NEW_TOKENS": "2", "GOOSE_LSP_ENGINE_THREADS": "12"}
    overrides = {"prompt.max_new_tokens": 3}
    assert load_settings({}, {}, file).prompt.max_new_tokens == 1
    assert load_settings({}, environ, file).prompt.max_new_tokens == 2
    settings = load_settings(overrides, environ, file)
    assert settings.prompt.max_new_tokens == 3
    assert settings.prompt.max_prompt_tokens == 101
    assert settings.engine.threads == 12
    assert settings.engine.max_context_tokens == Settings().engine.max_context_tokens


def test_every_value_that_was_set_knows_who_set_it(tmp_path: Path) -> None:
    file = write(tmp_path, '[draft]\npolicy = "plain"\n')
    environ = {"GOOSE_LSP_ENGINE_DTYPE": "fp32", "PATH": "/bin"}
    settings = load_settings({"engine.threads": "4"}, environ, file)
    assert settings.origins == {
        "draft.policy": str(file),
        "engine.dtype": "GOOSE_LSP_ENGINE_DTYPE",
        "engine.threads": "flag",
    }


def test_variables_of_others_are_left_alone(tmp_path: Path) -> None:
    environ = {"GOOSE_LSP_DATA": "/data", "GOOSE_MODEL": "x", "HOME": "/root"}
    assert load_settings({}, environ, tmp_path / "absent.toml") == Settings()


def test_an_unknown_key_is_named_with_the_nearest_one(tmp_path: Path) -> None:
    check_refused(
        tmp_path, "engine.thread;", "did you mean engine.threads?", toml="[engine]\nthread = 2\n"
    )
    check_refused(
        tmp_path,
        "GOOSE_LSP_ENGINE_MODLE: there is no setting engine.modle",
        "engine.model?",
        environ={"GOOSE_LSP_ENGINE_MODLE": "x"},
    )


def test_a_name_like_nothing_we_know_lists_the_sections(tmp_path: Path) -> None:
    check_refused(tmp_path, "zzz", "engine, draft, prompt", environ={"GOOSE_LSP_ZZZ": "1"})
    check_refused(tmp_path, "origins", overrides={"origins.x": "1"})
    check_refused(tmp_path, "there is no setting", overrides={"": "1"})


@pytest.mark.parametrize("text", ["ten", "", "1.5", "--5", "²", "9" * 5000])
def test_text_that_is_no_number_is_refused_with_the_text(tmp_path: Path, text: str) -> None:
    environ = {"GOOSE_LSP_ENGINE_THREADS": text}
    check_refused(tmp_path, "engine.threads", repr(text), "whole number", environ=environ)


@pytest.mark.parametrize("value", ["true", "1.0", "[1]"])
def test_a_file_value_of_another_type_is_refused(tmp_path: Path, value: str) -> None:
    toml = f"[engine]\nthreads = {value}\n"
    check_refused(tmp_path, "goose-lsp.toml", "engine.threads", "whole number", toml=toml)


def test_a_number_where_text_belongs_is_refused(tmp_path: Path) -> None:
    check_refused(tmp_path, "engine.model is 3", "must be text", toml="[engine]\nmodel = 3\n")


@pytest.mark.parametrize("text", ["warm", "", "0,5", "1 2", "0x1p3"])
def test_text_that_is_no_number_of_any_kind_is_refused(tmp_path: Path, text: str) -> None:
    environ = {"GOOSE_LSP_DECODE_TEMPERATURE": text}
    check_refused(tmp_path, "decode.temperature", repr(text), "must be a number", environ=environ)


@pytest.mark.parametrize("value", ["true", "[1.0]", "{}"])
def test_a_file_value_that_is_no_number_of_any_kind_is_refused(tmp_path: Path, value: str) -> None:
    toml = f"[decode]\ntop_p = {value}\n"
    check_refused(tmp_path, "goose-lsp.toml", "decode.top_p", "must be a number", toml=toml)


@pytest.mark.parametrize("value", [0.8, "0.8", "8e-1", " .8"], ids=repr)
def test_a_fraction_may_be_a_number_or_its_text(tmp_path: Path, value: object) -> None:
    settings = load_settings({"decode.temperature": value}, {}, tmp_path / "absent.toml")
    assert settings.decode.temperature == 0.8


def test_a_whole_number_where_a_fraction_may_stand_becomes_one(tmp_path: Path) -> None:
    file = write(tmp_path, "[decode]\ntemperature = 1\ntop_p = 0.5\ntop_k = 40\nseed = 7\n")
    decode = load_settings({}, {}, file).decode
    assert decode == DecodeSettings(1.0, 40, 0.5, 7)
    assert type(decode.temperature) is float


@pytest.mark.parametrize("value", ["-0.001", "1.001", "nan", "inf", "-inf", "1e999", 10**400])
def test_a_fraction_outside_its_limits_is_told_them(tmp_path: Path, value: object) -> None:
    words = ("decode.top_p is", "between 0 and 1") if value != 10**400 else ("decode.top_p is",)
    check_refused(tmp_path, *words, overrides={"decode.top_p": value})


@pytest.mark.parametrize("value", [0, 1, "0.0", "1.0"], ids=repr)
def test_the_limits_of_a_fraction_are_within_them(tmp_path: Path, value: object) -> None:
    settings = load_settings({"decode.top_p": value}, {}, tmp_path / "absent.toml")
    assert settings.decode.top_p == float(str(value))


@pytest.mark.parametrize(("value", "is_right"), [(-1, False), (0, True), (256, True), (257, False)])
def test_a_range_includes_both_values_that_its_message_names(
    tmp_path: Path, value: int, *, is_right: bool
) -> None:
    overrides: dict[str, object] = {"engine.threads": value}
    if is_right:
        assert load_settings(overrides, {}, tmp_path / "absent.toml").engine.threads == value
    else:
        check_refused(tmp_path, f"is {value}", "between 0 and 256", overrides=overrides)


def test_a_value_outside_a_closed_list_is_told_the_list(tmp_path: Path) -> None:
    check_refused(
        tmp_path, "'fast'", "goose, goose-paper, plain", overrides={"draft.policy": "fast"}
    )


@pytest.mark.parametrize("toml", ["[engine", 'model = "x"\n', "engine = 3\n"])
def test_a_file_that_is_no_set_of_sections_is_named(tmp_path: Path, toml: str) -> None:
    check_refused(tmp_path, "goose-lsp.toml", toml=toml)


def test_a_file_that_is_not_utf_8_is_named(tmp_path: Path) -> None:
    file = tmp_path / "goose-lsp.toml"
    file.write_bytes(b"[engine]\nmodel = '\xff'\n")
    with pytest.raises(ConfigError, match=r"goose-lsp\.toml"):
        load_settings({}, {}, file)


def test_a_folder_in_place_of_the_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        load_settings({}, {}, tmp_path)


def test_relative_paths_in_a_file_count_from_that_file(tmp_path: Path) -> None:
    file = write(tmp_path, '[paths]\ncache_dir = "cache"\n[engine]\nmodel = "./m.gguf"\n')
    settings = load_settings({}, {}, file)
    assert settings.cache_dir == tmp_path / "cache"
    assert settings.engine.model == str(tmp_path / "m.gguf")


def test_relative_paths_elsewhere_count_from_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = write(tmp_path, "")
    settings = load_settings({"engine.model": "m.gguf"}, {"GOOSE_LSP_PATHS_LOG_DIR": "l"}, file)
    assert settings.log_dir == tmp_path / "l"
    assert settings.engine.model == str(tmp_path / "m.gguf")


def test_a_tilde_means_the_home_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    settings = load_settings({"paths.cache_dir": "~/c"}, {}, tmp_path / "absent.toml")
    assert settings.cache_dir == tmp_path / "c"


def test_an_empty_path_means_the_platforms_own(tmp_path: Path) -> None:
    settings = load_settings({"paths.cache_dir": ""}, {}, tmp_path / "absent.toml")
    assert settings.cache_dir == Settings().cache_dir
    assert settings.cache_dir.is_absolute()


def test_loading_neither_needs_nor_makes_the_folders_it_names(tmp_path: Path) -> None:
    blocked = tmp_path / "a-file"
    blocked.touch()
    overrides = {"paths.cache_dir": str(blocked / "cache"), "paths.log_dir": str(tmp_path / "log")}
    settings = load_settings(overrides, {}, tmp_path / "absent.toml")
    assert settings.cache_dir == blocked / "cache"
    assert [file.name for file in tmp_path.iterdir()] == ["a-file"]


@pytest.mark.parametrize(
    ("model", "is_path"),
    [("smollm2-135m", False), ("./m", True), ("a/b", True), ("m.gguf", True), (".", True)],
)
def test_a_model_is_a_path_if_it_looks_like_one(model: str, *, is_path: bool) -> None:
    assert is_model_path(model) is is_path


def test_every_setting_can_be_set_by_its_variable_and_read_back(tmp_path: Path) -> None:
    default = Settings()
    for name in setting_names():
        environ = {environment_name(name): str(value_of(default, name))}
        settings = load_settings({}, environ, tmp_path / "absent.toml")
        assert value_of(settings, name) == value_of(default, name)
        assert list(settings.origins) == [name]


def test_overrides_are_texts_with_an_equals_sign() -> None:
    assert parse_overrides(["a.b=1", "c.d=x=y", "a.b=", "e.f ="]) == {
        "a.b": "",
        "c.d": "x=y",
        "e.f": "",
    }
    with pytest.raises(ConfigError, match=r"section\.key=value; found 'a\.b'"):
        parse_overrides(["a.b"])


def test_another_process_gets_the_same_values_through_its_environment(tmp_path: Path) -> None:
    absent = tmp_path / "absent.toml"
    overrides = {"engine.threads": "3", "engine.model": "./m.gguf", "decode.temperature": "0.1"}
    settings = load_settings(overrides, {}, absent)
    theirs = load_settings({}, as_environment(settings, overrides), absent)
    assert (theirs.engine, theirs.decode) == (settings.engine, settings.decode)
    assert set(theirs.origins) == set(overrides)


def test_a_machine_without_a_session_directory_gets_a_runtime_directory_without_a_warning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    assert Settings().runtime_dir.name == "goose-lsp"
