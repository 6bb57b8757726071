"""Fill-in-the-middle formats as data, found by the spellings in a tokenizer's vocabulary.

A model's name says nothing: fine-tunes and conversions are renamed, their control tokens are not.
Layouts are templates of token ids, never of text, so that no document can change a prompt's shape.

Fields of the templates: PRE SUF MID FILE REPO are control tokens. `repo`, `files` and `here` are the
workspace's name, the snippets and the document's own path, by the templates below. `prefix` and
`suffix` are the document's text, `comment` is `note` as comment lines of its language.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from goose_lsp.tokenizer import Tokenizer


class Order(StrEnum):
    """What the model continues: text after the suffix, or the prefix itself."""

    PSM = "psm"
    SPM = "spm"


@dataclass(frozen=True, slots=True)
class Family:
    """Models that were trained on the same control tokens in the same places."""

    name: str
    prefix: str  # spellings of the control tokens; "": the family has none
    suffix: str
    middle: str
    layouts: Mapping[Order, str]  # those it was trained on, the preferred one first
    file_mark: str = ""
    repo_mark: str = ""
    has: tuple[str, ...] = ()  # further control tokens that tell it from families spelled alike
    bos: tuple[str, ...] = ()  # open the prompt, each once
    ends: tuple[
        str, ...
    ] = ()  # where a vocabulary has them they end a middle, as all of the above do
    repo: str = ""
    file: str = "{comment}{text}"
    here: str = "{comment}"
    note: str = "{path}"

    @property
    def spellings(self) -> dict[str, str]:
        """By template field."""
        return {
            "PRE": self.prefix,
            "SUF": self.suffix,
            "MID": self.middle,
            "FILE": self.file_mark,
            "REPO": self.repo_mark,
        }


@dataclass(frozen=True, slots=True)
class FimFormat:
    """A family's layout with the ids of one vocabulary; prefix-only prompts are a layout without ids."""

    family: Family
    order: Order
    bos_ids: tuple[int, ...]
    token_ids: Mapping[str, int]  # by template field
    stop_ids: frozenset[int]  # decoding ends at any of them

    @property
    def layout(self) -> str:
        return self.family.layouts[self.order]


def _wide(name: str) -> str:
    """DeepSeek's spelling: bars of full width."""
    return f"<\N{FULLWIDTH VERTICAL LINE}{name}\N{FULLWIDTH VERTICAL LINE}>"


_BARE = ("<fim_prefix>", "<fim_suffix>", "<fim_middle>")
_PIPED = ("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>")
_END = "<|endoftext|>"

_PSM = "{PRE}{prefix}{SUF}{suffix}{MID}"
_INSIDE = (
    "{files}{here}{prefix}"  # without file tokens all is one text, as such models were trained
)
_INSIDE_PSM = "{PRE}" + _INSIDE + "{SUF}{suffix}{MID}"

