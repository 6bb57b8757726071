from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from goose_lsp.draft.baselines.builder import Limits, TreeBuilder
from goose_lsp.draft.baselines.occurrence import OccurrenceIndex
from goose_lsp.draft.baselines.past_outputs import PastOutputs
from goose_lsp.draft.baselines.suffix import (
    MIN_PROBABILITY,
    SuffixDecoding,
    by_match_len,
    grow_by_count,
)
from tests.drafts import never, paths


def draft(
    context: Sequence[int], past: Sequence[Sequence[int]] = (), factor: float = 1.0, n: int = 20
) -> list[tuple[int, ...]]:
    outputs = PastOutputs()
    for output in past:
        outputs.begin().extend(output)
    policy = SuffixDecoding(outputs, never, n, factor)
    policy.extend(context)
    return paths(policy.draft(n, 20))


def test_nothing_seen_before_gives_no_draft() -> None:
    assert draft([1]) == draft([1, 2, 3]) == []


def test_a_match_of_three_drafts_three_tokens() -> None:
    assert draft([1, 2, 3, 4, 5, 6, 7, 1, 2, 3]) == [(4,), (4, 5), (4, 5, 6)]


def test_the_factor_sizes_the_tree_and_one_node_is_the_least() -> None:
    context = [1, 2, 3, 4, 5, 6, 7, 1, 2]
    assert draft(context, factor=2.0) == [(3,), (3, 4), (3, 4, 5), (3, 4, 5, 6)]
    assert draft(context, factor=0.1) == [(3,)]


def test_shares_of_occurrences_order_the_tree() -> None:
    text = [1, 2, 3, 1, 2, 3, 1, 2, 4, 1, 2]
    builder = TreeBuilder([1, 2], Limits(9, 1, never))
    (match_len, after), *_ = by_match_len(OccurrenceIndex(text), [1, 2])
    assert (match_len, after) == (2, [8, 5, 2])
    assert abs(grow_by_count(builder, text, after) - 1.0) < 1e-12  # 2/3 + 1/3
    assert paths(builder.build()) == [(3,), (4,)]


def test_paths_below_a_tenth_are_not_drafted() -> None:
    text = [token for follower in range(10, 21) for token in (1, follower)]
    builder = TreeBuilder([1], Limits(99, 1, never))
    assert grow_by_count(builder, text, list(range(1, 22, 2))) == 0.0


def test_a_shorter_match_wins_when_the_longer_one_is_torn() -> None:
    # After 7 1 2 came 3, 4 and 5 once each; 1 2 alone was followed by 6 most often.
    torn = [7, 1, 2, 3, 7, 1, 2, 4, 7, 1, 2, 5]
    sure = [8, 1, 2, 6] * 40
    drafted = draft([*torn, *sure, 7, 1, 2])
    assert drafted[0] == (6,)


def test_past_outputs_are_drafted_from_when_they_match_better() -> None:
    assert draft([9, 1, 2, 3], past=[[0, 1, 2, 3, 4, 5], [6]]) == [(4,), (4, 5)]


def test_the_end_of_a_past_output_is_not_drafted() -> None:
    assert draft([9, 1, 2, 3], past=[[1, 2, 3], [6]]) == []


def test_a_prompt_is_no_output() -> None:
    outputs = PastOutputs()
    policy = SuffixDecoding(outputs, never, 9)
    policy.extend([1, 2, 3])
    policy.extend([4])
    policy.extend([5, 6])
    outputs.begin()
    assert outputs.index.token_ids[:-1] == [4, 5, 6]


def shares(text: list[int], match_len: int) -> dict[tuple[int, ...], float]:
    """Continuations of the last `match_len` tokens up to 5 deep → share of occurrences that go so."""
    tail, ends = text[-match_len:], range(match_len, len(text))
    after = [end for end in ends if text[end - match_len : end] == tail]
    going = [
        tuple(text[end : end + n]) for end in after for n in range(1, min(5, len(text) - end) + 1)
    ]
    return {path: going.count(path) / len(after) for path in going}


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 2), min_size=1, max_size=16), st.integers(1, 5))
def test_no_length_of_the_tail_has_a_tree_of_larger_sum(text: list[int], n: int) -> None:
    """The rule by scanning: the path probabilities telescope to shares of the root's occurrences."""
    best, reached = 0.0, 0.0
    policy = SuffixDecoding(PastOutputs(), never, n)
    policy.extend(text)
    drafted = paths(policy.draft(n, 5))
    for match_len in range(1, len(text)):
        of = shares(text, match_len)
        size = min(n, match_len)
        likely = sorted((share for share in of.values() if share >= MIN_PROBABILITY), reverse=True)
        best = max(best, sum(likely[:size]))
        if len(drafted) <= size:
            reached = max(reached, sum(of.get(path, 0.0) for path in drafted))
    assert abs(reached - best) < 1e-9
