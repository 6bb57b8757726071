from pathlib import Path
from typing import Any

import pytest

from benchmarks import measures, spec_plots
from benchmarks.spec_plots import _apart, save_plots
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


def test_labels_keep_a_distance_and_their_order() -> None:
    assert _apart([2.0, 1.0, 1.05], gap=0.5) == [2.0, 1.0, 1.5]
