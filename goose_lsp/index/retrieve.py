"""The few snippets of other files most useful at a cursor, read from the store's own tokens.

An answer is kept while the user types on below the line it was asked for: a changed snippet costs the prompt a whole
prefill. The line being typed never has a say.
"""

from collections.abc import Callable, Sequence
from functools import cache, cached_property
from itertools import islice
from typing import NamedTuple

import numpy as np

from goose_lsp.draft.store import DEAD
from goose_lsp.index.excerpt import fit, shown_path, unknown_lines, whole_lines
from goose_lsp.index.identifiers import Speller, weigh_identifiers
from goose_lsp.index.imports import find_imports
from goose_lsp.index.ranking import Place, Viewpoint, rank
from goose_lsp.index.windows import NamedStore, Term, Tokens, Window, find_windows
from goose_lsp.request import Point, Snippet
from goose_lsp.text.document import Document
from goose_lsp.tokenizer import Tokenizer

MAX_SNIPPETS = 3
# The line that is asked for and those below it get the same snippets, so many in all.
HELD_LINES = 8
# Lines whose names are looked for, nearest first: above the line asked for, and below.
_LINES_ABOVE, _LINES_BELOW = 32, 8
_MAX_TERMS = 16
# Lines read for imports, and lines on either side of the cursor that a snippet must not repeat.
_IMPORT_LINES = 200
_SHOWN_LINES = 200
_MAX_RECENT = 16
# Tokens that a path and a line or two cost.
_MIN_BUDGET = 32
# Documents whose latest snippets are kept.
_MAX_KEPT = 16


class _Question(NamedTuple):
    """What an answer depends on. Of the store only its size: an answer's sources tell whether it still holds."""

    path: str
    line: int  # the one asked for, the first of those that get the answer
    above: tuple[str, ...]
    recent: tuple[Place, ...]
    budget_tokens: int
    n_base: int  # tokens
    n_others: int  # tokens of the delta outside the current file


class _Answer(NamedTuple):
    question: _Question
    snippets: tuple[Snippet, ...]
    sources: tuple[tuple[Window, Tokens], ...]  # with the tokens that stood there


