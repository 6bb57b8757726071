from dataclasses import FrozenInstanceError

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goose_lsp.request import Completion, Point, Reason, Trigger

places = st.tuples(st.integers(0, 9), st.integers(0, 9))


@given(places, places)
def test_points_are_ordered_as_in_the_text(first: tuple[int, int], second: tuple[int, int]) -> None:
    assert (Point(*first) < Point(*second)) == (first < second)


def test_a_point_cannot_be_moved() -> None:
    with pytest.raises(FrozenInstanceError):
        Point(1, 2).line = 3  # type: ignore[misc]


def test_reasons_and_triggers_are_their_own_wire_text() -> None:
    assert f"{Reason.NOTHING_TO_ADD}" == "nothing-to-add"
    assert Reason("stale-version") is Reason.STALE_VERSION
    assert Trigger("automatic") is Trigger.AUTOMATIC


def test_completions_do_not_share_their_stats() -> None:
    here = Point(0, 0)
    first = Completion("a", here, here, Reason.OK)
    first.stats["n_tokens"] = 1
    assert Completion("b", here, here, Reason.OK).stats == {}
