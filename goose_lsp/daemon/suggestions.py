"""What was offered in one document lately, so that typing along with it needs no model.

Lives on the loop thread. Bounded in number and size; finding costs a look at a few hundred characters
around the cursor for each suggestion kept.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from goose_lsp.daemon.adoption import remaining
from goose_lsp.daemon.completer import Ask
from goose_lsp.request import Completion, Edit, Reason, Trigger
from goose_lsp.text.document import Document
from goose_lsp.text.rules.around import with_lf
from goose_lsp.text.suggestion import Suggestion

MAX_SUGGESTIONS = 16
MAX_CHARS = 64_000


@dataclass(eq=False, slots=True)
class Kept:
    """A suggestion, what its request wished for, and what has become of it."""

    suggestion: Suggestion
    trigger: Trigger
    max_new_tokens: int
    is_look_ahead: bool
    is_accepted: bool = False

    def suits(self, ask: Ask) -> bool:
        """One asked for by hand may be longer than those that come by themselves."""
        is_as_wanted = self.trigger is ask.trigger or ask.trigger is Trigger.AUTOMATIC
        return is_as_wanted and self.max_new_tokens == ask.max_new_tokens


@dataclass(frozen=True, slots=True)
class Found:
    kept: Kept
    completion: Completion


class Suggestions:
    """The one served last is looked at first."""

    def __init__(self) -> None:
        self._kept: list[Kept] = []
        self._accepted = ""
        self._shown = ""

    @property
    def latest(self) -> Kept | None:
        """The one that was served or added last, look-aheads apart."""
        return self._kept[0] if self._kept else None

    def add(self, ask: Ask, completion: Completion) -> None:
        """Keep what was made for the ask, if it is a text that begins at its cursor."""
        suggestion = Suggestion.of(ask.document, ask.point, completion)
        if suggestion is None or len(suggestion.text) > MAX_CHARS:
            return
        kept = Kept(suggestion, ask.trigger, ask.max_new_tokens, ask.is_look_ahead)
        # What is shown now comes before what is for the time after it has been accepted.
        self._kept.insert(1 if ask.is_look_ahead else 0, kept)
        n_chars = sum(len(kept.suggestion.text) for kept in self._kept)
        while len(self._kept) > MAX_SUGGESTIONS or n_chars > MAX_CHARS:
            n_chars -= len(self._kept.pop().suggestion.text)

    def find(self, ask: Ask) -> Found | None:
        """What is left here of a suggestion; empty, with its reason, where all has been typed by hand.

        Behind a text that was accepted, and at the end of a typed one when asked by hand, people want
        what comes next.
        """
        for kept in self._kept:
            remainder = (
                kept.suggestion.remainder(ask.document, ask.point) if kept.suits(ask) else None
            )
            wants_more = kept.is_accepted or ask.trigger is Trigger.INVOKED
            if remainder is None or (not remainder.text and wants_more):
                continue
            self._kept.remove(kept)
            self._kept.insert(0, kept)
            kept.is_accepted = False
            stats = {"from_cache": True, "is_look_ahead": kept.is_look_ahead}
            return Found(kept, remaining(remainder, ask.point, stats))
        return None

    def offer(self, document: Document, completion: Completion) -> Completion:
        """The completion as it may be shown: not what was accepted at its place a moment ago."""
        if completion.text and self._accepted and self._is_repeated(document, completion):
            cursor = completion.start
            completion = Completion(
                "", cursor, cursor, Reason.JUST_ACCEPTED, stats=completion.stats
            )
        self._shown = completion.text
        return completion

    def accept(self, text: str) -> None:
        """The user has taken this text over."""
        self._accepted = text
        for kept in self._kept:
            # A part may have been typed before; a menu's entry may have stood before it.
            whole = kept.suggestion.text
            kept.is_accepted |= bool(text) and (whole.endswith(text) or text.endswith(whole))

    def reject(self, text: str) -> None:
        """The user does not want this text: it is not offered again without a new request to the model."""
        if text:
            self._kept = [kept for kept in self._kept if not kept.suggestion.text.endswith(text)]

    def see(self, edits: Sequence[Edit]) -> None:
        """An edit that writes all of what was shown last is an accept, whether or not the client says so.

        One character may as well have been typed.
        """
        for edit in edits:
            if len(self._shown) > 1 and with_lf(edit.text) == self._shown:
                self.accept(self._shown)

    def _is_repeated(self, document: Document, completion: Completion) -> bool:
        """Whether the text stands right before its place because it was accepted there, blanks aside.

        Of a text of several lines it is enough that the completion begins with it.
        """
        accepted, offered = self._accepted, completion.text.strip()
        before = with_lf(document.text_before(completion.start, 2 * len(accepted)))
        if not before.endswith(accepted):
            return False
        accepted = accepted.strip()
        return offered == accepted or ("\n" in accepted and offered.startswith(accepted))
