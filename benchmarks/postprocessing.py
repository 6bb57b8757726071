"""Polishing scripted model texts: how many cases come out right, and what polishing costs.

A case passes when the document with the suggestion in it is one of the wanted documents, blanks at
line ends aside, or when nothing is shown and that is allowed.
"""

import argparse
import inspect
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import quantiles
from time import perf_counter
from typing import Any

from goose_lsp.errors import GooseError
from goose_lsp.request import Completion, Point, Reason, Trigger
from goose_lsp.text.document import Document
from goose_lsp.text.endings import choose_ending
from goose_lsp.text.postprocess import Ends, Gate, Polishing, Shown, polish
from goose_lsp.text.rules.around import look_around
from goose_lsp.text.rules.rest_of_line import join_rest
from goose_lsp.text.suggestion import Suggestion
from goose_lsp.text.syntax.gate import adds_errors
from goose_lsp.text.syntax.grammars import grammar_of

LEVELS = ("must", "should", "policy")
N_LINES = 10_000


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


def read_cases(data: Path) -> list[Case]:
    file = data / "postprocess" / "postprocess_cases.jsonl"
    if not file.is_file():
        raise GooseError(f"no data set postprocess under {data}; name its folder with --data")
    with file.open(encoding="utf-8") as lines:
        return [Case.of(json.loads(line)) for line in lines]


def show(case: Case) -> Shown:
    """As asked for by hand, where several lines are wanted, and past the syntax gate."""
    document, cursor = case.placed()
    how = case.how(choose_ending(document, cursor, Trigger.INVOKED))
    return polish(case.record["raw"], document, cursor, replace(how, gate=_gate(document)))


def _gate(document: Document) -> Gate | None:
    grammar = grammar_of(document.language)
    return None if grammar is None else partial(adds_errors, grammar=grammar)


def score(cases: Sequence[Case]) -> dict[str, int]:
    """`must_pass`, `must_total` and so on for each level."""
    counts = {}
    for level in LEVELS:
        passed = [case.passes(show(case)) for case in cases if case.level == level]
        counts[f"{level}_pass"], counts[f"{level}_total"] = sum(passed), len(passed)
    return counts


def score_reuse(data: Path) -> dict[str, int]:
    """How many typing-on cases keep what is left of a suggestion, and drop what no longer fits."""
    file = data / "postprocess" / "reuse_cases.jsonl"
    if not file.is_file():
        raise GooseError(f"no {file.name} under {file.parent}; name the data's folder with --data")
    records = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return {"pass": sum(map(_is_reused, records)), "total": len(records)}


def _is_reused(record: dict[str, Any]) -> bool:
    then, wanted = record["then"], record["expect"]
    document, cursor = _at(then["prefix"], then["suffix"])
    joined = join_rest(then["shown"], look_around(document, cursor, "", None))
    end = Point(cursor.line, cursor.column + joined.n_replaced)
    suggestion = Suggestion.of(document, cursor, Completion(joined.text, cursor, end, Reason.OK))
    assert suggestion is not None
    found = suggestion.remainder(*_at(record["now"]["prefix"], record["now"]["suffix"]))
    if wanted["reuse"] is None:
        return found is None or bool(wanted.get("accepted") and not found.text)
    return found is not None and (found.text, found.n_replaced) == (
        wanted["reuse"],
        wanted.get("eat", 0),
    )


def _at(prefix: str, suffix: str) -> tuple[Document, Point]:
    lines = Document("", 1, "", prefix).lines
    return Document("", 1, "", prefix + suffix), Point(len(lines) - 1, len(lines[-1]))


def failures(cases: Sequence[Case]) -> list[tuple[Case, Shown]]:
    shown = [(case, show(case)) for case in cases]
    return [(case, answer) for case, answer in shown if not case.passes(answer)]


def polish_ms(cases: Sequence[Case], n_lines: int = N_LINES) -> dict[str, float]:
    """Percentiles of one call over the cases, each in the middle of a document of `n_lines` lines.

    Parsing is not in it: the ending has judged the text while it was decoded, and the gate is off.
    """
    source = inspect.getsource(argparse).splitlines(keepends=True)
    half = "".join(source[i % len(source)] for i in range(n_lines // 2))
    times = []
    for case in cases:
        document, cursor = case.placed(above=half, below=half)
        how = case.how(
            _Judged(case.record["raw"], choose_ending(document, cursor, Trigger.INVOKED))
        )
        began = perf_counter()
        polish(case.record["raw"], document, cursor, how)
        times.append((perf_counter() - began) * 1e3)
    cuts = quantiles(times, n=20)
    return {"p50": round(cuts[9], 3), "p95": round(cuts[18], 3)}


class _Judged:
    """An ending that has seen the whole text and knows where it is cut."""

    def __init__(self, raw: str, ending: Ends) -> None:
        self._end = ending.end(raw + "\n")

    def end(self, text: str) -> int | None:
        return None if self._end is None or self._end >= len(text) else self._end
