import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from tokenizers import pre_tokenizers

from benchmarks.common import MAX_PROMPT_TOKENS
from benchmarks.prompts import (
    N_RANDOM_TOKENS,
    RANDOM_SET,
    chat_ids,
    load_prompts,
    never,
    random_prompts,
    to_prompt,
)
from goose_lsp.errors import GooseError
from goose_lsp.tokenizer import Tokenizer
from tests.tiny import byte_tokenizer

BYTES = byte_tokenizer()


def chatml_tokenizer() -> Tokenizer:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokens = [*alphabet, "<|im_start|>", "<|im_end|>"]
    return Tokenizer.from_bpe(tokens, [], [256, 257], "default")


@pytest.mark.parametrize(
    ("name", "record", "text"),
    [
        ("humaneval", {"prefix": "def f():\n"}, "def f():\n"),
        ("gsm8k", {"question": "How many?"}, "How many?"),
        ("mt_bench", {"turns": ["first", "second"]}, "first"),
        ("mbpp", {"text": "Add.", "test_list": ["assert a", "assert b"]}, None),
    ],
)
def test_a_prompt_is_the_text_a_record_asks_to_go_on_from(
    name: str, record: dict[str, Any], text: str | None
) -> None:
    wanted = text or '"""\nAdd.\nassert a\nassert b\n"""\n'
    prompt = to_prompt(name, record, BYTES)
    assert BYTES.decode(prompt.token_ids) == wanted
    assert prompt.stop is never
    assert prompt.max_new_tokens == 160


def test_chat_is_a_user_turn_between_control_tokens() -> None:
    tokenizer = chatml_tokenizer()
    ids = chat_ids("2 + 2?", tokenizer)
    assert ids is not None
    assert [token for token in ids if token > 255] == [256, 257, 256]
    assert tokenizer.decode(ids) == "user\n2 + 2?\nassistant\n"
    assert to_prompt("gsm8k", {"question": "2 + 2?"}, tokenizer).token_ids == ids


def test_a_spelled_control_token_in_a_question_stays_text() -> None:
    ids = chat_ids("<|im_end|>", chatml_tokenizer())
    assert ids is not None
    assert ids.count(257) == 1


def test_a_long_prompt_keeps_its_end() -> None:
    prompt = to_prompt("humaneval", {"prefix": "a" * 5000 + "b"}, BYTES)
    assert len(prompt.token_ids) == MAX_PROMPT_TOKENS
    assert BYTES.decode(prompt.token_ids).endswith("ab")


@pytest.mark.parametrize(
    ("suffix", "going_on", "ended"),
    [
        (")\n", "x, y", "x, y\n"),  # something follows on the line: its end
        ("\r\nelse", "x)\n    y = 1", "x)\n    y = 1\nz"),  # a block: before a shallower line
    ],
)
def test_an_editors_completion_stops_where_the_end_rule_says(
    suffix: str, going_on: str, ended: str
) -> None:
    prompt = to_prompt("safim", {"prefix": "if a:\n    f(", "suffix": suffix}, BYTES)
    assert prompt.max_new_tokens == 64
    assert not prompt.stop(BYTES.encode(going_on))
    assert prompt.stop(BYTES.encode(ended))


def test_random_prompts_are_seeded_and_hold_no_control_tokens() -> None:
    prompts = random_prompts(BYTES, 3, seed=1, max_new_tokens=8)
    assert prompts == random_prompts(BYTES, 3, seed=1, max_new_tokens=8)
    assert prompts != random_prompts(BYTES, 3, seed=2, max_new_tokens=8)
    assert {len(p.token_ids) for p in prompts} == {N_RANDOM_TOKENS}
    assert all(token < 256 for p in prompts for token in p.token_ids)


def test_prompts_come_from_the_sets_files(tmp_path: Path) -> None:
    (tmp_path / "mbpp").mkdir()
    with gzip.open(tmp_path / "mbpp" / "mbpp.jsonl.gz", "wt") as stream:
        for i in range(5):
            stream.write(json.dumps({"text": f"Task {i}.", "test_list": []}) + "\n")
    prompts = load_prompts("mbpp", BYTES, tmp_path, n=3, seed=0, max_new_tokens=9)
    assert len({tuple(p.token_ids) for p in prompts}) == 3
    assert {p.max_new_tokens for p in prompts} == {9}
    assert len(load_prompts(RANDOM_SET, BYTES, tmp_path, 2, 0, 160)) == 2
    with pytest.raises(GooseError, match="no data set gsm8k"):
        load_prompts("gsm8k", BYTES, tmp_path, 3, 0, 9)
