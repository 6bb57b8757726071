import numpy as np

from goose_lsp.draft.store import DEAD, FAR, NEWEST, StoreView, empty_library
from goose_lsp.index.windows import NamedStore, Term, find_windows
from tests.sources import library_of

NAME = np.array([7, 8], np.int32)
FILLER = [i % 5 for i in range(700)]


def found(store: NamedStore, current: str = "current") -> list[str]:
    return [window.path for window in find_windows(store, [Term((NAME,), 1.0)], current)]


def test_a_window_holds_the_name_and_is_of_a_living_file() -> None:
    base = library_of((FILLER, FAR), ([*FILLER, 7, 8, *FILLER], FAR), ([7, 8, 1], DEAD))
    store = NamedStore(StoreView(base, empty_library(), np.zeros(2, np.int32)), ["a", "b", "c"])
    windows = find_windows(store, [Term((NAME,), 1.0)], "current")
    assert {window.path for window in windows} == {"b"}
    tokens = base.segment.tokens
    assert all(7 in tokens[window.start : window.stop] for window in windows)


def test_the_delta_wins_over_the_base_and_the_current_file_is_never_shown() -> None:
    base = library_of((FILLER, FAR), ([1, 7, 8, 1], FAR))
    delta = library_of(([2, 7, 8, 2], NEWEST), ([3, 7, 8], NEWEST))
    store = NamedStore(StoreView(base, delta, np.zeros(2, np.int32)), ["a", "b", "b", "current"])
    windows = find_windows(store, [Term((NAME,), 1.0)], "current")
    assert {(window.path, window.is_delta) for window in windows} == {("b", True)}


def test_nothing_is_found_in_nothing() -> None:
    empty = StoreView(empty_library(), empty_library(), np.zeros(2, np.int32))
    assert found(NamedStore(empty, [])) == []
    assert find_windows(NamedStore(empty, []), [], "a") == []
