"""Tiny tokenizers with the peculiarities of the real ones: control tokens, joined blanks, opening blanks, merges."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from tokenizers import Tokenizer as Backend
from tokenizers import decoders, normalizers, pre_tokenizers, trainers
from tokenizers.models import BPE

import goose_lsp
from goose_lsp.tokenizer import _PRE_TOKENIZERS, Tokenizer

N_BYTES = 256
PRE_TOKENIZERS = tuple(_PRE_TOKENIZERS)


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


@cache
def trained_tokenizer(pre: str) -> Tokenizer:
    """Bytes and the 350 merges that serve this project's own text best; with `pre` "none" also across words."""
    backend = Backend(BPE())
    unsplit = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    backend.pre_tokenizer = unsplit if pre == "none" else _PRE_TOKENIZERS[pre]()
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=N_BYTES + 350,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    modules = sorted((Path(goose_lsp.__file__).parent / "text").glob("*.py"))
    backend.train_from_iterator([path.read_text("utf-8") for path in modules], trainer)
    return Tokenizer(backend, [])
