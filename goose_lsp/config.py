"""Settings: parsed once into frozen values, each with a known origin.

`load_settings` is the only reader of configuration files and of the environment. Precedence, lowest
first: defaults, the user's `goose-lsp.toml`, `GOOSE_LSP_<SECTION>_<KEY>`, explicit overrides (flags).
"""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, get_type_hints

import platformdirs

from goose_lsp.errors import ConfigError

ENV_PREFIX = "GOOSE_LSP_"
# Read elsewhere (benchmarks and tests), so never an unknown key.
_FOREIGN_ENV = frozenset({"GOOSE_LSP_DATA"})


@dataclass(frozen=True, slots=True)
class EngineSettings:
    model: str = "smollm2-135m"  # a catalog name, a folder or a .gguf file
    dtype: str = "auto"  # auto, fp32, bf16
    threads: int = 0  # 0: chosen from the cores this process may use
    max_context_tokens: int = 4096  # prompt and completion together, never above the model's own


@dataclass(frozen=True, slots=True)
class DraftSettings:
    policy: str = "goose"  # goose, plain
    max_nodes: int = 0  # draft budget in nodes, root not counted; 0: chosen from the cost curve


@dataclass(frozen=True, slots=True)
class PromptSettings:
    max_prompt_tokens: int = 1500
    max_new_tokens: int = 64


@dataclass(frozen=True, slots=True)
class DaemonSettings:
    idle_exit_s: int = 1800  # ends after this long without a client; 0: never
    start_timeout_s: int = 30
    log_level: str = "info"


@dataclass(frozen=True, slots=True)
class PathSettings:
    cache_dir: str = ""  # models and converted weights; "": the platform's cache directory
    runtime_dir: str = ""  # socket, lock and status; "": the platform's runtime directory
    log_dir: str = ""  # "": the platform's log directory


@dataclass(frozen=True, slots=True)
class Settings:
    engine: EngineSettings = field(default_factory=EngineSettings)
    draft: DraftSettings = field(default_factory=DraftSettings)
    prompt: PromptSettings = field(default_factory=PromptSettings)
    daemon: DaemonSettings = field(default_factory=DaemonSettings)
    paths: PathSettings = field(default_factory=PathSettings)
    origins: Mapping[str, str] = field(default_factory=dict)  # "section.key" → where it came from

    @property
    def cache_dir(self) -> Path:
        return Path(self.paths.cache_dir or platformdirs.user_cache_path("goose-lsp"))

    @property
    def runtime_dir(self) -> Path:
        return Path(self.paths.runtime_dir or platformdirs.user_runtime_path("goose-lsp"))

    @property
    def log_dir(self) -> Path:
        return Path(self.paths.log_dir or platformdirs.user_log_path("goose-lsp"))


_SECTIONS = tuple(f.name for f in fields(Settings) if f.name != "origins")
_CHOICES = {
    "engine.dtype": ("auto", "fp32", "bf16"),
    "draft.policy": ("goose", "plain"),
    "daemon.log_level": ("debug", "info", "warning", "error"),
}
# Half-open on the right where both are given.
_RANGES = {
    "engine.threads": (0, 257),
    "engine.max_context_tokens": (64, 1_048_577),
    "draft.max_nodes": (0, 257),
    "prompt.max_prompt_tokens": (16, 1_048_577),
    "prompt.max_new_tokens": (1, 4097),
    "daemon.idle_exit_s": (0, 31_536_001),
    "daemon.start_timeout_s": (1, 3601),
}


def user_config_file() -> Path:
    return platformdirs.user_config_path("goose-lsp") / "goose-lsp.toml"


def load_settings(
    overrides: Mapping[str, object] | None = None,
    environ: Mapping[str, str] | None = None,
    file: Path | None = None,
) -> Settings:
    """The resolved settings; raises `ConfigError` naming the first value that cannot be right.

    `overrides` maps "section.key" to a value, as flags do. `file` replaces the user's file; a missing
    file is the same as an empty one.
    """
    environ = os.environ if environ is None else environ
    settings = Settings()
    path = file or user_config_file()
    settings = _apply(settings, _read_toml(path), str(path))
    settings = _apply(settings, _read_environ(environ), "environment")
    return _apply(settings, dict(overrides or {}), "flag")


def _read_toml(path: Path) -> dict[str, object]:
    try:
        with path.open("rb") as stream:
            document = tomllib.load(stream)
    except FileNotFoundError:
        return {}
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from None
    values: dict[str, object] = {}
    for section, body in document.items():
        if not isinstance(body, dict):
            raise ConfigError(
                f"{path}: {section} must be a section, one of [{'], ['.join(_SECTIONS)}]"
            )
        values |= {f"{section}.{key}": value for key, value in body.items()}
    return values


def _read_environ(environ: Mapping[str, str]) -> dict[str, object]:
    values: dict[str, object] = {}
    for name, value in sorted(environ.items()):
        if name.startswith(ENV_PREFIX) and name not in _FOREIGN_ENV:
            section, _, key = name.removeprefix(ENV_PREFIX).lower().partition("_")
            values[f"{section}.{key}"] = value
    return values


def _apply(settings: Settings, values: dict[str, object], origin: str) -> Settings:
    for name, value in values.items():
        section, _, key = name.partition(".")
        part = getattr(settings, section, None) if section in _SECTIONS else None
        hints: dict[str, Any] = get_type_hints(type(part)) if part is not None else {}
        if key not in hints:
            raise ConfigError(f"{origin}: there is no setting {name}{_nearest(name)}")
        parsed = _parse(name, value, hints[key], origin)
        new_part = replace(part, **{key: parsed})  # type: ignore[type-var]  # part is a section
        settings = replace(
            settings, **{section: new_part}, origins={**settings.origins, name: origin}
        )
    return settings


def _nearest(name: str) -> str:
    known = [
        f"{section}.{key.name}"
        for section in _SECTIONS
        for key in fields(getattr(Settings(), section))
    ]
    close = get_close_matches(name, known, n=1)
    return f"; did you mean {close[0]}?" if close else f"; sections are {', '.join(_SECTIONS)}"


def _parse(name: str, value: object, kind: type, origin: str) -> object:
    if kind is int and isinstance(value, str) and value.strip().lstrip("-").isdigit():
        value = int(value)
    if type(value) is not kind:
        wanted = "a whole number" if kind is int else "text"
        raise ConfigError(f"{origin}: {name} is {value!r}; it must be {wanted}")
    if name in _CHOICES and value not in _CHOICES[name]:
        raise ConfigError(
            f"{origin}: {name} is {value!r}; it must be one of {', '.join(_CHOICES[name])}"
        )
    if name in _RANGES and isinstance(value, int):
        low, end = _RANGES[name]
        if not low <= value < end:
            raise ConfigError(
                f"{origin}: {name} is {value}; it must lie between {low} and {end - 1}"
            )
    return value
