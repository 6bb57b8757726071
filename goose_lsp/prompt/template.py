"""Filling a layout: from a template to token ids, with two places left open for the document's text."""

from collections.abc import Mapping, Sequence
from enum import Enum
from string import Formatter

from goose_lsp.tokenizer import Tokenizer


class Slot(Enum):
    """What changes with the cursor and is filled in last."""

    PREFIX = "prefix"
    SUFFIX = "suffix"


Piece = str | int | Slot  # text to encode, a control token's id, an open place


def fill(template: str, fields: Mapping[str, Sequence[Piece]]) -> list[Piece]:
    """The pieces of a template in order, neighbouring texts joined; a field that is missing is empty."""
    pieces: list[Piece] = []
    for literal, name, _, _ in Formatter().parse(template):
        for piece in (literal, *fields.get(name or "", ())):
            if isinstance(piece, str) and pieces and isinstance(pieces[-1], str):
                pieces[-1] += piece
            elif piece != "":
                pieces.append(piece)
    return pieces


def encode(pieces: Sequence[Piece], tokenizer: Tokenizer) -> tuple[list[int | Slot], bool]:
    """Ids and open places; whether the prefix goes on from other text.

    Text counts as inner wherever it stands, except where it opens the run that holds the prefix:
    there alone vocabularies that open texts with a blank were trained to have one.
    """
    opening = _opening(pieces)
    encoded: list[int | Slot] = []
    for i, piece in enumerate(pieces):
        if isinstance(piece, str):
            encoded += tokenizer.encode(piece) if i == opening else tokenizer.encode_inner(piece)
        else:
            encoded.append(piece)
    return encoded, pieces[opening] is not Slot.PREFIX


def _opening(pieces: Sequence[Piece]) -> int:
    """Index of the first piece after the last control token before the prefix."""
    i = pieces.index(Slot.PREFIX)
    while i > 0 and isinstance(pieces[i - 1], str):
        i -= 1
    return i
