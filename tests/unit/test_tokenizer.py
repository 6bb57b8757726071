import json
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, Regex, pre_tokenizers
from tokenizers import Tokenizer as Backend
from tokenizers.decoders import ByteLevel as ByteLevelDecoder
from tokenizers.models import BPE

from goose_lsp.errors import ModelLoadError
from goose_lsp.tokenizer import REPLACEMENT, Tokenizer
from tests.tiny import byte_tokenizer
from tests.vocabularies import (
    PRE_TOKENIZERS,
    joining_tokenizer,
    sentencepiece_tokenizer,
    trained_tokenizer,
)

BYTES = byte_tokenizer()
END = 256
texts = st.text(st.characters(exclude_categories=["Cs"]))


@given(texts)
def test_decoding_gives_back_any_text(text: str) -> None:
    assert BYTES.decode(BYTES.encode(text)) == text


@given(texts, texts)
def test_a_control_token_spelled_in_a_text_stays_text(before: str, after: str) -> None:
    text = f"{before}<|end|>{after}"
    token_ids = BYTES.encode(text)
    assert END not in token_ids
    assert BYTES.decode(token_ids) == text


def test_a_lone_surrogate_becomes_the_replacement_character() -> None:
    token_ids = BYTES.encode("a\ud800b\udfffc")
    assert BYTES.decode(token_ids) == f"a{REPLACEMENT}b{REPLACEMENT}c"


def test_control_tokens_are_left_out_of_decoded_text() -> None:
    assert BYTES.decode([*BYTES.encode("ab"), END, *BYTES.encode("c")]) == "abc"


def test_the_control_token_is_known_by_its_name() -> None:
    assert BYTES.id_of("<|end|>") == END
    assert BYTES.id_of("nothing of the kind") is None
    assert BYTES.control_ids == {END}
    assert BYTES.n_vocab == END + 1


def test_an_unknown_pre_tokenizer_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ModelLoadError, match=r"'martian'.*llama-bpe"):
        Tokenizer.from_bpe(["a"], [], [], "martian")


@pytest.mark.parametrize(
    ("pre", "pieces"),
    [
        ("default", ["1234"]),
        ("smollm", ["1", "2", "3", "4"]),
        ("llama-bpe", ["123", "4"]),
        ("qwen2", ["1", "2", "3", "4"]),
    ],
)
def test_digits_are_merged_as_the_pre_tokenizer_cuts_them(pre: str, pieces: list[str]) -> None:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = ["1 2", "12 3", "123 4"]
    tokenizer = Tokenizer.from_bpe([*alphabet, "12", "123", "1234"], merges, [], pre)
    assert [tokenizer.decode([token]) for token in tokenizer.encode("1234")] == pieces


def test_only_text_that_opens_a_prompt_gains_the_vocabularys_blank() -> None:
    tokenizer = sentencepiece_tokenizer()
    assert tokenizer.encode("b") == [ord(" "), ord("b")]
    assert tokenizer.encode_inner("b") == [ord("b")]
    assert BYTES.encode_inner("b") == BYTES.encode("b")


@given(st.text("abc= \n"))
def test_decoding_what_goes_on_from_a_text_keeps_its_blanks(text: str) -> None:
    tokenizer = sentencepiece_tokenizer()
    assert tokenizer.decode(tokenizer.encode_inner(text)) == text
    assert tokenizer.decode(tokenizer.encode(text)) == (f" {text}" if text else "")


def write_tokenizer(path: Path, *, is_special: bool, end: str = "<|end|>") -> None:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    backend = Backend(BPE(vocab={token: i for i, token in enumerate(alphabet)}, merges=[]))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = ByteLevelDecoder()
    backend.add_tokens([AddedToken(end, special=is_special, normalized=False)])
    backend.save(str(path))


@pytest.mark.parametrize("is_special", [True, False])
def test_an_end_token_of_a_file_is_never_read_from_text(tmp_path: Path, is_special: bool) -> None:
    path = tmp_path / "tokenizer.json"
    write_tokenizer(path, is_special=is_special)
    tokenizer = Tokenizer.from_file(path, end_ids=[END])
    assert tokenizer.control_ids == {END}
    assert END not in tokenizer.encode("a<|end|>b")
    assert tokenizer.decode([*tokenizer.encode("a<|end|>"), END]) == "a<|end|>"


