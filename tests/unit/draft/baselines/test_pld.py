from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goose_lsp.draft.baselines.pld import PromptLookup, Rule, latest_longest, oldest_bigram
from tests.drafts import never


def draft(rule: Rule, context: Sequence[int], n: int = 10) -> list[int]:
    policy = PromptLookup(never, rule, max_tokens=n)
    policy.extend(context)
    tree = policy.draft(max_nodes=64, max_depth=64)
    assert tree.is_chain
    return list(tree.token_ids[1:])


def scan_as_transformers(text: list[int]) -> list[int]:
    """n = 2, 1; windows from the left; whatever follows, up to 10 tokens."""
    for n in range(min(2, len(text) - 1), 0, -1):
        for start in range(len(text) - n):
            if text[start : start + n] == text[-n:]:
                return text[start + n : start + n + 10]
    return []


@given(st.lists(st.integers(0, 3), min_size=1, max_size=40))
def test_transformers_rule_drafts_what_its_scan_finds(text: list[int]) -> None:
    assert draft(oldest_bigram, text) == scan_as_transformers(text)


def test_transformers_takes_the_oldest_bigram_and_ours_the_longest_and_latest() -> None:
    context = [1, 2, 3, 8, 2, 3, 9, 1, 2, 3, 7, 1, 2, 3]
    assert draft(oldest_bigram, context, n=1) == [8]
    assert draft(latest_longest, context, n=1) == [7]
    assert draft(latest_longest, [5, 1, 2, 6, 1, 2, 7, 5, 1, 2], n=1) == [6]


def test_a_single_token_is_the_last_resort() -> None:
    assert draft(oldest_bigram, [1, 5, 1]) == draft(latest_longest, [1, 5, 1]) == [5, 1]


def test_beyond_ten_matched_tokens_only_recency_counts() -> None:
    twelve, ten = list(range(12)), list(range(2, 12))
    context = [*twelve, 50, *ten, 60, *twelve]
    assert draft(latest_longest, context, n=1) == [60]


@pytest.mark.parametrize("rule", [oldest_bigram, latest_longest])
def test_a_copy_ends_with_the_context(rule: Rule) -> None:
    assert draft(rule, [1, 2, 3, 1, 2]) == [3, 1, 2]
    assert draft(rule, [4, 4, 4]) == [4]


def test_a_copy_is_cut_at_a_final_token_and_at_every_limit() -> None:
    policy = PromptLookup({3}.__contains__, latest_longest, max_tokens=2)
    policy.extend([1, 2, 3, 4, 1])
    assert policy.draft(9, 9).token_ids == (1, 2, 3)
    assert policy.draft(1, 9).token_ids == policy.draft(9, 1).token_ids == (1, 2)
