"""Whether what is shown is what people keep.

Bounds: a polished text is at best what the model meant, so rules can lose a good suggestion and cannot
make one; a rule pass reads the model's text and a few thousand characters around the cursor.

    python -m benchmarks.quality [--quick] [--no-model] [--cases FILE] [--json] [--data DIR]

Each part has a module of its own; it gives some keys of the result and the rows of a table. `--no-model` leaves
out what needs one; `--cases` writes a line for every filled hole.
"""

import argparse
import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks import infilling, postprocessing
from benchmarks.common import machine, parser_of, read_records, versions
from benchmarks.infilling import Filled, Hole
from goose_lsp.config import load_settings
from goose_lsp.daemon.load import load_completer
from goose_lsp.errors import GooseError

N_QUICK, N_FULL = 20, 200
GOALS = {"must": 1.0, "should": 0.9, "policy": None}


def main(argv: list[str] | None = None) -> int:
    parser = parser_of("quality", f"{N_QUICK} holes of a set instead of {N_FULL}")
    parser.add_argument("--no-model", action="store_true", help="rules alone")
    parser.add_argument("--cases", type=Path, help="write a CSV line for every filled hole")
    args = parser.parse_args(argv)
    started, began = datetime.now(UTC), perf_counter()
    try:
        cases = postprocessing.read_cases(args.data)
        reuse = postprocessing.score_reuse(args.data)
        filled = {} if args.no_model else _fill(args)
    except GooseError as error:
        print(f"benchmarks.quality: {error}", file=sys.stderr)
        return 2
    result = {
        "postprocess": postprocessing.score(cases),
        "postprocess_ms": postprocessing.polish_ms(cases),
        "reuse": reuse,
        **{name: infilling.score(some) for name, some in filled.items()},
        **infilling.score_all([one for some in filled.values() for one in some]),
        "is_quick": args.quick,
        "machine": machine(args.threads),
        "model": args.model,
        "dtype": args.dtype,
        "versions": versions(),
        "started": started.isoformat(timespec="seconds"),
        "n": len(cases) + sum(map(len, filled.values())),
    }
    _print(result, cases)
    if args.cases:
        infilling.write_rows(filled, args.cases)
    result["seconds"] = round(perf_counter() - began, 1)
    print(json.dumps(result))
    return 0


def _fill(args: argparse.Namespace) -> dict[str, list[Filled]]:
    settings = load_settings({
        "engine.model": args.model, "engine.dtype": args.dtype, "engine.threads": args.threads,
    })  # fmt: skip
    n = N_QUICK if args.quick else N_FULL
    holes = {
        key: [Hole.of(record) for record in read_records(args.data, name, n, args.seed)]
        for key, name in infilling.SETS.items()
    }
    completer = load_completer(settings, lambda _text: None)
    try:
        return {
            key: list(track(infilling.fill(completer, some), f"filling {key}", len(some)))
            for key, some in holes.items()
        }
    finally:
        completer.target.forward.close()


def _print(result: dict[str, Any], cases: list[postprocessing.Case]) -> None:
    table = Table(title="post-processing: cases that come out right")
    for column in ("level", "right", "of", "goal"):
        table.add_column(column, justify="left" if column == "level" else "right")
    for level, goal in GOALS.items():
        passed, total = (result["postprocess"][f"{level}_{key}"] for key in ("pass", "total"))
        table.add_row(level, str(passed), str(total), "" if goal is None else f"{goal:.0%}")
    console = Console()
    console.print(table)
    _print_filled(result, console)
    times = result["postprocess_ms"]
    console.print(f"{times['p50']} ms median, {times['p95']} ms p95 at 10,000 lines")
    for case, shown in postprocessing.failures(cases):
        console.print(
            f"{case.level} {case.record['id']}: {shown.reason} {shown.text!r}", markup=False
        )


def _print_filled(result: dict[str, Any], console: Console) -> None:
    table = Table(title="holes filled by the model: share of all")
    for column in ("set", "holes", "exact", "similar", "raw exact", "raw similar", "shown"):
        table.add_column(column, justify="left" if column == "set" else "right")
    keys = ("exact", "edit_similarity", "raw_exact", "raw_edit_similarity", "shown_share")
    for name in infilling.SETS:
        if name in result:
            rates = (f"{result[name][key]:.1%}" for key in keys)
            table.add_row(name, str(result[name]["n"]), *rates)
    console.print(table)


if __name__ == "__main__":
    sys.exit(main())
