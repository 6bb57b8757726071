"""Values that every part speaks of: places in a text, a completion, and why one is empty."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


@dataclass(frozen=True, slots=True, order=True)
class Point:
    """A place in a document: 0-based line, and column in code points from the line's start.

    Lines end at LF, CRLF or a lone CR and nowhere else. Inside the project every place is a `Point`;
    editor positions are converted in `lsp/convert.py` only.
    """

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the text between two points by `text`."""

    start: Point
    end: Point
    text: str


@dataclass(frozen=True, slots=True)
class Snippet:
    """Whole lines of another file, LF line ends, for the prompt."""

    path: str  # relative to its workspace folder, with forward slashes
    text: str


class Trigger(StrEnum):
    """What made the editor ask."""

    INVOKED = "invoked"
    AUTOMATIC = "automatic"


class Reason(StrEnum):
    """Why an answer is what it is. Closed: every empty answer carries one of these."""

    OK = "ok"
    NOTHING_TO_ADD = "nothing-to-add"  # the model ended at once
    ALL_TYPED = "all-typed"  # the suggestion has been typed to its end
    JUST_ACCEPTED = "just-accepted"  # the text would repeat what was accepted here a moment ago
    CLOSER_PRESENT = "closer-present"  # only closing brackets that already stand there
    REPEATS_FOLLOWING = "repeats-following"  # the text already follows the cursor
    BREAKS_SYNTAX = "breaks-syntax"  # it would add a parse error where there was none
    NOT_CODE = "not-code"  # prose about code instead of code
    IGNORED_FILE = "ignored-file"  # a file that holds secrets or that .gooselspignore names
    CANCELLED = "cancelled"  # the client asked us to stop
    SUPERSEDED = "superseded"  # a newer request for the same document came
    DEADLINE = "deadline"  # time ran out before anything was decoded
    STALE_VERSION = "stale-version"  # the document moved on while the model worked
    UNKNOWN_DOCUMENT = "unknown-document"  # a request for a document that is not open
    POSITION_OUTSIDE = "position-outside"  # the cursor lies outside the text
    DOCUMENT_TOO_LARGE = "document-too-large"
    MODEL_MISSING = "model-missing"
    MODEL_LOADING = "model-loading"
    MODEL_BROKEN = "model-broken"
    DAEMON_UNAVAILABLE = "daemon-unavailable"
    DISABLED = "disabled"
    INTERNAL_ERROR = "internal-error"


@dataclass(frozen=True, slots=True)
class Completion:
    """What the daemon offers for one request. `text` replaces start..end; empty text means nothing."""

    text: str
    start: Point
    end: Point
    reason: Reason
    detail: str = ""  # one line for people, where the reason needs it
    stats: dict[str, Any] = field(default_factory=dict)  # keys in docs/protocol.md
