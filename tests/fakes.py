"""Stand-ins for the slow and the random, shared by all rings."""

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

from goose_lsp.config import load_settings
from goose_lsp.engine.catalog import resolve_model
from goose_lsp.errors import ModelMissingError


def data_folder() -> Path:
    """Where the measuring data lies; see CONTRIBUTING.md."""
    default = Path(__file__).parent.parent.parent / "shared" / "data"
    return Path(os.environ.get("GOOSE_LSP_DATA", default))


def read_data_set(name: str) -> list[dict[str, Any]]:
    """A data set's records in file order; skips the test when the data is absent."""
    files = sorted((data_folder() / name).glob("*.jsonl.gz"))
    if not files:
        pytest.skip(f"no data set {name} under {data_folder()} (set GOOSE_LSP_DATA)")
    records = []
    for file in files:
        with gzip.open(file, "rt", encoding="utf-8") as stream:
            records += [json.loads(line) for line in stream]
    return records


def cache_dir() -> Path:
    """Where models and their conversions lie for this user: what is made once serves all tests."""
    return load_settings().cache_dir


def embedded_model() -> Path:
    """The embedded model's file; skips the test when it has not been pulled."""
    try:
        return resolve_model(load_settings({"engine.model": "smollm2-135m"})).path
    except ModelMissingError as error:
        pytest.skip(str(error))
