"""Settings: parsed once into frozen values, each with a known origin.

`load_settings` is the only reader of configuration files and of the environment. Precedence, lowest
first: defaults, the user's `goose-lsp.toml`, `GOOSE_LSP_<SECTION>_<KEY>`, explicit overrides (flags).
Nothing here touches the folders that settings name: one that cannot be used is reported where it is used.
"""

import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, get_type_hints
from warnings import catch_warnings, simplefilter

import platformdirs

from goose_lsp.errors import ConfigError

ENV_PREFIX = "GOOSE_LSP_"
# Read elsewhere (benchmarks and tests), so never an unknown key.
_FOREIGN_ENV = frozenset({"GOOSE_LSP_DATA"})


@dataclass(frozen=True, slots=True)
class EngineSettings:
    model: str = "smollm2-135m"  # a catalog name, a folder or a .gguf file
    dtype: str = "auto"  # auto, int8, bf16, fp32
    threads: int = 0  # 0: chosen from the cores this process may use
    max_context_tokens: int = 4096  # prompt and completion together, never above the model's own
    cache_mb: int = 512  # keys and values of all contexts kept warm; one always fits


@dataclass(frozen=True, slots=True)
class DraftSettings:
    policy: str = "goose"  # goose, goose-paper (the published rules), plain
    max_nodes: int = 0  # draft budget in nodes, root not counted; 0: chosen from the cost curve


@dataclass(frozen=True, slots=True)
class PromptSettings:
    max_prompt_tokens: int = 1500
    max_new_tokens: int = 64
    # Lines of other files before the document's own: auto, on, off; auto: where reading a prompt costs little.
    snippets: str = "auto"


@dataclass(frozen=True, slots=True)
class DecodeSettings:
    temperature: float = 0.0  # 0: always the most probable token
    top_k: int = 0  # drawn from the k most probable tokens only; 0: from all
    top_p: float = 1.0  # drawn from the fewest tokens that hold this probability; 1: from all
    seed: int = 0  # the same seed gives the same text


@dataclass(frozen=True, slots=True)
class IndexSettings:
    enabled: bool = True  # whether the workspace's files are read for drafts and prompts


@dataclass(frozen=True, slots=True)
class DaemonSettings:
    idle_exit_s: int = 1800  # ends after this long without a client; 0: never
    start_timeout_s: int = 30
    look_ahead: bool = True  # what comes after a suggestion is worked out while nobody asks
    nice: int = 0  # how far the daemon steps back behind other programs, 0 to 19 (Unix)
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
    decode: DecodeSettings = field(default_factory=DecodeSettings)
    index: IndexSettings = field(default_factory=IndexSettings)
    daemon: DaemonSettings = field(default_factory=DaemonSettings)
    paths: PathSettings = field(default_factory=PathSettings)
    origins: Mapping[str, str] = field(default_factory=dict)  # "section.key" → where it came from

    @property
    def cache_dir(self) -> Path:
        return Path(self.paths.cache_dir or platformdirs.user_cache_path("goose-lsp"))

    @property
    def runtime_dir(self) -> Path:
        if self.paths.runtime_dir:
            return Path(self.paths.runtime_dir)
        with catch_warnings():
            # It warns wherever no session manager made the directory; whoever uses it checks it anyway.
            simplefilter("ignore")
            return platformdirs.user_runtime_path("goose-lsp")

    @property
    def log_dir(self) -> Path:
        return Path(self.paths.log_dir or platformdirs.user_log_path("goose-lsp"))


_SECTIONS = tuple(f.name for f in fields(Settings) if f.name != "origins")
_CHOICES = {
    "engine.dtype": ("auto", "int8", "bf16", "fp32"),
    "draft.policy": ("goose", "goose-paper", "plain"),
    "prompt.snippets": ("auto", "on", "off"),
    "daemon.log_level": ("debug", "info", "warning", "error"),
}
# Half-open on the right.
_RANGES = {
    "engine.threads": (0, 257),
    "engine.max_context_tokens": (64, 1_048_577),
    "engine.cache_mb": (1, 1_048_577),
    "draft.max_nodes": (0, 81),
    "prompt.max_prompt_tokens": (16, 1_048_577),
    "prompt.max_new_tokens": (1, 4097),
    "decode.top_k": (0, 1_048_577),
    "decode.seed": (0, 1 << 32),
    "daemon.idle_exit_s": (0, 31_536_001),
    "daemon.nice": (0, 20),
    "daemon.start_timeout_s": (1, 3601),
}
# Both ends included; no limit holds nan.
_LIMITS = {
    "decode.temperature": (0, 10),
    "decode.top_p": (0, 1),
}
_KINDS: dict[type, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
}
_PATHS = frozenset({"paths.cache_dir", "paths.runtime_dir", "paths.log_dir"})


def user_config_file() -> Path:
    return platformdirs.user_config_path("goose-lsp") / "goose-lsp.toml"


