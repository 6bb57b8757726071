"""What a client may ask for: `initializationOptions` and the arguments of `goose-lsp.complete`."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

POLICIES = ("", "goose", "goose-paper", "plain")
MAX_NEW_TOKENS = 4096


@dataclass(frozen=True, slots=True)
class ClientOptions:
    wants_completion: bool | None = None  # None: only if the client knows no inline completion
    wants_trace: bool = False
    is_isolated: bool = False
    policy: str = ""  # "": the daemon's setting
    max_new_tokens: int = 0  # 0: the daemon's setting
    is_enabled: bool = True
    wants_status: bool = False  # `didChangeStatus`, as Copilot's clients know it


# key of the client → (our field, type)
_KEYS: dict[str, tuple[str, type]] = {
    "enabled": ("is_enabled", bool),
    "completion": ("wants_completion", bool),
    "trace": ("wants_trace", bool),
    "isolated": ("is_isolated", bool),
    "policy": ("policy", str),
    "maxNewTokens": ("max_new_tokens", int),
    "status": ("wants_status", bool),
}
_TYPE_NAMES = {bool: "true or false", str: "text", int: "a whole number"}


def parse_settings(raw: object, base: ClientOptions) -> tuple[ClientOptions, list[str]]:
    """Like `parse_options`, of a section of the editor's settings: it may hold more than is for us."""
    known = {key: raw[key] for key in _KEYS if key in raw} if isinstance(raw, Mapping) else raw
    return parse_options(known, base)


def parse_options(
    raw: object, base: ClientOptions | None = None
) -> tuple[ClientOptions, list[str]]:
    """`base` with the values that are right, and one line for each that is not."""
    options = base or ClientOptions()
    if raw is None:
        return options, []
    if not isinstance(raw, Mapping):
        return options, [f"options are a {type(raw).__name__}; they must be an object or null"]
    problems = []
    for key, value in raw.items():
        if problem := _problem(key, value):
            problems.append(problem)
        else:
            options = _with(options, key, value)
    return options, problems


def _with(options: ClientOptions, key: str, value: Any) -> ClientOptions:
    return replace(options, **{_KEYS[key][0]: value})


def _problem(key: str, value: object) -> str:
    if key not in _KEYS:
        return f"there is no option {key!r}; options are {', '.join(_KEYS)}"
    kind = _KEYS[key][1]
    if type(value) is not kind:
        return f"option {key} is {value!r}; it must be {_TYPE_NAMES[kind]}"
    if key == "policy" and value not in POLICIES:
        return f"option policy is {value!r}; it must be one of {', '.join(POLICIES[1:])}"
    if isinstance(value, int) and not 0 <= value <= MAX_NEW_TOKENS:
        return f"option {key} is {value}; it must lie between 0 and {MAX_NEW_TOKENS}"
    return ""
