"""Filling holes in real code with the model: what is shown, and whether it is what stood there.

The bound is the model: rules can at best show what it meant. Beside each case stands the raw text of the same
model behind the bare prefix, cut at its first line end; empty lines before that are forgiven.
"""

import csv
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks.common import MAX_PROMPT_TOKENS
from goose_lsp.cancel import CancelToken
from goose_lsp.daemon.completer import Ask
from goose_lsp.daemon.load import ModelCompleter
from goose_lsp.draft.policy import PlainPolicy
from goose_lsp.engine.decode import DecodeLimits, Decoder
from goose_lsp.request import Completion, Point, Reason
from goose_lsp.text.document import Document
from goose_lsp.text.rules.around import with_lf
from goose_lsp.text.syntax.gate import count_errors
from goose_lsp.text.syntax.grammars import grammar_of
from goose_lsp.text.syntax.parsing import parse

SETS = {"infilling": "humaneval_infilling/single_line", "safim": "safim"}
RAW_NEW_TOKENS = 64
_MODULES = {"cpp": "cpp", "python": "py", "java": "java", "csharp": "cs"}
_CASE_KEYS = ("id", "exact", "edit_similarity", "raw_exact", "raw_edit_similarity", "reason")


@dataclass(frozen=True, slots=True)
class Hole:
    """A place in a file and what stood there, line ends as LF."""

    name: str
    language: str
    prefix: str
    suffix: str
    reference: str

    @classmethod
    def of(cls, record: dict[str, Any]) -> "Hole":
        prefix, suffix, reference = (with_lf(record[k]) for k in ("prefix", "suffix", "reference"))
        # A whole line taken out leaves an empty one to write in.
        if reference.endswith("\n"):
            suffix = "\n" + suffix
        return cls(record["id"], record["lang"], prefix, suffix, reference)

    def placed(self) -> tuple[Document, Point]:
        uri = f"file:///holes/{self.name}.{_MODULES.get(self.language, 'txt')}"
        document = Document(uri, 1, self.language, self.prefix + self.suffix)
        lines = self.prefix.split("\n")
        return document, Point(len(lines) - 1, len(lines[-1]))

    def filled(self, text: str, n_replaced: int = 0) -> str:
        return self.prefix + text + self.suffix[n_replaced:]


@dataclass(frozen=True, slots=True)
class Filled:
    hole: Hole
    completion: Completion
    n_shown_tokens: int
    raw: str

    @property
    def shown(self) -> str:
        return self.hole.filled(
            self.completion.text, self.completion.end.column - self.completion.start.column
        )

    @property
    def row(self) -> dict[str, Any]:
        hole, text = self.hole, self.completion.text
        whole = _without_blanks(hole.filled(hole.reference.removesuffix("\n")))
        return {
            "id": hole.name,
            "exact": int(bool(text) and _without_blanks(self.shown) == whole),
            "edit_similarity": round(similarity(text, hole.reference), 3),
            "raw_exact": int(
                bool(self.raw.strip()) and _without_blanks(hole.filled(self.raw)) == whole
            ),
            "raw_edit_similarity": round(similarity(self.raw, hole.reference), 3),
            "reason": str(self.completion.reason),
        }


def similarity(one: str, other: str) -> float:
    """1 for the same text, blanks at both ends aside; 0 where nothing is alike or nothing is there."""
    matcher = SequenceMatcher(None, one.strip(), other.strip(), autojunk=False)
    return matcher.ratio() if one.strip() else 0.0


def fill(completer: ModelCompleter, holes: Sequence[Hole]) -> Iterator[Filled]:
    """One by one, as an editor asks by itself."""
    for hole in holes:
        document, point = hole.placed()
        completion = completer.complete(Ask(document, point), CancelToken())
        n_shown = len(completer.tokenizer.encode(completion.text))
        yield Filled(hole, completion, n_shown, raw_line(completer, hole.prefix))


def raw_line(completer: ModelCompleter, prefix: str) -> str:
    """What the model writes behind the prefix and nothing else: its first line, empty ones left out."""
    tokenizer, target = completer.tokenizer, completer.target
    limits = DecodeLimits(RAW_NEW_TOKENS, 0, tokenizer.control_ids)
    decoder = Decoder(target, PlainPolicy(), limits, CancelToken())
    decoder.prefill(tokenizer.encode(prefix)[-MAX_PROMPT_TOKENS:])
    token_ids: list[int] = []
    for step in decoder.steps():
        token_ids += [token for token, _ in step]
        if "\n" in tokenizer.decode(token_ids).lstrip("\n"):
            break
    return tokenizer.decode(token_ids).lstrip("\n").partition("\n")[0]


def score(filled: Sequence[Filled]) -> dict[str, Any]:
    """The keys of one set, rates over all its holes."""
    rows = [one.row for one in filled]
    rates = {key: round(mean(row[key] for row in rows), 4) for key in _CASE_KEYS[1:5]}
    shown = [one for one in filled if one.completion.text]
    return rates | {"shown_share": round(len(shown) / len(filled), 4), "n": len(filled)}


def score_all(filled: Sequence[Filled]) -> dict[str, Any]:
    """The keys of all sets together."""
    shown = [one for one in filled if one.completion.text]
    judged = [verdict for one in shown if (verdict := adds_error(one)) is not None]
    n_decoded = sum(one.completion.stats["n_tokens"] for one in filled)
    silent = Counter(str(one.completion.reason) for one in filled if not one.completion.text)
    assert str(Reason.OK) not in silent
    return {
        "parse_error_share": round(mean(judged), 4) if judged else None,
        "n_parsed": len(judged),
        "decoded_per_shown": round(n_decoded / max(sum(one.n_shown_tokens for one in shown), 1), 3),
        "silent_by_reason": dict(sorted(silent.items())),
    }


def adds_error(one: Filled) -> bool | None:
    """Whether the whole file has more syntax errors with the text than without; None where none can be counted.

    Stricter than the gate that suggestions pass: open ends are errors here.
    """
    document, _ = one.hole.placed()
    name = grammar_of(document.language, document.uri)
    if name is None:
        return None
    before, after = parse(one.hole.filled(""), name), parse(one.shown, name)
    return None if before is None or after is None else count_errors(after) > count_errors(before)


def write_rows(filled: Mapping[str, Sequence[Filled]], file: Path) -> None:
    """One line a case: what a change of rules does to each."""
    with file.open("w", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, ("set", *_CASE_KEYS), lineterminator="\n")
        writer.writeheader()
        for name, some in filled.items():
            writer.writerows({"set": name, **one.row} for one in some)


def _without_blanks(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.rstrip().split("\n"))
