"""Completing, while nobody asks, what comes behind the text that is being shown.

Somebody who accepts it then has the next suggestion at once. One look-ahead for each suggestion, after a
moment without a new one; every request that needs the model ends it between two steps.
"""

from dataclasses import dataclass, replace
from functools import partial

from goose_lsp.cancel import CancelToken
from goose_lsp.daemon.completer import Ask
from goose_lsp.daemon.schedule import Job, Later, Scheduler
from goose_lsp.daemon.session import Session
from goose_lsp.daemon.suggestions import Kept
from goose_lsp.request import Completion, Edit, Point, Trigger
from goose_lsp.text.document import Document

# People who type on do so sooner, people who accept look first.
AFTER_S = 0.2


@dataclass(frozen=True, slots=True)
class _Shown:
    """What the editor shows now, and in which text."""

    session: Session
    ask: Ask
    version: int
    completion: Completion
    kept: Kept


class LookAhead:
    """Lives on the loop thread."""

    def __init__(self, scheduler: Scheduler, later: Later) -> None:
        self._scheduler = scheduler
        self._later = later
        self._shown: _Shown | None = None
        self.n_started = 0

    def answered(self, session: Session, ask: Ask, completion: Completion) -> None:
        """This text is about to be shown in the session's document, which the ask holds."""
        kept = session.suggestions(ask.document.uri).latest
        if kept is None:
            return
        is_new = self._shown is None or kept is not self._shown.kept
        self._shown = _Shown(session, ask, ask.document.version, completion, kept)
        if is_new:
            self._scheduler.stop_look_ahead()
            self._later(AFTER_S, partial(self._start, kept))

    def leave(self, session: Session) -> None:
        """The client has gone."""
        if self._shown is not None and self._shown.session is session:
            self._shown = None

    def _start(self, kept: Kept) -> None:
        shown = self._shown
        if shown is None or shown.kept is not kept:
            return
        document = shown.session.documents.get(shown.ask.document.uri)
        if document is not shown.ask.document or document.version != shown.version:
            self._shown = None  # something else is being typed
            return
        accepted, cursor = as_if_accepted(document, shown.completion)
        ask = replace(
            shown.ask,
            document=accepted,
            point=cursor,
            trigger=Trigger.AUTOMATIC,
            is_look_ahead=True,
        )
        key = (shown.session.number, document.uri)
        job = Job(key, 0, ask, CancelToken(), _nobody, is_answered=True)
        self.n_started += self._scheduler.look_ahead(job)


def as_if_accepted(document: Document, completion: Completion) -> tuple[Document, Point]:
    """A copy with the completion accepted, and where the cursor is then."""
    accepted = document.snapshot()
    accepted.apply(Edit(completion.start, completion.end, completion.text))
    *lines_before, last = completion.text.split("\n")
    column = len(last) if lines_before else completion.start.column + len(last)
    return accepted, Point(completion.start.line + len(lines_before), column)


def _nobody(_completion: Completion) -> None:
    """Nobody waits for it."""
