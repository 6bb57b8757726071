"""What all benchmarks share: flags, data, the machine's description."""

import argparse
import gzip
import json
import os
import platform
import random
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from goose_lsp import __version__
from goose_lsp.engine.thread import n_allowed_cores
from goose_lsp.errors import GooseError

MAX_PROMPT_TOKENS = 1500
MAX_NEW_TOKENS = 160


def parser_of(name: str, quick: str) -> argparse.ArgumentParser:
    """A parser with the flags every benchmark takes."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{name}")
    parser.add_argument("--quick", action="store_true", help=quick)
    parser.add_argument(
        "--json", action="store_true", help="accepted; the last line always is JSON"
    )
    default_data = Path(__file__).parent.parent.parent / "shared" / "data"
    data = Path(os.environ.get("GOOSE_LSP_DATA", default_data))
    parser.add_argument("--data", type=Path, default=data)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--dtype", choices=("int8", "fp32", "bf16"), default="int8")
    parser.add_argument("--device", choices=("cpu",), default="cpu")
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--seed", type=int, default=0)
    return parser


def read_records(data: Path, name: str, n: int, seed: int) -> list[dict[str, Any]]:
    """The first n records of a data set, or of one file of it, after a seeded shuffle of its file order."""
    files = sorted((data / name).glob("*.jsonl.gz")) or sorted(data.glob(f"{name}.jsonl.gz"))
    if not files:
        raise GooseError(f"no data set {name} under {data}; name its folder with --data")
    records = []
    for file in files:
        with gzip.open(file, "rt", encoding="utf-8") as stream:
            records += [json.loads(line) for line in stream]
    random.Random(seed).shuffle(records)
    return records[:n]


def machine(threads: int) -> dict[str, Any]:
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [line for line in info.read_text().splitlines() if line.startswith("model name")]
        cpu = names[0].partition(":")[2].strip() if names else cpu
    return {"cpu": cpu, "cores_allowed": n_allowed_cores(), "threads": threads, "gpu": None}


def versions(*packages: str) -> dict[str, str | None]:
    found: dict[str, str | None] = {
        "goose-lsp": __version__,
        "python": platform.python_version(),
    }
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = None
    return found


def n_common(first: list[int], second: list[int]) -> int:
    """How many tokens both start with."""
    n = 0
    for a, b in zip(first, second, strict=False):
        if a != b:
            break
        n += 1
    return n
