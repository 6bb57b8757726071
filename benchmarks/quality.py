"""Whether what is shown is what people keep.

Bounds: a polished text is at best what the model meant, so rules can lose a good suggestion and cannot
make one; a rule pass reads the model's text and a few thousand characters around the cursor.

    python -m benchmarks.quality [--quick] [--json] [--data DIR]

Each part has a module of its own; it gives some keys of the result and the rows of a table.
"""

import json
import sys
from datetime import UTC, datetime
from time import perf_counter
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks import postprocessing
from benchmarks.common import machine, parser_of, versions
from goose_lsp.errors import GooseError

GOALS = {"must": 1.0, "should": 0.9, "policy": None}


def main(argv: list[str] | None = None) -> int:
    args = parser_of("quality", "the same: all parts are quick so far").parse_args(argv)
    started, began = datetime.now(UTC), perf_counter()
    try:
        cases = postprocessing.read_cases(args.data)
    except GooseError as error:
        print(f"benchmarks.quality: {error}", file=sys.stderr)
        return 2
    result = {
        "postprocess": postprocessing.score(cases),
        "postprocess_ms": postprocessing.polish_ms(cases),
        "is_quick": args.quick,
        "machine": machine(args.threads),
        "model": args.model,
        "dtype": args.dtype,
        "versions": versions(),
        "started": started.isoformat(timespec="seconds"),
        "n": len(cases),
    }
    _print(result, cases)
    result["seconds"] = round(perf_counter() - began, 1)
    print(json.dumps(result))
    return 0


def _print(result: dict[str, Any], cases: list[postprocessing.Case]) -> None:
    table = Table(title="post-processing: cases that come out right")
    for column in ("level", "right", "of", "goal"):
        table.add_column(column, justify="left" if column == "level" else "right")
    for level, goal in GOALS.items():
        passed, total = (result["postprocess"][f"{level}_{key}"] for key in ("pass", "total"))
        table.add_row(level, str(passed), str(total), "" if goal is None else f"{goal:.0%}")
    console = Console()
    console.print(table)
    times = result["postprocess_ms"]
    console.print(f"{times['p50']} ms median, {times['p95']} ms p95 at 10,000 lines")
    for case, shown in postprocessing.failures(cases):
        console.print(
            f"{case.level} {case.record['id']}: {shown.reason} {shown.text!r}", markup=False
        )


if __name__ == "__main__":
    sys.exit(main())
