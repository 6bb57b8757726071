from hypothesis import given
from hypothesis import strategies as st

from goose_lsp.draft.baselines.occurrence import Match
from goose_lsp.draft.baselines.past_outputs import SEPARATOR, PastOutputs


def write(outputs: PastOutputs, *written: list[int]) -> None:
    for output in written:
        outputs.begin().extend(output)
    outputs.begin()


def test_an_output_counts_from_when_the_next_begins() -> None:
    outputs = PastOutputs()
    outputs.begin().extend([1, 2, 3])
    assert outputs.index.longest([1, 2], 4) is None
    outputs.begin()
    assert outputs.index.longest([1, 2], 4) == Match(2, 2)


def test_no_match_reaches_from_one_output_into_another() -> None:
    outputs = PastOutputs()
    write(outputs, [1, 2], [3, 4])
    assert outputs.index.longest([2, 3], 4) == Match(4, 1)
    assert outputs.index.token_ids == [1, 2, SEPARATOR, 3, 4, SEPARATOR]


def test_the_oldest_outputs_make_room() -> None:
    outputs = PastOutputs(max_tokens=8)
    write(outputs, [1, 1, 1], [2, 2, 2], [3, 3, 3])
    assert outputs.index.longest([1, 1], 4) is None
    assert outputs.index.longest([2, 2], 4) is not None
    assert len(outputs) == 6


def test_an_output_longer_than_the_room_keeps_its_end() -> None:
    outputs = PastOutputs(max_tokens=3)
    write(outputs, [1, 2, 3, 4, 5])
    assert outputs.index.token_ids == [3, 4, 5, SEPARATOR]


@given(st.integers(1, 12), st.lists(st.lists(st.integers(0, 3), max_size=6), max_size=12))
def test_the_index_holds_the_latest_outputs_and_never_more_than_the_room(
    max_tokens: int, written: list[list[int]]
) -> None:
    outputs = PastOutputs(max_tokens)
    write(outputs, *written)
    assert len(outputs) <= max_tokens
    everything = [t for output in written if output for t in [*output[-max_tokens:], SEPARATOR]]
    held = outputs.index.token_ids
    assert everything[len(everything) - len(held) :] == held
    assert sum(token != SEPARATOR for token in held) == len(outputs)