class Retriever:
    """Used by one thread. A question asked again costs microseconds, a new one about 2 ms at 10 M tokens."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._speller = Speller(tokenizer)
        self._answers: dict[str, _Answer] = {}  # by document, the least lately asked first

    def snippets(
        self,
        store: NamedStore,
        document: Document,
        cursor: Point,
        path: str,
        budget_tokens: int,
        recent: Sequence[Place] = (),
    ) -> tuple[Snippet, ...]:
        """At most MAX_SNIPPETS of files other than `path`, best first, `budget_tokens` with their paths in all.

        `path` names the document as the store does. `recent` are places edited lately, newest first. The answer stays
        until the cursor leaves the HELD_LINES lines, what stands above them changes, or the rest of the workspace
        does.
        """
        cursor = document.clamp(cursor)
        start, stop = store.span(path)
        question = _Question(
            path,
            cursor.line,
            _above(document, cursor.line),
            tuple(place for place in recent if place[0] != path)[:_MAX_RECENT],
            budget_tokens,
            len(store.view.base.segment.tokens),
            len(store.view.delta.segment.tokens) - (stop - start),
        )
        answer = self._answers.pop(document.uri, None)
        if answer is None or not (_answers(answer, question, document) and _holds(answer, store)):
            answer = self._answer(question, store, document)
        self._answers[document.uri] = answer
        if len(self._answers) > _MAX_KEPT:
            del self._answers[next(iter(self._answers))]
        return answer.snippets

    def _answer(self, question: _Question, store: NamedStore, document: Document) -> _Answer:
        line = question.line
        below = _lines(document, line + 1, line + 1 + _LINES_BELOW)
        names = islice(weigh_identifiers(question.above, below).items(), _MAX_TERMS)
        terms = [Term(self._speller.spellings(name), weight) for name, weight in names]
        imports = find_imports(_lines(document, 0, min(line, _IMPORT_LINES)), question.path)
        viewpoint = Viewpoint(question.path, imports, question.recent)
        windows = find_windows(store, terms, question.path)
        ranked = rank(windows, viewpoint, self._line_counter(store))
        return self._read(question, store, ranked, _lines_around(document, line))

    def _read(
        self, question: _Question, store: NamedStore, windows: Sequence[Window], known: set[str]
    ) -> _Answer:
        """The first windows that say something new; `known` lines are extended by theirs."""
        budget = question.budget_tokens
        snippets: list[Snippet] = []
        sources: list[tuple[Window, Tokens]] = []
        for window in windows:
            path, tokens = shown_path(window.path), _tokens(store, window)
            lines = unknown_lines(self._whole_lines(window, tokens), known)
            text, n_tokens = fit(path, lines, budget, self._n_tokens)
            if text:
                snippets.append(Snippet(path, text))
                sources.append((window, tokens.copy()))
                known.update(line.strip() for line in lines)
                budget -= n_tokens
            if len(snippets) == MAX_SNIPPETS or budget < _MIN_BUDGET:
                break
        return _Answer(question, tuple(snippets), tuple(sources))

    def _whole_lines(self, window: Window, tokens: Tokens) -> list[str]:
        return whole_lines(
            self._tokenizer.decode(tokens.tolist()),
            is_from_start=window.start == window.file_start,
            is_to_end=window.stop == window.file_stop,
        )

    @cached_property
    def _n_line_ends(self) -> Tokens:
        """Of every token. Takes about 0.1 s, once."""
        texts = (self._tokenizer.decode([token]) for token in range(self._tokenizer.n_vocab))
        return np.array([text.count("\n") for text in texts], np.int32)

    def _n_tokens(self, text: str) -> int:
        return len(self._tokenizer.encode(text))

    def _line_counter(self, store: NamedStore) -> Callable[[Window], int]:
        """Says in which line of its file a window begins; reads every file once."""

        @cache
        def line_ends(is_delta: bool, start: int, stop: int) -> Tokens:
            ends = self._n_line_ends[store.half(is_delta).segment.tokens[start:stop]]
            return np.cumsum(ends, dtype=np.int32)

        def line_of(window: Window) -> int:
            ends = line_ends(window.is_delta, window.file_start, window.file_stop)
            n_before = window.start - window.file_start
            return int(ends[n_before - 1]) if n_before else 0

        return line_of


def _answers(answer: _Answer, question: _Question, document: Document) -> bool:
    """Whether it was given to this question, asked a few lines further up."""
    line = answer.question.line
    if not line <= question.line < line + HELD_LINES:
        return False
    return answer.question == question._replace(line=line, above=_above(document, line))


def _holds(answer: _Answer, store: NamedStore) -> bool:
    """Whether everything shown still stands where it did, in files that live."""
    return all(_stands(window, tokens, store) for window, tokens in answer.sources)


def _stands(window: Window, tokens: Tokens, store: NamedStore) -> bool:
    half, file_idx = store.half(window.is_delta), window.file_idx
    if file_idx >= len(half.weights) or half.weights[file_idx] == DEAD:
        return False
    start = half.starts[file_idx] + window.start - window.file_start
    now = half.segment.tokens[start : start + len(tokens)]
    return store.path(window.is_delta, file_idx) == window.path and np.array_equal(now, tokens)


def _tokens(store: NamedStore, window: Window) -> Tokens:
    return store.half(window.is_delta).segment.tokens[window.start : window.stop]


def _above(document: Document, line: int) -> tuple[str, ...]:
    return tuple(_lines(document, line - _LINES_ABOVE, line))


def _lines(document: Document, first: int, end: int) -> list[str]:
    return [document.line_text(i) for i in range(max(first, 0), min(end, document.n_lines))]


def _lines_around(document: Document, line: int) -> set[str]:
    """What the prompt shows anyway; the line being typed is not asked."""
    above = _lines(document, line - _SHOWN_LINES, line)
    below = _lines(document, line + 1, line + _SHOWN_LINES)
    return {text.strip() for text in above + below}