# The first family whose tokens a vocabulary holds is taken: those with a second key come first.
FAMILIES = (
    Family(
        "qwen",
        *_PIPED,
        {Order.PSM: "{repo}{files}{here}" + _PSM},
        file_mark="<|file_sep|>",
        repo_mark="<|repo_name|>",
        ends=(_END, "<|fim_pad|>", "<|im_end|>"),
        repo="{REPO}{name}\n",
        file="{FILE}{path}\n{text}",
        here="{FILE}{path}\n",
    ),
    Family(
        "codegemma",
        *_PIPED,
        {Order.PSM: "{files}{here}" + _PSM},
        file_mark="<|file_separator|>",
        bos=("<bos>",),
        ends=("<eos>",),
        file="{path}\n{text}{FILE}",
        here="{path}\n",
    ),
    Family(
        "granite-4",
        *_PIPED,
        {Order.PSM: _INSIDE_PSM},
        ends=("<|end_of_text|>", _END, "<|fim_pad|>"),
    ),
    Family(
        "mellum",
        *_BARE,
        {Order.SPM: "{files}{here}{SUF}{suffix}{PRE}{prefix}{MID}"},
        file_mark="<filename>",
        has=("<|im_start|>",),
        ends=(_END, "<fim_pad>", "<|im_end|>", "<file_sep>"),
        file="{FILE}{path}\n{text}",
        here="{FILE}{path}\n",
    ),
    Family(
        "starcoder2",  # trained on whole repositories: the separator stays even before a first file
        *_BARE,
        {Order.PSM: "{repo}{files}{FILE}{PRE}{here}{prefix}{SUF}{suffix}{MID}"},
        file_mark="<file_sep>",
        repo_mark="<repo_name>",
        ends=(_END, "<fim_pad>"),
        repo="{REPO}{name}",
        file="{FILE}{path}\n{text}",
        here="{path}\n",
    ),
    Family(
        "starcoder",  # also Granite Code and Stable Code
        *_BARE,
        {Order.PSM: "{PRE}{repo}" + _INSIDE + "{SUF}{suffix}{MID}"},
        file_mark="<filename>",
        repo_mark="<reponame>",
        ends=(_END, "<|end_of_text|>", "<fim_pad>"),
        repo="{REPO}{name}",
        file="{FILE}{path}\n{text}",
        here="{FILE}{path}\n",
    ),
    Family(
        "bare",
        *_BARE,
        {Order.PSM: _INSIDE_PSM},
        ends=(_END, "<|end_of_text|>", "<fim_pad>"),
    ),
    Family(
        "santacoder",
        *("<fim-prefix>", "<fim-suffix>", "<fim-middle>"),
        {Order.PSM: _INSIDE_PSM},
        ends=(_END, "<fim-pad>"),
    ),
    Family(
        "code-llama",
        *("▁<PRE>", "▁<SUF>", "▁<MID>"),
        {Order.PSM: _INSIDE_PSM, Order.SPM: "{PRE}{SUF}{suffix}{MID}" + _INSIDE},
        bos=("<s>",),
        ends=("▁<EOT>", "</s>"),
    ),
    Family(
        "deepseek",
        *(_wide("fim▁begin"), _wide("fim▁hole"), _wide("fim▁end")),
        {Order.PSM: "{files}{here}" + _PSM},
        bos=(_wide("begin▁of▁sentence"),),
        ends=(_wide("end▁of▁sentence"), "<|EOT|>"),
        file="#{path}\n{text}",
        here="#{path}\n",
    ),
    Family(
        "codestral",
        *("[PREFIX]", "[SUFFIX]", ""),
        {Order.SPM: "{SUF}{suffix}{PRE}" + _INSIDE},
        bos=("<s>",),
        ends=("</s>", "[MIDDLE]"),
        file="+++++ {path}\n{text}\n",
        here="+++++ {path}\n",
    ),
    Family(
        "seed-coder",
        *("<[fim-prefix]>", "<[fim-suffix]>", "<[fim-middle]>"),
        {Order.SPM: "{SUF}{suffix}{PRE}" + _INSIDE + "{MID}"},
        ends=("<[end▁of▁sentence]>",),
    ),
    Family(
        "aixcoder",
        *("▁<AIX-SPAN-PRE>", "▁<AIX-SPAN-POST>", "▁<AIX-SPAN-MIDDLE>"),
        {Order.SPM: "{PRE}{SUF}{suffix}\n{MID}" + _INSIDE, Order.PSM: _INSIDE_PSM},
        bos=("<s>",),
        ends=("</s>",),
        note="the file path is: {path}\nthe code file is written by {language}",
    ),
    Family(
        "glm",
        *("<|code_prefix|>", "<|code_suffix|>", "<|code_middle|>"),
        {Order.PSM: "{files}{here}" + _PSM},
        bos=("[gMASK]", "<sop>"),
        ends=(_END, "<|user|>"),
        file="###REFERENCE:\n###PATH:{path}\n{text}",
        here="###PATH:{path}\n",
    ),
)
PLAIN = FimFormat(
    Family("prefix-only", "", "", "", {Order.SPM: _INSIDE}), Order.SPM, (), {}, frozenset()
)


def detect(tokenizer: Tokenizer, order: Order | None = None) -> FimFormat | None:
    """The format a vocabulary was made for; None: prefix-only. `order` is taken where it was trained."""
    for family in FAMILIES:
        needed = [*filter(None, family.spellings.values()), *family.has]
        if len(_find(tokenizer, needed)) == len(needed):
            return _resolve(family, tokenizer, order)
    return None


def _resolve(family: Family, tokenizer: Tokenizer, order: Order | None) -> FimFormat:
    found = _find(tokenizer, [*family.spellings.values(), *family.bos, *family.ends])
    bos_ids = tuple(found[spelling] for spelling in family.bos if spelling in found)
    token_ids = {field: found[s] for field, s in family.spellings.items() if s in found}
    trained = sorted(family.layouts, key=lambda known: known is not order)
    return FimFormat(family, trained[0], bos_ids, token_ids, frozenset(found.values()))


def _find(tokenizer: Tokenizer, spellings: Iterable[str]) -> dict[str, int]:
    """Ids of those spellings that are single control tokens, with or without a blank joined to them."""
    found: dict[str, int] = {}
    for spelling in spellings:
        for token in (spelling, spelling.removeprefix("▁")):
            token_id = tokenizer.id_of(token) if token else None
            if token_id is not None and token_id in tokenizer.control_ids:
                found.setdefault(spelling, token_id)
    return found
