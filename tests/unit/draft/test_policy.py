from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from goose_lsp.draft.accept import Acceptance
from goose_lsp.draft.policy import Memory, PlainPolicy
from goose_lsp.draft.recall import MAX_MATCH_LEN, NO_TOKEN
from goose_lsp.draft.tree import chain

prompts = st.lists(st.integers(0, 3), max_size=60)


def test_plain_decoding_drafts_the_last_token_alone() -> None:
    policy = PlainPolicy()
    policy.extend([1, 2, 3])
    assert policy.draft(max_nodes=60, max_depth=60) == chain(3, [])
    policy.learn(chain(3, []), Acceptance((), 7))
    policy.extend([])
    assert policy.draft(max_nodes=0, max_depth=0) == chain(3, [])
    policy.extend([7])
    assert policy.draft(max_nodes=60, max_depth=60) == chain(7, [])


def earlier(memory: Memory) -> list[int]:
    held: list[int] = memory.earlier.text.tokens[: len(memory.earlier)].tolist()
    return held


def check(requests: Sequence[tuple[list[int], list[int]]], expected: list[int]) -> None:
    """Requests of (prompt, output), and what is then kept beside the last one."""
    memory = Memory()
    for prompt, output in requests:
        memory.begin(prompt)
        memory.go_on(output)
    assert earlier(memory) == expected


def test_the_first_request_has_nothing_earlier() -> None:
    check([([1, 2, 3], [4])], [])


def test_what_a_request_held_beyond_the_common_start_is_kept_with_some_tokens_before() -> None:
    check([([1, 2, 3], [4, 5]), ([1, 2, 9], [])], [1, 2, 3, 4, 5, NO_TOKEN])


def test_only_as_much_of_the_common_start_is_kept_as_a_match_can_use() -> None:
    shared = [*range(100)]
    kept = [*shared[-MAX_MATCH_LEN:], 200, NO_TOKEN]
    check([([*shared, 200], []), ([*shared, 201], [])], kept)


def test_a_request_that_goes_on_where_the_last_one_ended_has_lost_nothing() -> None:
    check([([1, 2], [3, 4]), ([1, 2, 3, 4, 5], [6]), ([1, 2, 3, 4, 5, 6], [])], [])


def test_an_output_that_was_not_taken_is_kept() -> None:
    check([([1, 2], [3, 4]), ([1, 2], [])], [1, 2, 3, 4, NO_TOKEN])


def test_requests_without_anything_in_common_are_kept_apart() -> None:
    check(
        [([1, 2], []), ([3, 4], []), ([5], [])],
        [1, 2, NO_TOKEN, 3, 4, NO_TOKEN],
    )


def test_asking_again_without_an_answer_piles_nothing_up() -> None:
    check([([1, 2, 3], [])] * 50, [])


def test_a_prompt_typed_on_and_taken_back_costs_its_end_only() -> None:
    prompt, memory = list(range(2000)), Memory()
    for i in range(100):
        memory.begin([*prompt, 5000 + i])
    assert len(memory.earlier) == 99 * (MAX_MATCH_LEN + 2)


def test_the_same_request_answered_the_same_way_is_kept_once() -> None:
    check([([1, 2], [3, 4])] * 9 + [([7], [])], [1, 2, 3, 4, NO_TOKEN])


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(prompts, prompts), max_size=5))
def test_every_token_of_an_earlier_request_is_kept_once_or_still_in_the_present_one(
    requests: list[tuple[list[int], list[int]]],
) -> None:
    memory, expected, kept = Memory(), list[int](), list[list[int]]()
    last: list[int] = []
    for prompt, output in requests:
        memory.begin(prompt)
        memory.go_on(output)
        n = next(
            (i for i in range(len(last)) if last[: i + 1] != prompt[: i + 1]),
            min(len(last), len(prompt)),
        )
        piece = last[max(0, n - MAX_MATCH_LEN) :]
        if last[n:] and piece not in kept:
            kept.append(piece)
            expected += [*piece, NO_TOKEN]
        last = [*prompt, *output]
    assert earlier(memory) == expected


def test_memories_share_nothing() -> None:
    one, other = Memory(), Memory()
    one.begin([1, 2])
    one.begin([3])
    one.extras["of a baseline"] = 1
    one.cells.copy_fine[:] = 1
    assert len(other.earlier) == 0
    assert not other.extras
    assert not other.cells.copy_fine.any()
    assert one.table is not other.table
