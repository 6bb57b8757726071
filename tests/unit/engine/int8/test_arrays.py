"""The layout's promises that other modules build on."""

from goose_lsp.engine.int8.arrays import ATTENTION_ROWS, BLOCK, PANEL
from goose_lsp.engine.int8.rows import GROUP
from goose_lsp.engine.int8.tile import STEPS


def test_blocks_and_groups_are_whole_rounds_of_steps() -> None:
    """A tile that keeps several sums in flight leaves no step over."""
    assert BLOCK % (4 * STEPS) == 0
    assert GROUP % (4 * STEPS) == 0


def test_whole_vectors_fill_panels_and_blocks() -> None:
    assert PANEL % 16 == 0
    assert BLOCK % 16 == 0
    assert ATTENTION_ROWS > 0
