"""Polishing scripted model texts: how many cases come out right, and what polishing costs.

A case passes when the document with the suggestion in it is one of the wanted documents, blanks at
line ends aside, or when nothing is shown and that is allowed.
"""

import argparse
import inspect
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import quantiles
from time import perf_counter
from typing import Any

from goose_lsp.errors import GooseError
from goose_lsp.request import Point
from goose_lsp.text.document import Document
from goose_lsp.text.endings import EndRule
from goose_lsp.text.postprocess import Ends, Polishing, Shown, polish

LEVELS = ("must", "should", "policy")
N_LINES = 10_000

EndingAt = Callable[[Document, Point], Ends]


@dataclass(frozen=True, slots=True)
class Case:
    """One record of the data set; its format is told in the data's README."""

    record: dict[str, Any]
    prefix: str  # with the entry accepted that is selected in an open menu
    suffix: str

    @classmethod
    def of(cls, record: dict[str, Any]) -> "Case":
        prefix = record["prefix"]
        if entry := record.get("options", {}).get("selected_item"):
            prefix = prefix.removesuffix(entry["replaces"]) + entry["text"]
        return cls(record, prefix, record["suffix"])

    @property
    def level(self) -> str:
        return str(self.record["level"])

    def placed(self, above: str = "", below: str = "") -> tuple[Document, Point]:
        """The case's document and cursor, between other lines."""
        language, before = self.record["lang"], above + self.prefix
        lines = Document("file:///case", 1, language, before).lines
        document = Document("file:///case", 1, language, before + self.suffix + below)
        return document, Point(len(lines) - 1, len(lines[-1]))

    def how(self, ending: Ends) -> Polishing:
        options = self.record.get("options", {})
        unit = options.get("indent")
        if "tab_size" in options:
            unit = " " * options["tab_size"] if options["insert_spaces"] else "\t"
        return Polishing(
            self.record["lang"], ending, unit, frozenset(options.get("stop", ())), is_whole=True
        )

    def passes(self, shown: Shown) -> bool:
        expect = self.record["expect"]
        if not shown.text:
            return "nothing" in expect
        if any(text in shown.text for text in expect.get("must_not_contain", ())):
            return False
        if "shown" not in expect:
            return "must_not_contain" in expect
        result = _joined(
            self.prefix, shown.text, self.suffix[shown.end.column - shown.start.column :]
        )
        return result in {
            _joined(self.record["prefix"], wanted["text"], self.suffix[wanted["eat"] :])
            for wanted in expect["shown"]
        }


def _joined(*pieces: str) -> str:
    text = "".join(pieces).replace("\r\n", "\n")
    return re.sub(r"[ \t]+(?=\n|$)", "", text).rstrip()


def ending_at(document: Document, cursor: Point) -> Ends:
    line = document.line_text(cursor.line)
    return EndRule.at(line[: cursor.column], line[cursor.column :])


def read_cases(data: Path) -> list[Case]:
    file = data / "postprocess" / "postprocess_cases.jsonl"
    if not file.is_file():
        raise GooseError(f"no data set postprocess under {data}; name its folder with --data")
    with file.open(encoding="utf-8") as lines:
        return [Case.of(json.loads(line)) for line in lines]


def show(case: Case, ending_at: EndingAt = ending_at) -> Shown:
    document, cursor = case.placed()
    return polish(case.record["raw"], document, cursor, case.how(ending_at(document, cursor)))


def score(cases: Sequence[Case], ending_at: EndingAt = ending_at) -> dict[str, int]:
    """`must_pass`, `must_total` and so on for each level."""
    counts = {}
    for level in LEVELS:
        passed = [case.passes(show(case, ending_at)) for case in cases if case.level == level]
        counts[f"{level}_pass"], counts[f"{level}_total"] = sum(passed), len(passed)
    return counts


def failures(cases: Sequence[Case], ending_at: EndingAt = ending_at) -> list[tuple[Case, Shown]]:
    shown = [(case, show(case, ending_at)) for case in cases]
    return [(case, answer) for case, answer in shown if not case.passes(answer)]


def polish_ms(cases: Sequence[Case], n_lines: int = N_LINES) -> dict[str, float]:
    """Percentiles of one call over the cases, each in the middle of a document of `n_lines` lines.

    The ending and the syntax gate are the parser's and not in it.
    """
    source = inspect.getsource(argparse).splitlines(keepends=True)
    half = "".join(source[i % len(source)] for i in range(n_lines // 2))
    times = []
    for case in cases:
        document, cursor = case.placed(above=half, below=half)
        how = case.how(ending_at(document, cursor))
        began = perf_counter()
        polish(case.record["raw"], document, cursor, how)
        times.append((perf_counter() - began) * 1e3)
    cuts = quantiles(times, n=20)
    return {"p50": round(cuts[9], 3), "p95": round(cuts[18], 3)}
