from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from goose_lsp.draft.counts import add_counts, build_counts
from goose_lsp.draft.recall import NO_TOKEN
from goose_lsp.draft.segment import build_segment
from goose_lsp.draft.store import DEAD, FAR, StoreView
from goose_lsp.index.overlay import Overlay
from goose_lsp.index.persist import FileRecord, Snapshot
from tests.sources import library_of

TOKENS = st.lists(st.integers(0, 3), max_size=12)
NAMES = st.sampled_from(["a", "b", "c", "d"])
STEPS = st.lists(
    st.tuples(st.sampled_from(["put", "remove", "restore", "rebase"]), NAMES, TOKENS), max_size=12
)
BASE = {"a": [1, 2, 3, 1, 2], "b": [], "c": [2, 3, 1, 2, 3, 3]}


def snapshot(files: dict[str, list[int]]) -> Snapshot:
    records = tuple(FileRecord(name, 0, 0, 0, b"") for name in files)
    return Snapshot(records, library_of(*((tokens, FAR) for tokens in files.values())))


def array(tokens: Sequence[int]) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    return np.array(tokens, np.int32)


def living(overlay: Overlay) -> dict[str, list[int]]:
    """Every file that a query may look at."""
    view = overlay.view()
    found = {}
    for paths, library in ((overlay.base_paths, view.base), (overlay.delta_paths, view.delta)):
        for i, path in enumerate(paths):
            if library.weights[i] != DEAD:
                assert path not in found
                tokens = library.segment.tokens[library.starts[i] : library.starts[i + 1] - 1]
                found[path] = tokens.tolist()
    return found


def check_equal_to_rebuilt(view: StoreView, files: dict[str, list[int]]) -> None:
    delta = view.delta.segment
    assert delta.order.tolist() == build_segment(delta.tokens).order.tolist()
    counts = add_counts(view.base.counts, view.delta.counts)
    whole = build_counts(array([t for tokens in files.values() for t in [*tokens, NO_TOKEN]]))
    assert counts.keys.tolist() == whole.keys.tolist()
    assert counts.counts.tolist() == whole.counts.tolist()


@given(STEPS)
def test_after_any_changes_the_store_is_what_a_rebuild_would_give(
    steps: list[tuple[str, str, list[int]]],
) -> None:
    overlay, on_disk, now = Overlay(snapshot(BASE)), dict(BASE), dict(BASE)
    for step, name, tokens in steps:
        if step == "put":
            overlay.put(name, array(tokens))
            now[name] = tokens
        elif step == "remove":
            overlay.remove(name)
            now.pop(name, None)
        elif step == "restore":
            overlay.restore(name)
            now.pop(name, None)
            now |= {name: on_disk[name]} if name in on_disk else {}
        else:
            open_files = {path: now[path] for path in overlay.delta_paths}
            on_disk = {name: tokens, "c": BASE["c"]}
            overlay = overlay.rebased(snapshot(on_disk), list(open_files))
            now = {**on_disk, **open_files}
        assert living(overlay) == now
        check_equal_to_rebuilt(overlay.view(), now)


def test_a_view_stays_as_it_was() -> None:
    overlay = Overlay(snapshot(BASE))
    before = overlay.view()
    overlay.put("a", array([9, 9, 9]))
    assert before.base.weights.tolist() == [FAR] * 3
    assert len(before.delta.segment.tokens) == 0


def test_an_overlay_over_nothing_holds_what_is_put() -> None:
    overlay = Overlay()
    overlay.put("x", array([1, 2]))
    assert living(overlay) == {"x": [1, 2]}
    assert "x" in overlay
    assert "y" not in overlay
