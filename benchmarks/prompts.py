"""Data sets as prompts: token ids to go on from, and where the completion stops."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.common import MAX_NEW_TOKENS, MAX_PROMPT_TOKENS, read_records
from goose_lsp.text.endings import EndRule
from goose_lsp.tokenizer import Tokenizer

MACRO_SETS = ("humaneval", "mbpp", "classeval", "gsm8k", "mt_bench")
EDITOR_SETS = ("humaneval_infilling", "safim")  # completions that stop where an editor's would
RANDOM_SET = (
    "random"  # nothing to copy, nothing remembered: what drafting costs where it cannot help
)
SETS = (*MACRO_SETS, *EDITOR_SETS)
CHAT_SETS = ("gsm8k", "mt_bench")
SHORT_NEW_TOKENS = 64  # of the editor's sets and of the random one
N_RANDOM_TOKENS = 256


def never(token_ids: Sequence[int]) -> bool:
    """The stop of a completion that only an end token or the limit ends."""
    del token_ids
    return False


@dataclass(frozen=True, slots=True)
class Prompt:
    """`stop` is told the completion's tokens so far; once true it stays true for longer ones."""

    set_name: str
    token_ids: list[int]
    max_new_tokens: int
    stop: Callable[[Sequence[int]], bool] = never


def load_prompts(
    name: str, tokenizer: Tokenizer, data: Path, n: int, seed: int, max_new_tokens: int
) -> list[Prompt]:
    """The set's first n prompts after a seeded shuffle; raises `GooseError` where it is missing."""
    if name == RANDOM_SET:
        return random_prompts(tokenizer, n, seed, min(max_new_tokens, SHORT_NEW_TOKENS))
    records = read_records(data, name, n, seed)
    return [to_prompt(name, record, tokenizer, max_new_tokens) for record in records]


def to_prompt(
    name: str, record: dict[str, Any], tokenizer: Tokenizer, max_new_tokens: int = MAX_NEW_TOKENS
) -> Prompt:
    """One record, its prompt cut to the last `MAX_PROMPT_TOKENS`."""
    text = prompt_text(name, record)
    chat = chat_ids(text, tokenizer) if name in CHAT_SETS else None
    token_ids = (tokenizer.encode(text) if chat is None else chat)[-MAX_PROMPT_TOKENS:]
    if name not in EDITOR_SETS:
        return Prompt(name, token_ids, max_new_tokens)
    rule = EndRule.at(text.rpartition("\n")[2], record["suffix"].partition("\n")[0])
    stop = _ends_by(rule, tokenizer)
    return Prompt(name, token_ids, min(max_new_tokens, SHORT_NEW_TOKENS), stop)


def prompt_text(name: str, record: dict[str, Any]) -> str:
    """What the model is given; of a dialogue its first turn."""
    if name == "gsm8k":
        return str(record["question"])
    if name == "mt_bench":
        return str(record["turns"][0])
    if name == "mbpp":
        tests = "\n".join(record["test_list"])
        return f'"""\n{record["text"]}\n{tests}\n"""\n'
    return str(record["prefix"])


def chat_ids(text: str, tokenizer: Tokenizer) -> list[int] | None:
    """One ChatML user turn and the opening of the answer; None where the model knows no ChatML."""
    start, end = tokenizer.id_of("<|im_start|>"), tokenizer.id_of("<|im_end|>")
    if start is None or end is None:
        return None
    encode = tokenizer.encode
    return [
        *(start, *encode(f"user\n{text}"), end, *encode("\n")),
        *(start, *encode("assistant\n")),
    ]


def random_prompts(tokenizer: Tokenizer, n: int, seed: int, max_new_tokens: int) -> list[Prompt]:
    """Prompts of `N_RANDOM_TOKENS` seeded token ids, control tokens left out."""
    rng = random.Random(seed)
    ids = [token for token in range(tokenizer.n_vocab) if token not in tokenizer.control_ids]
    return [
        Prompt(RANDOM_SET, rng.choices(ids, k=N_RANDOM_TOKENS), max_new_tokens) for _ in range(n)
    ]


def _ends_by(rule: EndRule, tokenizer: Tokenizer) -> Callable[[Sequence[int]], bool]:
    return lambda token_ids: rule.end(tokenizer.decode(token_ids)) is not None
