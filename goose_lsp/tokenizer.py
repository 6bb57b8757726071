"""Text to token ids and back. The only user of the tokenizers library.

User text is always encoded with special-token parsing off: a file that contains the spelling of a
control token never rewrites the prompt.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from hashlib import sha256
from itertools import accumulate, islice, product
from pathlib import Path

import numpy as np
import numpy.typing as npt
from tokenizers import AddedToken, Encoding, Regex, pre_tokenizers
from tokenizers import Tokenizer as _Backend
from tokenizers.decoders import ByteLevel as ByteLevelDecoder
from tokenizers.models import BPE

from goose_lsp.errors import ModelLoadError
from goose_lsp.text.cut import BEGINNINGS, ENDS, cut_up

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
# <|fim_prefix|>, </s>, [PREFIX], Code Llama's ▁<PRE>; not runs of blanks
_MARKUP = re.compile(r"\N{LOWER ONE EIGHTH BLOCK}?(<\S+>|\[\S+\])")
# Stands before text that goes on from other text; nothing merges with it.
_JOINT = "\N{WHITE SMILING FACE}"
# How vocabularies spell a blank: ▁ and Ġ.
_BLANKS = ("\N{LOWER ONE EIGHTH BLOCK}", "\N{LATIN CAPITAL LETTER G WITH DOT ABOVE}")
_SURROGATE = re.compile("[\ud800-\udfff]")
# A token that goes on behind a cut, as byte-level, sentencepiece and added tokens spell it.
_SPANNING = re.compile("[A-Za-z0-9][ĠĊĉ▁ \t\n]")
# The library is fastest at texts of about this size, a tenth faster than at whole files.
_PART_CHARS = 2_000

_LLAMA3_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_QWEN2_SPLIT = _LLAMA3_SPLIT.replace(r"\p{N}{1,3}", r"\p{N}")


def _byte_level(use_regex: bool) -> pre_tokenizers.PreTokenizer:
    return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=use_regex)


def _split(pattern: str) -> pre_tokenizers.PreTokenizer:
    return pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(pattern), "isolated"), _byte_level(use_regex=False)]
    )


def _digits() -> pre_tokenizers.PreTokenizer:
    return pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), _byte_level(use_regex=True)]
    )


# How text is cut before byte pairs are merged, by the name GGUF files give it.
_PRE_TOKENIZERS: dict[str, Callable[[], pre_tokenizers.PreTokenizer]] = {
    "default": lambda: _byte_level(use_regex=True),
    "gpt-2": lambda: _byte_level(use_regex=True),
    "smollm": _digits,
    "starcoder": _digits,
    "refact": _digits,
    "llama-bpe": lambda: _split(_LLAMA3_SPLIT),
    "qwen2": lambda: _split(_QWEN2_SPLIT),
}


class Tokenizer:
    """A byte-level tokenizer and the ids that end a text."""

    def __init__(self, backend: _Backend, control_ids: Iterable[int]) -> None:
        self._backend = backend
        self._backend.encode_special_tokens = True
        self.control_ids = frozenset(control_ids)  # never text; a completion ends at any of them
        # Some vocabularies put a blank before every text and take it off again; text that goes on
        # from other text must not gain or lose one there. Empty where there is nothing to undo.
        joint = self._backend.encode(_JOINT, add_special_tokens=False)
        self._joint_ids = joint.ids if "".join(joint.tokens).startswith(_BLANKS) else []
        self._joint_text = self._backend.decode(self._joint_ids)

    @classmethod
    def from_bpe(
        cls, tokens: Sequence[str], merges: Sequence[str], control_ids: Sequence[int], pre: str
    ) -> "Tokenizer":
        """From a GGUF file's byte-level vocabulary; raises `ModelLoadError` for an unknown `pre`."""
        if pre not in _PRE_TOKENIZERS:
            known = ", ".join(sorted(_PRE_TOKENIZERS))
            raise ModelLoadError(f"unknown pre-tokenizer {pre!r}; this engine knows {known}")
        pairs = [(left, right) for left, _, right in (merge.partition(" ") for merge in merges)]
        vocab = {token: i for i, token in enumerate(tokens)}
        backend = _Backend(BPE(vocab=vocab, merges=pairs, fuse_unk=False))
        backend.pre_tokenizer = _PRE_TOKENIZERS[pre]()
        backend.decoder = ByteLevelDecoder()
        specials = [AddedToken(tokens[i], special=True, normalized=False) for i in control_ids]
        backend.add_special_tokens(specials)
        return cls(backend, control_ids)

    @classmethod
    def from_file(cls, path: Path, end_ids: Iterable[int] = ()) -> "Tokenizer":
        """From a `tokenizer.json`.

        Control ids are `end_ids` and every added token that is marked special or spelled as markup:
        files leave fill-in-the-middle and tool markers unmarked, and only what is marked is left
        alone in user text.
        """
        try:
            backend = _Backend.from_file(str(path))
        except Exception as error:  # noqa: BLE001  the library raises bare Exception
            raise ModelLoadError(f"{path} is not a tokenizer: {error}") from None
        added = backend.get_added_tokens_decoder()
        control_ids = set(end_ids) | {
            i for i, token in added.items() if token.special or _MARKUP.fullmatch(token.content)
        }
        unmarked = [added[i].content for i in control_ids if i in added and not added[i].special]
        backend.add_special_tokens(
            [AddedToken(t, special=True, normalized=False) for t in unmarked]
        )
        return cls(backend, control_ids)

    @classmethod
    def from_saved(cls, path: Path, control_ids: Iterable[int]) -> "Tokenizer":
        """What `save` wrote; raises `ModelLoadError`."""
        try:
            return cls(_Backend.from_file(str(path)), control_ids)
        except Exception as error:  # noqa: BLE001  the library raises bare Exception
            raise ModelLoadError(f"{path} is not a tokenizer: {error}") from None

    def save(self, path: Path) -> None:
        """Write all but `control_ids`, which are the caller's to keep."""
        self._backend.save(str(path), pretty=False)

    def control_spellings(self) -> frozenset[str]:
        """How the control tokens read where somebody writes them out."""
        found = (self._backend.id_to_token(i) for i in self.control_ids)
        return frozenset(text for text in found if text)

    def key(self) -> str:
        """The same for tokenizers that cut every text alike."""
        return sha256(self._backend.to_str().encode()).hexdigest()[:24]

    def byte_lengths(self) -> npt.NDArray[np.int32]:
        """[vocabulary]: how many bytes of text each token stands for, in byte-level vocabularies."""
        lengths = np.zeros(self.n_vocab, np.int32)
        for token, i in self._backend.get_vocab(with_added_tokens=True).items():
            lengths[i] = len(token)
        return lengths

    @property
    def n_vocab(self) -> int:
        return int(self._backend.get_vocab_size(with_added_tokens=True))

    def encode(self, text: str) -> list[int]:
        """Token ids of plain text; lone surrogates, which no vocabulary holds, become U+FFFD."""
        clean = _SURROGATE.sub(REPLACEMENT, text)
        return list(self._backend.encode(clean, add_special_tokens=False).ids)

    def encode_batch(self, texts: Sequence[str]) -> list[npt.NDArray[np.int32]]:
        """`encode` of many texts at once, without the interpreter lock."""
        parts = [self._parts(_SURROGATE.sub(REPLACEMENT, text)) for text in texts]
        flat = [part for of_text in parts for part in of_text]
        encodings = iter(self._backend.encode_batch_fast(flat, add_special_tokens=False))
        return [self._joined(list(islice(encodings, len(of_text)))) for of_text in parts]

    def _parts(self, text: str) -> list[str]:
        """What is encoded one by one, as by `encode` and then `encode_inner`; never empty."""
        first, *others = list(cut_up(text, _PART_CHARS)) if text and self.is_local else [text]
        joint = _JOINT if self._joint_ids else ""
        return [first, *(joint + part for part in others)]

    def _joined(self, parts: Sequence[Encoding]) -> npt.NDArray[np.int32]:
        first, *others = (np.array(part.ids, np.int32) for part in parts)
        return np.concatenate([first, *(ids[len(self._joint_ids) :] for ids in others)])

    @cached_property
    def is_local(self) -> bool:
        """Whether a text cut as `text/cut.py` says has the tokens of its parts, `encode_inner` of all but the first.

        So it is where no token spans a cut and the pre-tokenizer does the same on either side whatever the other
        holds. Costs some 50 ms, once.
        """
        return not self._has_spanning_token() and self._splits_apart()

    def _has_spanning_token(self) -> bool:
        added = self._backend.get_added_tokens_decoder().values()
        if any(token.rstrip for token in added if not token.special):
            return True  # it takes the blanks behind it
        control = {token.content for token in added if token.special}
        return _SPANNING.search("\0".join(set(self._backend.get_vocab()) - control)) is not None

    def _splits_apart(self) -> bool:
        """Whether two texts that meet at a cut are split as each is alone."""
        model = self._backend.model
        # Whole pieces may have tokens of their own; then there must be a split at the cut itself.
        merges_only = isinstance(model, BPE) and not (
            model.ignore_merges or model.end_of_word_suffix or model.continuing_subword_prefix
        )
        joint = _JOINT if self._joint_ids else ""
        n_joint = self._splits(joint)[-1]
        befores = [(text, self._splits(text)) for text in ENDS]
        afters = [(text, [n - n_joint for n in self._splits(joint + text)]) for text in BEGINNINGS]
        for (before, left), (after, right) in product(befores, afters):
            cut, found = left[-1], set(self._splits(before + after))
            if found | {cut} != {*left, *(cut + n for n in right if n >= 0)}:
                return False
            if not (merges_only or cut in found):
                return False
        return True

    def _splits(self, text: str) -> list[int]:
        """0 and where the pre-tokenizer's pieces end, counted in their own characters."""
        normalizer, pre_tokenizer = self._backend.normalizer, self._backend.pre_tokenizer
        if normalizer is not None:
            text = normalizer.normalize_str(text)
        pieces = pre_tokenizer.pre_tokenize_str(text) if pre_tokenizer else [(text, None)]
        return list(accumulate((len(piece) for piece, _ in pieces), initial=0))

    def encode_inner(self, text: str) -> list[int]:
        """Token ids of text in the middle of a text: without the blank some vocabularies open with."""
        n_joint = len(self._joint_ids)
        return self.encode(_JOINT + text)[n_joint:] if n_joint else self.encode(text)

    def decode(self, token_ids: Sequence[int]) -> str:
        """The text that whole tokens add to a text before them, control tokens left out."""
        plain = [token for token in token_ids if token not in self.control_ids]
        text = str(self._backend.decode([*self._joint_ids, *plain], skip_special_tokens=False))
        return text.removeprefix(self._joint_text)

    def id_of(self, token: str) -> int | None:
        found: int | None = self._backend.token_to_id(token)
        return found
