"""Wire messages and the project's values are the same thing twice."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goose_lsp.errors import ProtocolError
from goose_lsp.ipc.messages import CompleteReply
from goose_lsp.ipc.values import (
    completion_from_wire,
    completion_to_wire,
    edits_from_wire,
    edits_to_wire,
)
from goose_lsp.request import Completion, Edit, Point, Reason

POINTS = st.builds(Point, st.integers(0, 99), st.integers(0, 99))


@given(st.lists(st.builds(Edit, POINTS, POINTS, st.text()), max_size=4))
def test_edits_come_back_as_they_were(edits: list[Edit]) -> None:
    assert edits_from_wire(edits_to_wire(edits)) == edits


@given(st.builds(Completion, st.text(), POINTS, POINTS, st.sampled_from(Reason), st.text()))
def test_completions_come_back_as_they_were(completion: Completion) -> None:
    assert completion_from_wire(completion_to_wire(7, "a", 3, completion)) == completion


@pytest.mark.parametrize(
    "edit", [[], [0, 0, 0, 0], [0, 0, 0, 0, 0], [0, 0, 0, True, "a"], [0, 0, 0, 0.0, "a"]]
)
def test_an_edit_of_another_shape_is_refused(edit: list[Any]) -> None:
    with pytest.raises(ProtocolError, match="an edit must be"):
        edits_from_wire([edit])


def test_an_unknown_reason_offers_nothing() -> None:
    completion = completion_from_wire(CompleteReply(1, "a", 1, "text", 0, 0, 0, 0, "because"))
    assert (completion.text, completion.reason) == ("", Reason.INTERNAL_ERROR)
    assert "because" in completion.detail
