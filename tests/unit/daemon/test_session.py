"""A session mirrors its client's documents, or says that it does not."""

from typing import Any

import pytest

from goose_lsp.daemon.completer import Ask
from goose_lsp.daemon.session import Session
from goose_lsp.errors import ProtocolError
from goose_lsp.ipc.messages import ChangeDocument, CloseDocument, OpenDocument
from goose_lsp.ipc.uri import selection_of
from goose_lsp.request import Completion, Point, Reason


def session_with(text: str) -> Session:
    session = Session(1, "test")
    session.open(OpenDocument("a", 1, "python", text))
    return session


def test_edits_apply_in_order_each_to_the_result_of_the_one_before() -> None:
    session = session_with("ab")
    edits: list[list[Any]] = [[0, 0, 0, 1, "xyz"], [0, 3, 0, 4, "!"]]
    assert session.change(ChangeDocument("a", 1, 5, edits))
    assert (session.documents["a"].text, session.documents["a"].version) == ("xyz!", 5)


@pytest.mark.parametrize("from_version", [0, 2])
def test_edits_of_another_version_change_nothing(from_version: int) -> None:
    session = session_with("ab")
    assert not session.change(ChangeDocument("a", from_version, 3, [[0, 0, 0, 1, "x"]]))
    assert (session.documents["a"].text, session.documents["a"].version) == ("ab", 1)


def test_a_passing_copy_shares_what_was_offered_in_its_origin() -> None:
    session = session_with("ab")
    copy = selection_of("a", 1)
    session.open(OpenDocument(copy, 1, "python", "abc"))
    assert session.suggestions(copy) is session.suggestions("a")
    session.close(CloseDocument(copy))
    assert session.suggestions(copy) is session.suggestions("a")


def test_what_was_offered_goes_with_its_document() -> None:
    session = session_with("ab")
    before = session.suggestions("a")
    session.close(CloseDocument("a"))
    assert session.suggestions("a") is not before
    before = session.suggestions("a")
    session.open(OpenDocument("a", 2, "python", "ab"))
    assert session.suggestions("a") is not before


def test_an_edit_that_accepts_is_seen() -> None:
    session = session_with("ab")
    ask = Ask(session.documents["a"].snapshot(), Point(0, 2))
    completion = Completion("cd", ask.point, ask.point, Reason.OK)
    suggestions = session.suggestions("a")
    suggestions.add(ask, suggestions.offer(ask.document, completion))
    session.change(ChangeDocument("a", 1, 2, [[0, 2, 0, 2, "cd"]]))
    assert suggestions.find(Ask(session.documents["a"], Point(0, 4))) is None


def test_edits_of_an_unknown_document_are_refused() -> None:
    assert not session_with("ab").change(ChangeDocument("b", 1, 2, []))


def test_one_bad_edit_leaves_the_text_as_it_was() -> None:
    session = session_with("ab")
    with pytest.raises(ProtocolError):
        session.change(ChangeDocument("a", 1, 2, [[0, 0, 0, 1, "x"], ["?"]]))
    assert session.documents["a"].text == "ab"


def test_edits_far_outside_are_clamped() -> None:
    session = session_with("ab")
    assert session.change(ChangeDocument("a", 1, 2, [[2**63, 0, 2**63, -5, "c"]]))
    assert session.documents["a"].text == "abc"


def test_a_second_open_replaces_the_text() -> None:
    session = session_with("ab")
    session.open(OpenDocument("a", 9, "python", "new"))
    assert (session.documents["a"].text, session.documents["a"].version) == ("new", 9)


def test_closing_twice_is_closing() -> None:
    session = session_with("ab")
    session.close(CloseDocument("a"))
    session.close(CloseDocument("a"))
    assert session.documents == {}


def test_a_client_that_never_closes_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("goose_lsp.daemon.session.MAX_DOCUMENTS", 1)
    session = session_with("ab")
    session.open(OpenDocument("a", 2, "python", ""))
    with pytest.raises(ProtocolError, match="more than 1 open documents"):
        session.open(OpenDocument("b", 1, "python", ""))
