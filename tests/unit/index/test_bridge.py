import numpy as np
import pytest

from goose_lsp.draft.store import StoreView
from goose_lsp.index.bridge import bridges
from tests.sources import store_of
from tests.vocabularies import joining_tokenizer

# ` a` is one token, `a` and ` ` are others: text cut behind the blank is cut otherwise than in a file.
TOKENIZER = joining_tokenizer()


def view_of(*texts: str) -> StoreView:
    return store_of(*(TOKENIZER.encode(text) for text in texts))


def aheads(view: StoreView, prompt: str, held_back: str = "") -> list[str]:
    """What the bridges say follows the cursor."""
    prompt_ids = TOKENIZER.encode(prompt)
    n_kept = min(len(prompt_ids), 32)
    found = bridges(view, prompt_ids, held_back, TOKENIZER)
    assert all(bridge[:n_kept] == prompt_ids[-n_kept:] for bridge in found)
    return [TOKENIZER.decode(bridge[n_kept:]) for bridge in found]


def test_a_word_cut_in_two_is_gone_on_with() -> None:
    assert aheads(view_of("x = compute a\nend"), "y = comp") == ["ute a\nend"]


def test_a_blank_that_belongs_to_the_next_token_is_gone_on_with() -> None:
    assert aheads(view_of("return a b"), "return ") == ["a b"]
    assert aheads(view_of("return a b"), "return", held_back=" ") == [" a b"]


def test_a_place_that_goes_on_otherwise_is_none() -> None:
    assert aheads(view_of("x = compute a\n"), "x = comq") == []


def test_places_that_say_the_same_are_one() -> None:
    assert aheads(view_of("x = f(a)", "x = f(a)", "x = f(b)"), "x = f(") == ["a)", "b)"]


def test_longer_matches_come_first() -> None:
    assert aheads(view_of("zz = f(b)", "xy = f(a)"), "xy = f(")[0] == "a)"


def test_no_more_than_asked_for() -> None:
    texts = [f"x = f({i})" for i in range(10)]
    found = bridges(view_of(*texts), TOKENIZER.encode("x = f("), "", TOKENIZER, max_n=3)
    assert len(found) == 3


@pytest.mark.parametrize("prompt", ["a", "ab", "é", "x = é"])
def test_short_and_odd_prompts_have_no_bridges_or_harmless_ones(prompt: str) -> None:
    assert isinstance(aheads(view_of("é = é", ""), prompt), list)


def test_most_cuts_of_a_known_text_are_bridged() -> None:
    rng = np.random.default_rng(3)
    words = ["a", "return", "value", "self", "(", ")", "=", "\n    ", "of"]
    text = " ".join(rng.choice(words, 400))
    view = view_of(text)
    cuts = rng.integers(60, len(text) - 40, 60).tolist()
    hits = [
        any(text[cut : cut + 8].startswith(a[:8]) for a in aheads(view, text[cut - 50 : cut]))
        for cut in cuts
    ]
    assert sum(hits) > 0.9 * len(hits)
