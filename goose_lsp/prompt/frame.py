"""All of a prompt but the document's text before the cursor: who gets how many tokens, and in which place."""

from dataclasses import dataclass

from goose_lsp.prompt.fim import PLAIN, FimFormat, Order
from goose_lsp.prompt.snippets import merge_snippets
from goose_lsp.prompt.template import Piece, Slot, encode, fill
from goose_lsp.prompt.window import MAX_CHARS_PER_TOKEN, fit_after, text_behind
from goose_lsp.request import Point, Snippet
from goose_lsp.text.comment import comment_block
from goose_lsp.text.document import Document
from goose_lsp.tokenizer import Tokenizer

# The text before the cursor says most: it keeps this much before anything else gets a token.
MIN_PREFIX_TOKENS = 128
# Of the whole budget, at most; what is not used goes to the prefix. A suffix is prefilled again with
# every anchor, so more of it would cost more than it tells.
SUFFIX_SHARE = 0.25
# After a step aside all but the suffix is cached: a short one is read at once, the rest when typing
# has settled there.
NEAR_SUFFIX_SHARE = 0.0625
SNIPPETS_SHARE = 0.25
# Control tokens and paths together; a budget too small for them is spent on the text alone.
OVERHEAD_SHARE = 0.25
# What is typed behind an anchor before there is a new one.
MAX_MIDDLE_TOKENS = 128
MIDDLE_SHARE = 0.125
# What editors insert behind the cursor: closing brackets and quotes, and where Enter is pressed
# between braces a line end and indentation.
INSERTED = ")]}>\"'` \t\n"
MAX_INSERTED_CHARS = 64


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a prompt is made of."""

    document: Document
    cursor: Point
    path: str = ""  # relative to its workspace folder, forward slashes; "": not told to the model
    workspace: str = ""  # the folder's name
    snippets: tuple[Snippet, ...] = ()  # the most useful first


@dataclass(frozen=True, slots=True)
class Frame:
    """`before_ids`, the text before the cursor, `after_ids` make up the prompt."""

    made_from: tuple[object, ...]
    order: Order
    before_ids: list[int]
    after_ids: list[int]
    is_inner: bool  # the text before the cursor goes on from other text
    suffix: str | None  # as the prompt holds it; None: it holds none
    is_rest: bool  # the suffix reaches the document's end
    max_prefix_tokens: int
    max_middle_tokens: int

    def is_made_from(self, around: Surroundings, fim: FimFormat, budget: int) -> bool:
        """Whether a new frame could differ in its suffix only."""
        return self.made_from == _key(around, fim, budget)

    def is_before(self, around: Surroundings) -> bool:
        """Whether the document still goes on behind the cursor as the suffix says.

        Closing brackets and blanks between the two are overlooked: each that an editor inserts would
        cost a new frame, and what the model writes of them is matched with them anyway.
        """
        if self.suffix is None:
            return True
        text = _behind(around, self.suffix)
        n_inserted = len(text) - len(text.lstrip(INSERTED))
        n_inserted = min(n_inserted, MAX_INSERTED_CHARS)
        return any(self._is_suffix(text[i:]) for i in range(n_inserted + 1))

    def _is_suffix(self, text: str) -> bool:
        assert self.suffix is not None
        return text == self.suffix if self.is_rest else text.startswith(self.suffix)


def make_frame(
    around: Surroundings,
    fim: FimFormat,
    tokenizer: Tokenizer,
    budget: int,
    suffix_share: float = SUFFIX_SHARE,
) -> Frame:
    """A prompt of at most `budget` tokens without its prefix.

    Where not all fits, snippets go first, then the suffix, the paths, and last the format itself.
    """
    made_from = _key(around, fim, budget)
    fim, fields, n_overhead = _affordable(around, fim, tokenizer, budget)
    n_middle = int(min(MAX_MIDDLE_TOKENS, budget * MIDDLE_SHARE)) if fim.order is Order.PSM else 0
    n_free = budget - n_overhead - n_middle - MIN_PREFIX_TOKENS

    suffix, suffix_ids = None, list[int]()
    n_suffix = int(min(budget * suffix_share, n_free))
    if n_suffix > 0 and "{suffix}" in fim.layout:
        text = text_behind(around.document, around.cursor, n_suffix * MAX_CHARS_PER_TOKEN)
        suffix, suffix_ids = fit_after(text, tokenizer.encode_inner, n_suffix)
    n_snippets = int(min(budget * SNIPPETS_SHARE, n_free - len(suffix_ids)))
    fields["files"] = _files(around, fim, tokenizer, n_snippets)

    ids, is_inner = encode([*fim.bos_ids, *fill(fim.layout, fields)], tokenizer)
    at = ids.index(Slot.PREFIX)
    before, after = (_closed(part, suffix_ids) for part in (ids[:at], ids[at + 1 :]))
    return Frame(
        made_from=made_from,
        order=fim.order,
        before_ids=before,
        after_ids=after,
        is_inner=is_inner,
        suffix=suffix,
        is_rest=suffix is not None and _behind(around, suffix) == suffix,
        max_prefix_tokens=budget - len(before) - len(after) - n_middle,
        max_middle_tokens=n_middle,
    )


def _behind(around: Surroundings, suffix: str) -> str:
    """The document behind the cursor, further than `suffix` if it goes further."""
    # Line ends may take two characters of the document for one of the suffix.
    return text_behind(around.document, around.cursor, 2 * len(suffix) + MAX_INSERTED_CHARS + 2)


def _key(around: Surroundings, fim: FimFormat, budget: int) -> tuple[object, ...]:
    own = (around.document.uri, around.document.language, around.path, around.workspace)
    return (*own, around.snippets, fim.family.name, fim.order, budget)


def _affordable(
    around: Surroundings, fim: FimFormat, tokenizer: Tokenizer, budget: int
) -> tuple[FimFormat, dict[str, list[Piece]], int]:
    """The format, its fields and how many tokens they take, without what the budget is too small for."""
    bare = Surroundings(around.document, around.cursor)
    choices = [(fim, around), (fim, bare), (PLAIN, bare)]
    for choice, told in choices:
        fields = _own_fields(told, choice)
        ids, _ = encode([*choice.bos_ids, *fill(choice.layout, fields)], tokenizer)
        n_overhead = sum(isinstance(piece, int) for piece in ids)
        if n_overhead <= budget * OVERHEAD_SHARE:
            break
    return choice, fields, n_overhead


def _own_fields(around: Surroundings, fim: FimFormat) -> dict[str, list[Piece]]:
    """What does not depend on the budget. A document among others needs a name of some kind."""
    fields = _marks(fim) | {"prefix": [Slot.PREFIX], "suffix": [Slot.SUFFIX]}
    path = around.path or (around.document.uri.rpartition("/")[2] if around.snippets else "")
    if path:
        fields["here"] = fill(fim.family.here, fields | _named(path, around, fim))
        if around.workspace:
            fields["repo"] = fill(fim.family.repo, fields | {"name": [around.workspace]})
    return fields


def _marks(fim: FimFormat) -> dict[str, list[Piece]]:
    return {name: [token_id] for name, token_id in fim.token_ids.items()}


def _named(path: str, around: Surroundings, fim: FimFormat) -> dict[str, list[Piece]]:
    language, path = around.document.language, path.replace("\n", " ")
    told: dict[str, list[Piece]] = {"path": [path], "language": [language.capitalize()]}
    note = "".join(map(str, fill(fim.family.note, told)))
    return told | {"comment": [comment_block(note, language)]}


def _files(around: Surroundings, fim: FimFormat, tokenizer: Tokenizer, budget: int) -> list[Piece]:
    """The most useful snippets that fit, the most useful last: next to the code it is for."""
    files: list[list[Piece]] = []
    for snippet in merge_snippets(around.snippets, around.path):
        fields = _marks(fim) | _named(snippet.path, around, fim) | {"text": [snippet.text]}
        pieces = fill(fim.family.file, fields)
        budget -= sum(len(tokenizer.encode(p)) if isinstance(p, str) else 1 for p in pieces)
        if budget < 0:
            break
        files.insert(0, pieces)
    return [piece for pieces in files for piece in pieces]


def _closed(ids: list[int | Slot], suffix_ids: list[int]) -> list[int]:
    closed: list[int] = []
    for piece in ids:
        closed += suffix_ids if isinstance(piece, Slot) else [piece]
    return closed
