"""From a document and a cursor to the prompt's token ids, in a layout that stays put under typing.

What the model has cached is worth more than the ideal window, so whatever stands before the typed
text is decided once and handed back as `Frozen`, for the next prompt of the same document. Pure: the
same arguments give the same prompt.
"""

from dataclasses import dataclass, replace
from functools import partial

from goose_lsp.prompt.anchor import Anchor, anchor_point
from goose_lsp.prompt.fim import PLAIN, FimFormat, Order
from goose_lsp.prompt.frame import NEAR_SUFFIX_SHARE, SUFFIX_SHARE, Frame, Surroundings, make_frame
from goose_lsp.prompt.opening import Opened, encode_open
from goose_lsp.prompt.window import open_window, text_between
from goose_lsp.request import Point
from goose_lsp.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class Prompt:
    token_ids: list[int]
    # Blanks directly before the cursor that the prompt leaves out, because the vocabulary joins them
    # with the word that follows; the model's text must begin with them.
    held_back: str


@dataclass(frozen=True, slots=True)
class Frozen:
    """What the next prompt of the same document keeps where it can; opaque to callers."""

    frame: Frame
    start: Point  # of the window before the cursor
    anchor: Anchor | None  # None: the prefix itself grows


def build_prompt(
    around: Surroundings,
    tokenizer: Tokenizer,
    fim: FimFormat | None,
    budget: int,
    frozen: Frozen | None = None,
) -> tuple[Prompt, Frozen]:
    """The prompt for a cursor, at most `budget` tokens, line ends as LF.

    Without a format it is prefix-only: snippets, path and the text before the cursor. An empty
    prompt becomes one line end, since a model needs something to continue.
    """
    fim = fim or PLAIN
    around = replace(around, cursor=around.document.clamp(around.cursor))
    new_frame = partial(make_frame, around, fim, tokenizer, budget)
    if frozen is None or not frozen.frame.is_made_from(around, fim, budget):
        return _place(new_frame(SUFFIX_SHARE), around, tokenizer, None)
    frame, anchor = frozen.frame, frozen.anchor
    is_behind = frame.is_before(around)
    if anchor is None:
        frame = frame if is_behind else new_frame(SUFFIX_SHARE)
        return _place(frame, around, tokenizer, frozen.start)
    typed = anchor.typed(around.document, around.cursor) if is_behind else None
    if typed is None:
        frame = new_frame(NEAR_SUFFIX_SHARE)
        return _place(frame, around, tokenizer, frozen.start, is_near=True)
    middle = anchor.middle(typed, tokenizer, frame.max_middle_tokens)
    if middle is None:
        return _place(new_frame(SUFFIX_SHARE), around, tokenizer, frozen.start)
    return _joined(anchor.token_ids, middle), frozen


def _place(
    frame: Frame,
    around: Surroundings,
    tokenizer: Tokenizer,
    previous: Point | None,
    *,
    is_near: bool = False,
) -> tuple[Prompt, Frozen]:
    """A window of the document in its frame."""
    document, point = around.document, around.cursor
    if frame.order is Order.PSM:
        point = anchor_point(point, frame.max_middle_tokens, is_near=is_near)
    open_text = partial(encode_open, tokenizer=tokenizer, is_inner=frame.is_inner)
    start, prefix = open_window(document, point, open_text, frame.max_prefix_tokens, previous)
    token_ids = [*frame.before_ids, *prefix.token_ids, *frame.after_ids]
    if frame.order is Order.SPM:
        token_ids = token_ids or tokenizer.encode("\n")
        return Prompt(token_ids, prefix.held_back), Frozen(frame, start, None)
    text = text_between(document, start, point)
    anchor = Anchor(start, point, text, token_ids, prefix.held_back)
    typed = prefix.held_back + text_between(document, point, around.cursor)
    middle = encode_open(typed, tokenizer, is_inner=True)
    return _joined(token_ids, middle), Frozen(frame, start, anchor)


def _joined(token_ids: list[int], middle: Opened) -> Prompt:
    return Prompt(token_ids + middle.token_ids, middle.held_back)
