"""A completion as programs read it (one JSON object) and as people do (among the lines around it)."""

from typing import Any

from goose_lsp.request import Completion, Point
from goose_lsp.text.document import Document

_LINES_AROUND = 3
_STATS = (
    "n_tokens",
    "n_steps",
    "mean_accepted_len",
    "n_prompt_tokens",
    "n_prefilled",
    "prefill_ms",
    "decode_ms",
    "total_ms",
    "model",
    "policy",
)


def as_json(completion: Completion, *, wants_trace: bool = False) -> dict[str, Any]:
    """Every key is always there, null where unknown. Lines and columns count from 1."""
    trace = {"trace": completion.stats.get("trace")} if wants_trace else {}
    return {
        "text": completion.text,
        "range": {"start": _from_one(completion.start), "end": _from_one(completion.end)},
        "reason": str(completion.reason),
        "detail": completion.detail,
        **{key: completion.stats.get(key) for key in _STATS},
        **trace,
    }


def _from_one(point: Point) -> dict[str, int]:
    return {"line": point.line + 1, "column": point.column + 1}


def in_context(document: Document, completion: Completion) -> tuple[str, str, str]:
    """A few lines before it, the completion and a few lines after it, safe to print on a terminal."""
    lines, start, end = document.lines, completion.start, completion.end
    first = max(start.line - _LINES_AROUND, 0)
    before = "".join(lines[first : start.line]) + lines[start.line][: start.column]
    after = lines[end.line][end.column :]
    after += "".join(lines[end.line + 1 : end.line + 1 + _LINES_AROUND])
    return printable(before), printable(completion.text), printable(after).rstrip("\n")


def printable(text: str) -> str:
    """Line ends as LF; no control character of a file may steer the terminal."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return "".join(
        c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in text
    )
