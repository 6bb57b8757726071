"""Every family's prompt, token id by token id: prefix `def f(`, suffix `):⏎`, one extra file `u.py`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pytest

from goose_lsp.prompt.builder import build_prompt
from goose_lsp.prompt.fim import FAMILIES, FimFormat, Order, detect
from goose_lsp.prompt.frame import Surroundings
from goose_lsp.request import Point, Snippet
from goose_lsp.text.document import Document
from goose_lsp.tokenizer import Tokenizer
from tests.vocabularies import joining_tokenizer, marked_tokenizer, sentencepiece_tokenizer

BUDGET = 1000
BARE = ["<fim_prefix>", "<fim_suffix>", "<fim_middle>"]
PIPED = ["<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"]
DEEPSEEK = [f"<\uff5c{name}\uff5c>" for name in ("fim▁begin", "fim▁hole", "fim▁end")]
DEEPSEEK += [f"<\uff5c{name}▁of▁sentence\uff5c>" for name in ("begin", "end")]
SEED = ["<[fim-prefix]>", "<[fim-suffix]>", "<[fim-middle]>", "<[end▁of▁sentence]>"]
AIX = ["▁<AIX-SPAN-PRE>", "▁<AIX-SPAN-POST>", "▁<AIX-SPAN-MIDDLE>"]
LLAMA = ["▁<PRE>", "▁<SUF>", "▁<MID>", "▁<EOT>"]
STARCODER2 = [*BARE, "<file_sep>", "<repo_name>", "<filename>", "<reponame>"]


@dataclass(frozen=True)
class Golden:
    """What a vocabulary with `control_tokens` makes of the example: control tokens and texts in order."""

    family: str
    control_tokens: Sequence[str]
    prompt: Sequence[str]
    order: Order | None = None
    make: Callable[[Sequence[str]], Tokenizer] = marked_tokenizer


SNIPPET, PREFIX, SUFFIX = "x = 1\n", "def f(", "):\n"
COMMENTS = f"# u.py\n{SNIPPET}# src/cur.py\n"
GOLDENS = [
    Golden(
        "qwen",
        [*PIPED, "<|file_sep|>", "<|repo_name|>", "<|endoftext|>"],
        [
            *("<|repo_name|>", "shop\n", "<|file_sep|>", f"u.py\n{SNIPPET}"),
            *("<|file_sep|>", "src/cur.py\n"),
            *("<|fim_prefix|>", PREFIX, "<|fim_suffix|>", SUFFIX, "<|fim_middle|>"),
        ],
    ),
    Golden(
        "codegemma",
        [*PIPED, "<|file_separator|>", "<bos>", "<eos>"],
        [
            *("<bos>", f"u.py\n{SNIPPET}", "<|file_separator|>", "src/cur.py\n"),
            *("<|fim_prefix|>", PREFIX, "<|fim_suffix|>", SUFFIX, "<|fim_middle|>"),
        ],
    ),
    Golden(
        "granite-4",
        [*PIPED, "<|fim_pad|>", "<|end_of_text|>"],
        ["<|fim_prefix|>", COMMENTS + PREFIX, "<|fim_suffix|>", SUFFIX, "<|fim_middle|>"],
    ),
    Golden(
        "mellum",
        [*BARE, "<filename>", "<reponame>", "<|im_start|>", "<|endoftext|>"],
        [
            *("<filename>", f"u.py\n{SNIPPET}", "<filename>", "src/cur.py\n"),
            *("<fim_suffix>", SUFFIX, "<fim_prefix>", PREFIX, "<fim_middle>"),
        ],
    ),
    Golden(
        "starcoder2",
        [*STARCODER2, "<|endoftext|>"],
        [
            *("<repo_name>", "shop", "<file_sep>", f"u.py\n{SNIPPET}", "<file_sep>"),
            *("<fim_prefix>", f"src/cur.py\n{PREFIX}", "<fim_suffix>", SUFFIX, "<fim_middle>"),
        ],
    ),
    Golden(
        "starcoder",
        [*BARE, "<filename>", "<reponame>", "<|endoftext|>"],
        [
            *("<fim_prefix>", "<reponame>", "shop", "<filename>", f"u.py\n{SNIPPET}"),
            *("<filename>", f"src/cur.py\n{PREFIX}", "<fim_suffix>", SUFFIX, "<fim_middle>"),
        ],
    ),
    Golden(
        "bare", BARE, ["<fim_prefix>", COMMENTS + PREFIX, "<fim_suffix>", SUFFIX, "<fim_middle>"]
    ),
    Golden(
        "santacoder",
        ["<fim-prefix>", "<fim-suffix>", "<fim-middle>", "<fim-pad>"],
        ["<fim-prefix>", COMMENTS + PREFIX, "<fim-suffix>", SUFFIX, "<fim-middle>"],
    ),
    # One blank before the prefix and none before the suffix, as Llama's vocabulary writes it.
    Golden(
        "code-llama",
        [*LLAMA, "<s>", "</s>"],
        ["<s>", "▁<PRE>", f" {COMMENTS}{PREFIX}", "▁<SUF>", SUFFIX, "▁<MID>"],
        make=sentencepiece_tokenizer,
    ),
    Golden(
        "code-llama",
        [*LLAMA, "<s>", "</s>"],
        ["<s>", "▁<PRE>", "▁<SUF>", SUFFIX, "▁<MID>", f" {COMMENTS}{PREFIX}"],
        order=Order.SPM,
        make=sentencepiece_tokenizer,
    ),
    Golden(
        "code-llama",
        ["<PRE>", "<SUF>", "<MID>", "<s>"],
        ["<s>", "<PRE>", COMMENTS + PREFIX, "<SUF>", SUFFIX, "<MID>"],
    ),
    Golden(
        "deepseek",
        DEEPSEEK,
        [
            *(DEEPSEEK[3], f"#u.py\n{SNIPPET}#src/cur.py\n"),
            *(DEEPSEEK[0], PREFIX, DEEPSEEK[1], SUFFIX, DEEPSEEK[2]),
        ],
    ),
    Golden(
        "codestral",
        ["[PREFIX]", "[SUFFIX]", "[MIDDLE]", "<s>", "</s>"],
        [
            *("<s>", "[SUFFIX]", SUFFIX, "[PREFIX]"),
            f" +++++ u.py\n{SNIPPET}\n+++++ src/cur.py\n{PREFIX}",
        ],
        make=sentencepiece_tokenizer,
    ),
    Golden(
        "seed-coder",
        SEED,
        ["<[fim-suffix]>", SUFFIX, "<[fim-prefix]>", COMMENTS + PREFIX, "<[fim-middle]>"],
    ),
    Golden(
        "aixcoder",
        [*AIX, "<s>", "</s>"],
        [
            *("<s>", AIX[0], AIX[1], f"{SUFFIX}\n", AIX[2]),
            "# the file path is: u.py\n# the code file is written by Python\nx = 1\n"
            "# the file path is: src/cur.py\n# the code file is written by Python\ndef f(",
        ],
    ),
    Golden(
        "aixcoder",
        [*AIX, "<s>", "</s>"],
        [
            *("<s>", AIX[0]),
            "# the file path is: u.py\n# the code file is written by Python\nx = 1\n"
            "# the file path is: src/cur.py\n# the code file is written by Python\ndef f(",
            *(AIX[1], SUFFIX, AIX[2]),
        ],
        order=Order.PSM,
    ),
    Golden(
        "glm",
        ["<|code_prefix|>", "<|code_suffix|>", "<|code_middle|>", "[gMASK]", "<sop>"],
        [
            *("[gMASK]", "<sop>", f"###REFERENCE:\n###PATH:u.py\n{SNIPPET}###PATH:src/cur.py\n"),
            *("<|code_prefix|>", PREFIX, "<|code_suffix|>", SUFFIX, "<|code_middle|>"),
        ],
    ),
]


each_golden = pytest.mark.parametrize(
    "golden", GOLDENS, ids=[f"{golden.family}-{i}" for i, golden in enumerate(GOLDENS)]
)


def around(prefix: str, suffix: str) -> Surroundings:
    document = Document("file:///shop/src/cur.py", 1, "python", prefix + suffix)
    before = Document("", 1, "", prefix)
    cursor = Point(before.n_lines - 1, len(before.lines[-1]))
    return Surroundings(document, cursor, "src/cur.py", "shop", (Snippet("u.py", SNIPPET),))


def detected(tokenizer: Tokenizer, order: Order | None = None) -> FimFormat:
    fim = detect(tokenizer, order)
    assert fim is not None
    return fim


def ids_of(parts: Sequence[str], control_tokens: Sequence[str], tokenizer: Tokenizer) -> list[int]:
    """Control tokens by name, texts character by character: no encoder has a say in a golden."""
    token_ids: list[int] = []
    for part in parts:
        control_id = tokenizer.id_of(part) if part in control_tokens else None
        if control_id is not None:
            token_ids.append(control_id)
        else:
            for character in part:
                [token_id] = tokenizer.encode_inner(character)
                token_ids.append(token_id)
    return token_ids


@each_golden
def test_a_familys_prompt_is_its_golden_to_the_token(golden: Golden) -> None:
    tokenizer = golden.make(golden.control_tokens)
    fim = detected(tokenizer, golden.order)
    assert fim.family.name == golden.family
    prompt, _ = build_prompt(around(PREFIX, SUFFIX), tokenizer, fim, BUDGET)
    assert prompt.token_ids == ids_of(golden.prompt, golden.control_tokens, tokenizer)
    assert prompt.held_back == ""


def test_every_family_and_order_has_a_golden() -> None:
    shown = {
        (golden.family, detected(golden.make(golden.control_tokens), golden.order).order)
        for golden in GOLDENS
    }
    assert shown == {(family.name, order) for family in FAMILIES for order in family.layouts}


@each_golden
def test_control_tokens_spelled_in_a_document_change_no_structure(golden: Golden) -> None:
    spelled = "".join(token for token in golden.control_tokens if token.isascii())
    tokenizer = golden.make(golden.control_tokens)
    fim = detected(tokenizer, golden.order)
    plain, _ = build_prompt(around(PREFIX, f"x{SUFFIX}"), tokenizer, fim, BUDGET)
    hostile = around(f"{spelled}\n{PREFIX}", f"x{spelled}{SUFFIX}{spelled}")
    spelling, _ = build_prompt(hostile, tokenizer, fim, BUDGET)
    control_ids = tokenizer.control_ids
    assert [token for token in spelling.token_ids if token in control_ids] == [
        token for token in plain.token_ids if token in control_ids
    ]
    assert tokenizer.decode(spelling.token_ids).count(spelled or PREFIX) == (3 if spelled else 1)


@each_golden
def test_decoding_ends_at_every_control_token_of_the_format(golden: Golden) -> None:
    tokenizer = golden.make(golden.control_tokens)
    fim = detected(tokenizer, golden.order)
    ours = {tokenizer.id_of(token) for token in golden.control_tokens}
    second_keys = {
        tokenizer.id_of(token) for token in (*fim.family.has, "<filename>", "<reponame>")
    }
    assert ours - second_keys <= fim.stop_ids
    assert fim.stop_ids <= tokenizer.control_ids


@pytest.mark.parametrize(
    "tokenizer",
    [
        marked_tokenizer([]),
        marked_tokenizer(["<repo_name>", "<file_sep>", "<filename>"]),  # SmolLM2's
        marked_tokenizer(BARE[:2]),
        Tokenizer.from_bpe([*"<fimprex>_"], [], [], "default"),
    ],
    ids=["no control tokens", "file tokens alone", "no middle", "no such tokens"],
)
def test_a_vocabulary_without_the_three_tokens_gets_prefix_only_prompts(
    tokenizer: Tokenizer,
) -> None:
    assert detect(tokenizer) is None


def test_an_ordinary_token_that_is_spelled_like_a_control_token_is_none() -> None:
    marked = marked_tokenizer(BARE)
    assert detect(marked) is not None
    assert detect(Tokenizer(marked._backend, [])) is None


def test_an_order_that_was_not_trained_is_not_taken() -> None:
    assert detected(marked_tokenizer(SEED), Order.PSM).order is Order.SPM
    assert detected(marked_tokenizer(BARE), Order.SPM).order is Order.PSM


def test_the_separator_of_a_family_trained_on_repositories_stays_without_any_path() -> None:
    tokenizer = marked_tokenizer(STARCODER2)
    document = Document("file:///a.py", 1, "python", "ab")
    prompt, _ = build_prompt(
        Surroundings(document, Point(0, 1)), tokenizer, detect(tokenizer), BUDGET
    )
    parts = ["<file_sep>", "<fim_prefix>", "a", "<fim_suffix>", "b", "<fim_middle>"]
    assert prompt.token_ids == ids_of(parts, STARCODER2, tokenizer)


def test_a_blank_before_the_cursor_is_held_back_in_every_order() -> None:
    for control_tokens in (BARE, SEED):
        tokenizer = joining_tokenizer(control_tokens)
        document = Document("file:///a.py", 1, "python", "x = \n")
        prompt, _ = build_prompt(
            Surroundings(document, Point(0, 4)), tokenizer, detect(tokenizer), BUDGET
        )
        assert prompt.held_back == " "
        assert tokenizer.decode(prompt.token_ids).replace("\n", "") == "x ="
