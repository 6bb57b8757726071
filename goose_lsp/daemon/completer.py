"""The seam between scheduling and the model: one ask in, one completion out."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from goose_lsp.cancel import CancelToken
from goose_lsp.request import Completion, Point, Trigger
from goose_lsp.text.document import Document

if TYPE_CHECKING:
    from goose_lsp.index.live import LiveStore


def _unheard(_text: str) -> None:
    """Nobody wants to know how far it has come."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One completion to make, on a document snapshot that nobody changes any more."""

    document: Document
    point: Point
    max_new_tokens: int = 0  # 0: the daemon's setting
    policy: str = ""  # "": the daemon's setting
    is_isolated: bool = False
    wants_trace: bool = False
    trigger: Trigger = Trigger.AUTOMATIC
    store: "LiveStore | None" = None  # of the workspace the document is open in
    path: str = ""  # absolute; "": the document is no file
    indent_unit: str = ""  # what the editor indents with; "": it has not said
    is_look_ahead: bool = False  # the document is one that the user may come to have
    # Called on the inference thread after each decode step with all the text from the cursor on so far.
    on_text: Callable[[str], None] = _unheard


class Completer(Protocol):
    """A loaded model that completes text. Used by the inference thread only."""

    model_name: str

    def complete(self, ask: Ask, cancel: CancelToken) -> Completion:
        """Decode one completion; raises `CancelledError` when asked to stop."""
        ...

    def close(self) -> None:
        """Keep what was learned for next time. The last call."""
        ...