@pytest.mark.parametrize("end", ["<|end|>", "[END]", "\u2581<EOT>"])
def test_markup_that_a_file_does_not_mark_special_is_not_read_from_text(
    tmp_path: Path, end: str
) -> None:
    path = tmp_path / "tokenizer.json"
    write_tokenizer(path, is_special=False, end=end)
    tokenizer = Tokenizer.from_file(path)
    assert tokenizer.control_ids == {END}
    assert END not in tokenizer.encode(f"a{end}b")


@pytest.mark.parametrize("body", ["", "{}", "[]", json.dumps({"model": 3})])
def test_a_broken_tokenizer_file_is_refused_by_name(tmp_path: Path, body: str) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(body)
    with pytest.raises(ModelLoadError, match=r"tokenizer\.json is not a tokenizer"):
        Tokenizer.from_file(path)


def test_a_missing_tokenizer_file_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ModelLoadError, match=r"absent\.json is not a tokenizer"):
        Tokenizer.from_file(tmp_path / "absent.json")


PIECES = [
    "a",
    "if",
    " ",
    "  ",
    "\n",
    "\n\n",
    "\t",
    "1",
    "23",
    "'s",
    "'",
    ".",
    ");",
    "é",
    "\u00a0",
    "日本",
    "\ud800",
    "_",
]
CODE = st.lists(st.sampled_from(PIECES), max_size=60).map("".join)


def tokenizer_named(name: str) -> Tokenizer:
    made = {"joining": joining_tokenizer, "sentencepiece": sentencepiece_tokenizer}
    return made[name]() if name in made else trained_tokenizer(name)


@pytest.mark.parametrize("name", [*PRE_TOKENIZERS, "joining", "sentencepiece"])
@given(before=CODE, end=st.sampled_from("aZ19"), blank=st.sampled_from(" \t\n"), after=CODE)
def test_what_stands_on_either_side_of_a_cut_has_its_own_tokens(
    name: str, before: str, end: str, blank: str, after: str
) -> None:
    tokenizer = tokenizer_named(name)
    assert tokenizer.is_local
    parts = tokenizer.encode(before + end), tokenizer.encode_inner(blank + after)
    assert tokenizer.encode(before + end + blank + after) == [*parts[0], *parts[1]]


@pytest.mark.parametrize("name", [*PRE_TOKENIZERS, "none", "sentencepiece"])
@given(texts=st.lists(CODE, max_size=4))
def test_a_batch_is_encoded_as_its_texts_are(name: str, texts: list[str]) -> None:
    tokenizer = tokenizer_named(name)
    with patch("goose_lsp.tokenizer._PART_CHARS", 5):
        found = tokenizer.encode_batch(texts)
    assert [ids.tolist() for ids in found] == [tokenizer.encode(text) for text in texts]


def backend_with(pre_tokenizer: pre_tokenizers.PreTokenizer | None, **options: bool) -> Backend:
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    backend = Backend(
        BPE(vocab={token: i for i, token in enumerate(alphabet)}, merges=[], **options)
    )
    backend.pre_tokenizer = pre_tokenizer
    return backend


def test_a_token_that_goes_on_behind_a_word_makes_a_vocabulary_one_that_cannot_be_cut() -> None:
    assert not trained_tokenizer("none").is_local
    backend = backend_with(pre_tokenizers.ByteLevel(add_prefix_space=False))
    backend.add_tokens(["if ("])
    assert not Tokenizer(backend, []).is_local


def test_an_added_token_that_takes_the_blanks_behind_it_forbids_cutting() -> None:
    backend = backend_with(pre_tokenizers.ByteLevel(add_prefix_space=False))
    backend.add_tokens([AddedToken("mask", rstrip=True)])
    assert not Tokenizer(backend, []).is_local


def test_a_pre_tokenizer_that_counts_from_the_start_forbids_cutting() -> None:
    assert not Tokenizer(
        backend_with(pre_tokenizers.Split(Regex(r"[\s\S]{1,3}"), "isolated")), []
    ).is_local


def test_pieces_with_tokens_of_their_own_must_be_split_at_a_cut() -> None:
    assert Tokenizer(backend_with(None), []).is_local
    assert not Tokenizer(backend_with(None, ignore_merges=True), []).is_local
