from itertools import pairwise

from benchmarks.drafting import draft_ms, full_memory, long_text
from benchmarks.prompts import Prompt

TEXTS = [list(range(50)), list(range(30, 90))]


def test_a_long_text_is_made_of_pieces_of_the_given_ones() -> None:
    text = long_text(TEXTS, 5000)
    assert len(text) == 5000
    steps = [b - a for a, b in pairwise(text)]
    assert sum(step == 1 for step in steps) > 4000


def test_the_table_knows_what_follows_every_pair() -> None:
    text = [1, 2, 3, 4, 5, 1, 2, 3, 9, 9, 7]
    table = full_memory(text).table
    for previous, current, following in zip(text[1:], text[2:], text[3:], strict=False):
        found = table.successors(previous, current)
        assert found is not None
        if (previous, current) != (2, 3):  # followed by 4 first, by 9 later
            assert found.token_ids[0] == following


def test_drafting_is_timed_behind_a_context_of_any_length() -> None:
    prompts = [Prompt("mbpp", text, 8) for text in TEXTS]
    assert draft_ms(prompts, n_context=500) > 0.0
