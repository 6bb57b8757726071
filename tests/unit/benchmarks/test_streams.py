from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.streams import Recording, Stream
from goose_lsp.draft.tree import DraftTree, chain
from goose_lsp.engine.forward import Scored
from goose_lsp.errors import GooseError
from tests.strategies import trees

K = 2


def stream() -> Stream:
    """Prompt 1 2 3; plain decoding gave 10 11 12 and ended with 0."""
    return Stream("mbpp", [1, 2, 3], 8, end_id=0, top_k=K, choices=[10, 11, 12, 0])


def scored(tree: DraftTree, first: int = 0) -> Scored:
    """Every node wants its own number, counted from `first`."""
    numbers = list(range(first, first + len(tree)))
    ids = np.array([[n, n + 1] for n in numbers])
    return Scored(numbers, ids, np.full((len(tree), K), 0.5, np.float32))


def test_rows_on_plain_decodings_path_are_kept_by_their_place() -> None:
    tree = DraftTree((10, 11, 12, 99, 11), (-1, 0, 1, 1, 3))
    assert stream().keys(4, tree) == [(4,), (5,), (6,), (5, 99), (5, 99, 11)]


def test_a_row_seen_from_one_step_is_known_from_another() -> None:
    s = stream()
    s.add(3, chain(3, [10, 11]), scored(chain(3, [10, 11]), first=50))
    found = s.look_up(5, chain(11, [99]))
    assert found.choices[0] == 52
    assert found.top_ids[0].tolist() == [52, 53]


def test_what_nobody_saw_has_no_successors_but_plain_decodings_choice() -> None:
    found = stream().look_up(4, DraftTree((10, 11, 99), (-1, 0, 0)))
    assert found.choices == [11, 12, 0]  # on the path what plain decoding chose, elsewhere the end
    assert not found.top_probabilities.any()


def test_the_first_sight_of_a_row_stays() -> None:
    s, tree = stream(), chain(3, [])
    s.add(3, tree, scored(tree, first=5))
    s.add(3, tree, scored(tree, first=6))
    assert s.look_up(3, tree).choices == [5]


@settings(deadline=None)
@given(st.integers(3, 8), trees(n_vocab=13))
def test_a_recorded_tree_is_answered_as_the_target_did(n_context: int, tree: DraftTree) -> None:
    s, answer = stream(), scored(tree, first=20)
    s.add(n_context, tree, answer)
    found = s.look_up(n_context, tree)
    assert found.choices == answer.choices
    assert np.array_equal(found.top_ids, answer.top_ids)
    assert np.array_equal(found.top_probabilities, answer.top_probabilities)


def test_a_recording_comes_back_from_its_file_unchanged(tmp_path: Path) -> None:
    tree = DraftTree((3, 10, 99, 98), (-1, 0, 0, 2))
    first, second = stream(), replace(stream(), set_name="gsm8k")
    first.add(3, tree, scored(tree))
    first.prompt_start, first.prompt_rows = 1, [scored(chain(2, [3]))]
    recording = Recording("m", "int8", 128, [0, 7], [1, 8], [1.0, 1.5])
    recording.start(first)
    recording.start(second)
    recording.save(tmp_path / "out" / "streams")
    loaded = Recording.load(tmp_path / "out" / "streams")
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["streams"]
    assert (loaded.model, loaded.max_tokens, loaded.end_ids) == ("m", 128, [0, 7])
    assert (loaded.sizes, loaded.times_ms) == ([1, 8], [1.0, 1.5])
    for before in (first, second):
        after = loaded.find(before.set_name, before.prompt_ids)
        assert after is not None
        assert before.memo == after.memo
        arrays = after.to_arrays()
        for name, array in before.to_arrays().items():
            assert np.array_equal(array, arrays[name]), name


def test_a_stream_is_found_by_its_set_and_prompt() -> None:
    one, tree = stream(), chain(3, [10])
    recording = Recording("m", "int8", 128, [0], [1], [1.0])
    recording.start(one)
    one.add(3, tree, scored(tree))
    assert recording.find("mbpp", [1, 2, 3]) is one
    assert recording.find("gsm8k", [1, 2, 3]) is None
    again = recording.find("mbpp", [1, 2, 3])
    assert again is not None
    assert again.memo == one.memo


@pytest.mark.parametrize("content", [None, b"", b"PK\x03\x04 broken"])
def test_a_file_that_is_no_recording_is_named(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "streams.npz"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(GooseError, match=r"streams\.npz is no recording"):
        Recording.load(file)
