"""Tiny tokenizers with the peculiarities of the real ones: control tokens, joined blanks, opening blanks."""

from collections.abc import Sequence

from tokenizers import Tokenizer as Backend
from tokenizers import decoders, normalizers, pre_tokenizers
from tokenizers.models import BPE

from goose_lsp.tokenizer import Tokenizer

N_BYTES = 256


def marked_tokenizer(control_tokens: Sequence[str]) -> Tokenizer:
    """One token a byte; the control tokens follow, from id 256 on."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    control_ids = range(N_BYTES, N_BYTES + len(control_tokens))
    return Tokenizer.from_bpe([*alphabet, *control_tokens], [], control_ids, "default")


def joining_tokenizer(control_tokens: Sequence[str] = ()) -> Tokenizer:
    """One token a byte, but ` a` is one (id 256); the control tokens follow."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokens = [*alphabet, "Ġa", *control_tokens]
    control_ids = range(N_BYTES + 1, len(tokens))
    return Tokenizer.from_bpe(tokens, ["Ġ a"], control_ids, "default")


def sentencepiece_tokenizer(control_tokens: Sequence[str] = ()) -> Tokenizer:
    """Puts a blank before every text, as Llama 2's does; ASCII characters only.

    A character's id is its code, a blank's is 32, `▁a` is 129; the control tokens follow from 130 on.
    """
    letters = [chr(i) for i in range(128)]
    letters[ord(" ")] = "▁"
    vocab = {token: i for i, token in enumerate([*letters, "☺", "▁a", *control_tokens])}
    backend = Backend(BPE(vocab=vocab, merges=[("▁", "a")]))
    backend.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    backend.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    backend.add_special_tokens(list(control_tokens))
    return Tokenizer(backend, (vocab[token] for token in control_tokens))
