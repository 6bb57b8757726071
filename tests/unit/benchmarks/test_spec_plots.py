from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import measures, policies, spec_plots
from benchmarks.spec_plots import apart, save_plots
from goose_lsp.errors import GooseError
from tests.recordings import recorded


def result() -> dict[str, Any]:
    _, results = recorded()
    return {**measures.summary(results), "rows": measures.rows_of(results, "live")}


def test_both_plots_are_saved_as_pictures_and_drawings(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="plots need matplotlib")
    files = save_plots(result(), tmp_path / "out")
    assert sorted(file.name for file in files) == [
        *("speculation-accepted-length.png", "speculation-accepted-length.svg"),
        *("speculation-speed-up.png", "speculation-speed-up.svg"),
    ]
    assert all(file.stat().st_size > 1000 for file in files)


def test_without_matplotlib_one_line_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spec_plots, "find_spec", lambda _name: None)
    with pytest.raises(GooseError, match=r"plots need matplotlib; get it with: pip install"):
        save_plots(result(), tmp_path)


def test_labels_move_apart_from_their_middle_and_no_further() -> None:
    assert apart([3.0, 1.0, 1.2], gap=0.5) == pytest.approx([3.0, 0.85, 1.35])
    assert apart([], gap=0.5) == []


@given(st.lists(st.floats(0, 10), max_size=12), st.floats(0.01, 1.0))
def test_labels_keep_a_distance_and_their_order(heights: list[float], gap: float) -> None:
    moved = apart(heights, gap)
    placed = sorted(zip(heights, moved, strict=True))
    assert [y for _, y in placed] == sorted(moved)
    assert all(b - a >= gap - 1e-9 for a, b in pairwise(sorted(moved)))
    assert sum(moved) == pytest.approx(sum(heights))


def test_every_drawn_policy_has_a_colour_and_a_marker_of_its_own() -> None:
    wanted = set(policies.ALL) - {"plain", "token-recycling-static"}
    assert set(spec_plots._STYLES) == wanted
    for values in zip(*spec_plots._STYLES.values(), strict=True):
        assert len(set(values)) == len(wanted)