def load_settings(
    overrides: Mapping[str, object] | None = None,
    environ: Mapping[str, str] | None = None,
    file: Path | None = None,
) -> Settings:
    """The resolved settings; raises `ConfigError` naming the first value that cannot be right.

    `overrides` maps "section.key" to a value, as flags do. `file` replaces the user's file; a missing
    file is the same as an empty one. Relative paths count from the folder of the file that says them,
    elsewhere from the working directory; the result holds absolute ones.
    """
    environ = os.environ if environ is None else environ
    settings = Settings()
    path = file or user_config_file()
    for name, value in _read_toml(path).items():
        settings = _apply(settings, name, value, str(path), path.absolute().parent)
    for variable, value in sorted(environ.items()):
        if variable.startswith(ENV_PREFIX) and variable not in _FOREIGN_ENV:
            settings = _apply(settings, _setting_name(variable), value, variable, Path.cwd())
    for name, value in (overrides or {}).items():
        settings = _apply(settings, name, value, "flag", Path.cwd())
    return settings


def parse_overrides(given: Iterable[str]) -> dict[str, object]:
    """Overrides from "section.key=value" texts; a later one wins."""
    overrides: dict[str, object] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals:
            raise ConfigError(f"--set wants section.key=value; found {text!r}")
        overrides[name.strip()] = value
    return overrides


def setting_names() -> Iterator[str]:
    """Every setting as "section.key", in the order of the dataclasses."""
    settings = Settings()
    for section in _SECTIONS:
        yield from (f"{section}.{key.name}" for key in fields(getattr(settings, section)))


def value_of(settings: Settings, name: str) -> str | int | float | bool:
    section, _, key = name.partition(".")
    value: str | int | float | bool = getattr(getattr(settings, section), key)
    return value


def environment_name(name: str) -> str:
    """The variable that sets "section.key"."""
    return ENV_PREFIX + name.replace(".", "_").upper()


def as_environment(settings: Settings, names: Iterable[str]) -> dict[str, str]:
    """Variables that give another process the same values for `names`."""
    return {environment_name(name): str(value_of(settings, name)) for name in names}


def is_model_path(model: str) -> bool:
    """Whether a value of engine.model means a file or folder rather than a catalog name."""
    return "/" in model or os.sep in model or model.endswith(".gguf") or model in (".", "..", "~")


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


def _setting_name(variable: str) -> str:
    section, _, key = variable.removeprefix(ENV_PREFIX).lower().partition("_")
    return f"{section}.{key}" if key else section


def _apply(settings: Settings, name: str, value: object, origin: str, base: Path) -> Settings:
    """`settings` with one value more; `base` is where a relative path counts from."""
    section, _, key = name.partition(".")
    part = getattr(settings, section) if section in _SECTIONS else None
    hints: dict[str, Any] = get_type_hints(type(part)) if part is not None else {}
    if part is None or key not in hints:
        raise ConfigError(f"{origin}: there is no setting {name}{_nearest(name)}")
    parsed = _parse(name, value, hints[key], origin)
    if name in _PATHS or (name == "engine.model" and is_model_path(str(parsed))):
        parsed = _absolute(str(parsed), base)
    changed = {section: replace(part, **{key: parsed})}
    return replace(settings, **changed, origins={**settings.origins, name: origin})


def _absolute(path: str, base: Path) -> str:
    # Neither links nor ".." are resolved: the user recognises what they wrote. os.path.expanduser, not
    # Path.expanduser, because that raises where there is no home.
    return str(base / os.path.expanduser(path)) if path else ""


def _nearest(name: str) -> str:
    close = get_close_matches(name, list(setting_names()), n=1)
    return f"; did you mean {close[0]}?" if close else f"; sections are {', '.join(_SECTIONS)}"


def _parse(name: str, value: object, kind: type, origin: str) -> object:
    value = _converted(value, kind)
    if type(value) is not kind:
        raise ConfigError(f"{origin}: {name} is {value!r}; it must be {_KINDS[kind]}")
    if name in _CHOICES and value not in _CHOICES[name]:
        raise ConfigError(
            f"{origin}: {name} is {value!r}; it must be one of {', '.join(_CHOICES[name])}"
        )
    if name in _RANGES and isinstance(value, int):
        low, end = _RANGES[name]
        _check_between(name, value, low, end - 1, origin)
    if name in _LIMITS and isinstance(value, float):
        _check_between(name, value, *_LIMITS[name], origin)
    return value


def _converted(value: object, kind: type) -> object:
    """Text read as the value it spells, and a whole number where any number is welcome; else as it is."""
    if kind is bool and isinstance(value, str):
        return {"true": True, "false": False}.get(value.lower(), value)
    with suppress(ValueError, OverflowError):
        # Not str.isdigit: "²" is a digit and "--1" would pass a stripped check; int() takes neither.
        if kind is int and isinstance(value, str):
            return int(value)
        # bool, which is an int to isinstance, stays what it is.
        if kind is float and (isinstance(value, str) or type(value) is int):
            return float(value)
    return value


def _check_between(name: str, value: float, low: int, high: int, origin: str) -> None:
    if not low <= value <= high:
        raise ConfigError(f"{origin}: {name} is {value}; it must lie between {low} and {high}")
