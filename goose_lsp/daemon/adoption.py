"""Letting work under way serve a newer request, whose text its user has typed on from the older one's. Pure.

Editors ask at every key. Starting anew each time would show nothing to people who type what the model is
about to say; so work goes on while what is typed agrees with what has been decoded.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from goose_lsp.daemon.completer import Ask
from goose_lsp.request import Completion, Point, Reason, Trigger
from goose_lsp.text.suggestion import Place, Remainder, Suggestion

# What these say of the older text holds for the same text only if it was worked on to its end.
_UNFINISHED = (Reason.CANCELLED, Reason.DEADLINE)


@dataclass(slots=True)
class Progress:
    """How far work has come. `text` is written by the inference thread alone, `typed` by the loop thread."""

    stop: Callable[[], None]
    text: str = ""  # decoded so far, from the cursor on
    typed: str = ""  # by the user, since

    def put(self, text: str) -> None:
        """More has been decoded; work that no longer agrees with what was typed is stopped."""
        self.text = text
        if not _agree(self.typed, text):
            self.stop()


def typed_since(then: Ask, decoded: str, now: Ask) -> str | None:
    """What was typed between two asks, where work on the one may serve the other; else None.

    Before anything is decoded that is so for the same text alone: what is typed mostly differs.
    """
    if not _is_alike(then, now):
        return None
    place = Place.at(then.document, then.point)
    typed = place.typed_since(now.document, now.point, decoded)
    if typed is None or (typed.text and not decoded):
        return None
    return typed.text if _agree(typed.text, decoded) else None


def served(then: Ask, made: Completion, now: Ask) -> Completion | None:
    """The completion made for the one ask as the answer to the other; None where it is none."""
    if not made.text:
        is_same = Place.at(then.document, then.point) == Place.at(now.document, now.point)
        holds = is_same and made.reason not in _UNFINISHED
        return replace(made, start=now.point, end=now.point) if holds else None
    suggestion = Suggestion.of(then.document, then.point, made)
    remainder = suggestion.remainder(now.document, now.point) if suggestion else None
    if remainder is None:
        return None
    return remaining(remainder, now.point, {**made.stats, "is_adopted": True})


def remaining(remainder: Remainder, cursor: Point, stats: dict[str, Any]) -> Completion:
    """What is left of a suggestion as an answer at the cursor."""
    end = Point(cursor.line, cursor.column + remainder.n_replaced)
    reason = Reason.OK if remainder.text else Reason.ALL_TYPED
    stats = {**stats, "n_typed": remainder.n_typed}
    return Completion(remainder.text, cursor, end, reason, stats=stats)


def _is_alike(then: Ask, now: Ask) -> bool:
    """Whether both are ordinary and one's wishes are the other's."""
    if not (is_ordinary(then) and is_ordinary(now)):
        return False
    is_as_wanted = then.trigger is now.trigger or now.trigger is Trigger.AUTOMATIC
    return is_as_wanted and then.max_new_tokens == now.max_new_tokens


def is_ordinary(ask: Ask) -> bool:
    """Whether an answer may come from earlier work; measurements and demonstrations want their own."""
    return not (ask.is_isolated or ask.wants_trace or ask.policy)


def _agree(typed: str, decoded: str) -> bool:
    """As far as both go. Leading blanks are left out: they are fitted to the line once all is decoded."""
    typed, decoded = typed.lstrip(" \t"), decoded.lstrip(" \t")
    n_chars = min(len(typed), len(decoded))
    return typed[:n_chars] == decoded[:n_chars]
