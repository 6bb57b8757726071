"""Whether messages are what the specification's own machine-readable model says they are.

Strict: a property that the model does not know is a problem too.
"""

import gzip
import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from tests.fakes import data_folder

# Sent only to clients that ask for them.
EXTENSIONS = frozenset({"didChangeStatus"})
_INTEGERS = {"integer": (-(2**31), 2**31 - 1), "uinteger": (0, 2**31 - 1)}
_TEXTS = frozenset({"string", "URI", "DocumentUri"})


class MetaModel:
    def __init__(self, model: Mapping[str, Any]) -> None:
        self._structures = {one["name"]: one for one in model["structures"]}
        self._enumerations = {one["name"]: one for one in model["enumerations"]}
        self._aliases = {one["name"]: one["type"] for one in model["typeAliases"]}
        self._requests = {one["method"]: one for one in model["requests"]}
        self._notifications = {one["method"]: one for one in model["notifications"]}

    def problems(self, message: Mapping[str, Any], asked: str | None = None) -> list[str]:
        """What is wrong with a message of the server; `asked` is the method that an answer belongs to."""
        found = [] if message.get("jsonrpc") == "2.0" else ["jsonrpc is not 2.0"]
        if "method" in message:
            return found + self._of_request(message)
        if "error" in message:
            error = message["error"]
            is_right = isinstance(error.get("code"), int) and isinstance(error.get("message"), str)
            return found if is_right else [*found, f"{error!r} is no error"]
        if "result" not in message or asked not in self._requests:
            return [*found, f"an answer to {asked} without a result"]
        result = self._requests[asked]["result"]
        return found + list(self._wrong(message["result"], result, f"{asked} result"))

    def _of_request(self, message: Mapping[str, Any]) -> list[str]:
        method = message["method"]
        known = self._requests if "id" in message else self._notifications
        if method not in known:
            return [] if method in EXTENSIONS else [f"{method} is not in the model"]
        if known[method]["messageDirection"] == "clientToServer":
            return [f"{method} is for clients to send"]
        params = known[method].get("params")
        if params is None:
            return []
        return list(self._wrong(message.get("params"), params, method))

    def _wrong(  # noqa: C901, PLR0912  a case for each kind
        self, value: Any, kind: Mapping[str, Any], at: str
    ) -> Iterator[str]:
        match kind["kind"]:
            case "base":
                if not _is_base(value, kind["name"]):
                    yield f"{at}: {value!r} is no {kind['name']}"
            case "reference":
                yield from self._wrong_reference(value, kind["name"], at)
            case "array":
                if not isinstance(value, list):
                    yield f"{at}: {value!r} is no array"
                    return
                for i, one in enumerate(value):
                    yield from self._wrong(one, kind["element"], f"{at}[{i}]")
            case "or":
                tries = [list(self._wrong(value, one, at)) for one in kind["items"]]
                if all(tries):
                    yield min(tries, key=len)[0]
            case "map":
                for key, one in value.items() if isinstance(value, dict) else ():
                    yield from self._wrong(one, kind["value"], f"{at}.{key}")
            case "literal":
                yield from self._wrong_object(value, kind["value"]["properties"], at)
            case "stringLiteral":
                if value != kind["value"]:
                    yield f"{at}: {value!r} is not {kind['value']!r}"
            case "tuple":
                for i, (one, part) in enumerate(zip(value, kind["items"], strict=True)):
                    yield from self._wrong(one, part, f"{at}[{i}]")
            case other:
                raise AssertionError(f"the model has a kind {other}")

    def _wrong_reference(self, value: Any, name: str, at: str) -> Iterator[str]:
        if name in ("LSPAny", "LSPObject", "LSPArray"):
            return
        if name in self._aliases:
            yield from self._wrong(value, self._aliases[name], at)
        elif name in self._enumerations:
            enumeration = self._enumerations[name]
            values = [one["value"] for one in enumeration["values"]]
            if value not in values and not enumeration.get("supportsCustomValues"):
                yield f"{at}: {value!r} is no {name}"
        else:
            yield from self._wrong_object(value, self._properties(name), at)

    def _wrong_object(self, value: Any, properties: list[Any], at: str) -> Iterator[str]:
        if not isinstance(value, dict):
            yield f"{at}: {value!r} is no object"
            return
        known = {one["name"]: one for one in properties}
        for name in value.keys() - known.keys():
            yield f"{at}: there is no property {name}"
        for name, one in known.items():
            if name in value:
                yield from self._wrong(value[name], one["type"], f"{at}.{name}")
            elif not one.get("optional"):
                yield f"{at}: {name} is missing"

    def _properties(self, name: str) -> list[Any]:
        structure = self._structures[name]
        bases = [*structure.get("extends", ()), *structure.get("mixins", ())]
        return [*structure["properties"], *(p for b in bases for p in self._properties(b["name"]))]


def _is_base(value: Any, name: str) -> bool:
    if name in _INTEGERS:
        low, high = _INTEGERS[name]
        return type(value) is int and low <= value <= high
    if name in _TEXTS:
        return isinstance(value, str)
    if name == "null":
        return value is None
    return isinstance(value, bool if name == "boolean" else int | float)


@cache
def meta_model(folder: Path | None = None) -> MetaModel | None:
    """None where the model is not on this machine."""
    files = sorted(((folder or data_folder()) / "lsp_metamodel").glob("*.json.gz"))
    return MetaModel(json.loads(gzip.decompress(files[-1].read_bytes()))) if files else None
