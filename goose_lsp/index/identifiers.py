"""The identifiers of some lines, how much each says about the place below them, and how the store spells them."""

import re
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from goose_lsp.draft.segment import ORDER_DEPTH
from goose_lsp.tokenizer import Tokenizer

Spelling = npt.NDArray[np.int32]

_IDENTIFIER = re.compile(r"[^\W\d]\w{2,63}")
# At this distance in lines an identifier weighs half.
_HALF_WEIGHT_LINES = 8
# Vocabularies join a word with one character before it: a blank for most, a dot or bracket for some.
_LEADS = (" ", ".", "(", "_", "\t", '"')
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


def weigh_identifiers(lines: Sequence[str]) -> dict[str, float]:
    """Each identifier of the lines, keywords left out; the last occurrence, nearest to the end, gives the weight."""
    weights: dict[str, float] = {}
    for distance, line in enumerate(reversed(lines)):
        weight = _HALF_WEIGHT_LINES / (_HALF_WEIGHT_LINES + distance)
        for name in _IDENTIFIER.findall(line):
            if name not in _KEYWORDS:
                weights.setdefault(name, weight)
    return weights


class Speller:
    """How a name may stand in a text of tokens. Used by one thread; the latest few thousand names are kept."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._encode = tokenizer.encode
        self.spellings = lru_cache(_MAX_KEPT)(self._spellings)

    def _spellings(self, name: str) -> tuple[Spelling, ...]:
        """Token ids that end with the name, none of them the end of another: no place is found twice."""
        bare = self._encode(name)
        spellings = [bare]
        for lead in _LEADS:
            token_ids = self._encode(lead + name)
            if token_ids[-len(bare) :] != bare:
                spellings.append(token_ids)
        return tuple(np.array(ids[-ORDER_DEPTH:], np.int32) for ids in spellings)
