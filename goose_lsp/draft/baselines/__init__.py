"""The rivals: published training-free drafting methods as policies, for comparison on equal terms.

Each is written from its published rules in its own module; where it departs from them, the module says
so. All read the one adjacency table that decoding fills, and keep what else they learn of a model in
`Memory.extras` under their own name.
"""

from collections.abc import Callable
from typing import TypeVar

from goose_lsp.draft.baselines.goose_paper import GoosePaper
from goose_lsp.draft.baselines.isotropic import Isotropic
from goose_lsp.draft.baselines.past_outputs import PastOutputs
from goose_lsp.draft.baselines.pld import (
    TRANSFORMERS_TOKENS,
    PromptLookup,
    latest_longest,
    oldest_bigram,
)
from goose_lsp.draft.baselines.ranks import RankRates
from goose_lsp.draft.baselines.sam_switch import SamSwitch
from goose_lsp.draft.baselines.sequoia import Sequoia, SequoiaMemory
from goose_lsp.draft.baselines.suffix import SuffixDecoding
from goose_lsp.draft.baselines.token_recycling import StaticTokenRecycling, TokenRecycling
from goose_lsp.draft.policy import IsFinal, Memory, Policy

# A policy for one request; the int is its budget in nodes, the root left out.
Factory = Callable[[Memory, IsFinal, int], Policy]

_Kept = TypeVar("_Kept")


def _kept(memory: Memory, name: str, kind: type[_Kept]) -> _Kept:
    """What the baseline called `name` has learned of this model."""
    extra = memory.extras.get(name)
    if not isinstance(extra, kind):
        extra = memory.extras[name] = kind()
    return extra


def _pld_transformers(memory: Memory, is_final: IsFinal, budget: int) -> Policy:
    del memory
    return PromptLookup(is_final, oldest_bigram, min(TRANSFORMERS_TOKENS, budget))


def _pld(memory: Memory, is_final: IsFinal, budget: int) -> Policy:
    del memory
    return PromptLookup(is_final, latest_longest, budget)


def _token_recycling_static(memory: Memory, is_final: IsFinal, budget: int) -> Policy:
    return StaticTokenRecycling(memory.table, is_final, budget)


def _token_recycling(memory: Memory, is_final: IsFinal, budget: int) -> Policy:
    rates = _kept(memory, "token-recycling", RankRates)
    return TokenRecycling(memory.table, rates, is_final, budget)


def _isotropic_3(memory: Memory, is_final: IsFinal, budget: int) -> Policy:
    return Isotropic(memory.table, is_final, budget, n_children=3)


def _isotropic_5(memory: Memory, is_final: IsFinal, budget: int) -> Policy:
    return Isotropic(memory.table, is_final, budget, n_children=5)


def _sequoia(memory: Memory, is_final: IsFinal, budget: int) -> Policy:
    return Sequoia(memory.table, _kept(memory, "sequoia", SequoiaMemory), is_final, budget)


def _suffix(memory: Memory, is_final: IsFinal, budget: int) -> Policy:
    return SuffixDecoding(_kept(memory, "suffix", PastOutputs), is_final, budget)


def _sam_switch(memory: Memory, is_final: IsFinal, budget: int) -> Policy:
    rates = _kept(memory, "sam-switch", RankRates)
    return SamSwitch(TokenRecycling(memory.table, rates, is_final, budget))


def _goose_paper(memory: Memory, is_final: IsFinal, budget: int) -> Policy:
    """`budget` is the paper's B: a confident draft borrows beyond it, up to what `draft` allows."""
    return GoosePaper(memory.table, is_final, budget)


BASELINES: dict[str, Factory] = {
    "pld-transformers": _pld_transformers,
    "pld": _pld,
    "token-recycling-static": _token_recycling_static,
    "token-recycling": _token_recycling,
    "isotropic-3": _isotropic_3,
    "isotropic-5": _isotropic_5,
    "sequoia": _sequoia,
    "suffix": _suffix,
    "sam-switch": _sam_switch,
    "goose-paper": _goose_paper,
}
