from itertools import product
from math import prod

from hypothesis import given
from hypothesis import strategies as st

from goose_lsp.draft.baselines.builder import Limits, TreeBuilder
from goose_lsp.draft.baselines.template import Template, fill, likely_template
from tests.drafts import never, paths


def rank_paths(template: Template) -> list[tuple[int, ...]]:
    found: list[tuple[int, ...]] = [()]
    for parent, rank in template:
        found.append((*found[parent], rank))
    return found[1:]


def test_the_most_likely_paths_come_first() -> None:
    # products: 0 → .5, 00 → .25, 1 → .2, 000 → .125, 01 and 10 → .1
    template = likely_template((0.5, 0.2), (2, 4, 8), 5)
    assert rank_paths(template) == [(0,), (0, 0), (1,), (0, 0, 0), (0, 1)]


def test_a_full_level_sends_the_rest_elsewhere() -> None:
    template = likely_template((0.5, 0.2), (1, 1, 2), 9)
    assert rank_paths(template) == [(0,), (0, 0), (0, 0, 0), (0, 0, 1)]


@given(
    st.lists(st.floats(0.01, 0.9), min_size=1, max_size=3),
    st.lists(st.integers(1, 9), min_size=1, max_size=3),
    st.integers(0, 12),
)
def test_without_a_full_level_no_other_paths_are_more_likely(
    rates: list[float], level_sizes: list[int], n: int
) -> None:
    """The oracle: all paths sorted by product, where levels are as wide as they can get."""
    wide = [len(rates) ** depth for depth in range(1, len(level_sizes) + 1)]
    chosen = rank_paths(likely_template(rates, wide, n))
    values = sorted(
        (
            prod(rates[rank] for rank in path)
            for depth in range(1, len(wide) + 1)
            for path in product(range(len(rates)), repeat=depth)
        ),
        reverse=True,
    )
    got = sorted((prod(rates[rank] for rank in path) for path in chosen), reverse=True)
    assert all(abs(a - b) < 1e-12 for a, b in zip(got, values, strict=False))
    assert len(got) == min(n, len(values))


def test_filling_leaves_out_what_is_not_listed_and_all_below_it() -> None:
    listed = {5: [1, 2], 1: [3]}
    builder = TreeBuilder([5], Limits(9, 9, never))
    template = [(0, 0), (0, 1), (0, 2), (3, 0), (1, 0), (1, 1), (2, 0)]
    fill(builder, template, lambda previous, current: listed.get(current, []))
    assert paths(builder.build()) == [(1,), (2,), (1, 3)]


def test_filling_looks_up_a_node_with_the_token_before_it() -> None:
    asked: list[tuple[int, int]] = []

    def ranked(previous: int, current: int) -> list[int]:
        asked.append((previous, current))
        return [current + 1]

    fill(TreeBuilder([4, 5], Limits(9, 9, never)), [(0, 0), (1, 0)], ranked)
    assert asked == [(4, 5), (5, 6)]
