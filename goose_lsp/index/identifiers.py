"""The identifiers of some lines, how much each says about the place below them, and how the store spells them."""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import zip_longest

import numpy as np
import numpy.typing as npt

from goose_lsp.draft.segment import ORDER_DEPTH
from goose_lsp.tokenizer import Tokenizer

Spelling = npt.NDArray[np.int32]

_IDENTIFIER = re.compile(r"[^\W\d]\w{2,63}")
# At this distance in lines an identifier weighs half.
_HALF_WEIGHT_LINES = 8
# Vocabularies join a word with the blank before it, and some with these; one that does so for none of the frequent
# words does it for none that matter.
_LEADS = (".", "(", "_", "\t", '"')
_FREQUENT_WORDS = ("name", "get", "value", "test")
_MAX_KEPT = 4096
# Of the common languages together; in a small workspace their frequency does not give them away.
_KEYWORDS = frozenset({
    "abstract", "and", "any", "args", "assert", "async", "auto", "await", "begin", "bool", "boolean", "break",
    "case", "catch", "char", "class", "const", "continue", "def", "default", "defer", "del", "delete", "double",
    "elif", "else", "elseif", "end", "enum", "error", "except", "export", "extends", "extern", "false", "final",
    "finally", "float", "for", "foreach", "from", "func", "function", "global", "goto", "impl", "implements",
    "import", "include", "inline", "instanceof", "int", "interface", "internal", "lambda", "let", "local", "long",
    "loop", "match", "mod", "module", "move", "mut", "mutable", "namespace", "new", "nil", "None", "none",
    "nonlocal", "not", "null", "operator", "override", "package", "pass", "private", "protected", "pub", "public",
    "raise", "ref", "register", "require", "return", "self", "Self", "short", "signed", "sizeof", "static", "str",
    "string", "struct", "super", "switch", "template", "the", "then", "this", "throw", "throws", "trait", "true",
    "True", "False", "try", "type", "typedef", "typename", "typeof", "undefined", "union", "unsafe", "unsigned",
    "until", "use", "using", "var", "virtual", "void", "volatile", "when", "where", "while", "with", "yield",
})  # fmt: skip


def weigh_identifiers(above: Sequence[str], below: Sequence[str]) -> dict[str, float]:
    """Every identifier around a line, keywords left out, with the weight of its nearest place; heaviest first."""
    weights: dict[str, float] = {}
    for distance, lines in enumerate(zip_longest(reversed(above), below, fillvalue="")):
        weight = _HALF_WEIGHT_LINES / (_HALF_WEIGHT_LINES + distance)
        for name in _IDENTIFIER.findall("\n".join(lines)):
            if name not in _KEYWORDS:
                weights.setdefault(name, weight)
    return weights


class Speller:
    """How a name may stand in a text of tokens. Used by one thread; the latest few thousand names are kept."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._encode = tokenizer.encode_inner
        joining = (lead for lead in _LEADS if any(self._joined(lead, w) for w in _FREQUENT_WORDS))
        self._leads = (" ", *joining)
        self.spellings = lru_cache(_MAX_KEPT)(self._spellings)

    def _spellings(self, name: str) -> tuple[Spelling, ...]:
        """Token ids that end with the name, none of them the end of another: no place is found twice."""
        joined = [self._joined(lead, name) for lead in self._leads]
        return tuple(
            np.array(token_ids[-ORDER_DEPTH:], np.int32)
            for token_ids in [self._encode(name), *filter(None, joined)]
        )

    def _joined(self, lead: str, name: str) -> list[int] | None:
        """The tokens of both, None where they are the name's own behind others."""
        bare, token_ids = self._encode(name), self._encode(lead + name)
        return None if token_ids[-len(bare) :] == bare else token_ids
