"""A session against a scripted daemon: what is asked, what is answered, what is remembered."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from lsprotocol import types as lsp

from goose_lsp.lsp.convert import Encoding, to_inline_list, to_position
from goose_lsp.lsp.options import ClientOptions
from goose_lsp.lsp.session import Answer, CursorRequest, Session
from goose_lsp.request import Completion, Point, Reason
from goose_lsp.text.document import Document
from tests.scripted_daemon import ScriptedDaemon, insert

URI = "file:///a.py"
TEXT = st.lists(st.sampled_from([*"ab\n\r\f", "é", "漢", "🥸"]), max_size=10).map("".join)


def run(
    text: str,
    scenario: Callable[[Session, ScriptedDaemon], Awaitable[Any]],
    encoding: Encoding = Encoding.UTF16,
) -> Any:
    """Open `text` as version 5 and play the scenario."""

    async def play() -> Any:
        session = Session(ScriptedDaemon)
        daemon = session.daemon
        assert isinstance(daemon, ScriptedDaemon)
        session.encoding = encoding
        session.open(Document(URI, 5, "python", text))
        return await scenario(session, daemon)

    return asyncio.run(play())


def request(line: int, character: int, **more: Any) -> CursorRequest:
    return CursorRequest(URI, lsp.Position(line, character), ClientOptions(), **more)


def change(start: tuple[int, int], end: tuple[int, int], text: str) -> list[Any]:
    span = lsp.Range(lsp.Position(*start), lsp.Position(*end))
    return [lsp.TextDocumentContentChangePartial(span, text)]


def check(text: str, at: tuple[int, int], reply: str, wanted: str) -> Answer:
    async def scenario(session: Session, daemon: ScriptedDaemon) -> Answer:
        daemon.reply = insert(reply)
        return await session.complete(request(*at))

    answer: Answer = run(text, scenario)
    assert answer.completion.text == wanted
    return answer


@pytest.mark.parametrize("odd", ["\f", "\v", "\x1c", "\x85", "\u2028"])
def test_a_change_lands_on_the_line_that_the_editor_means(odd: str) -> None:
    async def scenario(session: Session, daemon: ScriptedDaemon) -> str:
        session.change(URI, 6, change((1, 0), (1, 0), "X"))
        await session.complete(request(0, 0))
        return daemon.documents[URI].text

    assert run(f"a = 1{odd}b = 2\nc = 3\n", scenario) == f"a = 1{odd}b = 2\nXc = 3\n"


def test_an_answer_made_for_an_older_version_is_not_offered() -> None:
    async def scenario(session: Session, daemon: ScriptedDaemon) -> Answer:
        daemon.reply = insert("def")
        daemon.gate.clear()
        asking = asyncio.create_task(session.complete(request(0, 3)))
        await daemon.has_asked.wait()
        session.change(URI, 6, change((0, 0), (0, 3), ""))
        daemon.gate.set()
        answer = await asking
        assert session.last is answer.completion
        return answer

    answer = run("abc", scenario)
    assert (answer.completion.text, answer.completion.reason) == ("", Reason.STALE_VERSION)


def test_a_document_closed_and_opened_again_is_not_the_one_asked_about() -> None:
    async def scenario(session: Session, daemon: ScriptedDaemon) -> Reason:
        daemon.reply = insert("def")
        daemon.gate.clear()
        asking = asyncio.create_task(session.complete(request(0, 3)))
        await daemon.has_asked.wait()
        session.close(URI)
        session.open(Document(URI, 5, "python", "xyz"))
        daemon.gate.set()
        return (await asking).completion.reason

    assert run("abc", scenario) is Reason.STALE_VERSION


@given(
    TEXT,
    st.integers(0, 6),
    st.integers(0, 12),
    st.tuples(st.integers(-2, 3), st.integers(-2, 3)),
    st.sampled_from(["", "x", "a\r\nb", "y\n"]),
    st.sampled_from(list(Encoding)),
)
@example("aa", 0, 0, (1, 0), "x", Encoding.UTF8)
@example("aa", 0, 2, (0, 1), "x", Encoding.UTF8)
def test_an_item_has_one_line_with_the_cursor_inside(
    text: str, line: int, units: int, reach: tuple[int, int], reply: str, encoding: Encoding
) -> None:
    async def scenario(session: Session, daemon: ScriptedDaemon) -> Answer:
        daemon.reply = lambda _document, point: Completion(
            reply,
            Point(point.line, point.column - reach[0]),
            Point(point.line, point.column + reach[1]),
            Reason.OK,
        )
        return await session.complete(request(line, units))

    answer = run(text, scenario, encoding)
    for item in to_inline_list(answer.document, answer.completion, encoding).items:
        cursor = to_position(answer.document, answer.point, encoding)
        assert item.range is not None
        assert item.range.start.line == item.range.end.line == cursor.line
        assert 0 <= item.range.start.character <= cursor.character <= item.range.end.character
        assert answer.document.contains(answer.completion.end)
        assert isinstance(item.insert_text, str)
        assert item.insert_text
        assert "\r" not in item.insert_text


@pytest.mark.parametrize(("text", "at"), [("", (0, 0)), ("a", (0, 1)), ("a\nb", (6, 99))])
def test_the_ends_of_a_text_are_ordinary_places(text: str, at: tuple[int, int]) -> None:
    answer = check(text, at, "x", "x")
    assert answer.document.contains(answer.point)


def test_line_ends_in_an_answer_are_line_feeds() -> None:
    check("a\r\n", (0, 1), "b\r\nc\rd", "b\nc\nd")


def test_text_that_is_already_there_is_not_offered() -> None:
    async def scenario(session: Session, daemon: ScriptedDaemon) -> Completion:
        daemon.reply = lambda _document, _point: Completion(
            "bc", Point(0, 1), Point(0, 3), Reason.OK
        )
        return (await session.complete(request(0, 1))).completion

    completion = run("abc", scenario)
    assert (completion.text, completion.reason) == ("", Reason.NOTHING_TO_ADD)


def test_a_document_that_is_not_open_is_a_reason() -> None:
    async def scenario(session: Session, _daemon: ScriptedDaemon) -> Reason:
        session.close(URI)
        session.change(URI, 7, change((0, 0), (0, 0), "x"))
        return (await session.complete(request(0, 0))).completion.reason

    assert run("a", scenario) is Reason.UNKNOWN_DOCUMENT


def test_a_failing_daemon_client_is_an_empty_answer(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(session: Session, daemon: ScriptedDaemon) -> Reason:
        def fail(_document: Document, _point: Point) -> Completion:
            raise ValueError("broken")

        daemon.reply = fail
        return (await session.complete(request(0, 0))).completion.reason

    assert run("a", scenario) is Reason.INTERNAL_ERROR
    assert "request failed" in caplog.text


def test_a_deadline_answers_in_place_of_a_slow_daemon() -> None:
    async def scenario(session: Session, daemon: ScriptedDaemon) -> Reason:
        daemon.gate.clear()
        return (await session.complete(request(0, 0, deadline_ms=1))).completion.reason

    assert run("a", scenario) is Reason.DEADLINE


def test_a_cancelled_request_is_remembered_as_such() -> None:
    async def scenario(session: Session, daemon: ScriptedDaemon) -> Reason:
        daemon.gate.clear()
        asking = asyncio.create_task(session.complete(request(0, 0)))
        await daemon.has_asked.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert session.last is not None
        return session.last.reason

    assert run("a", scenario) is Reason.CANCELLED


def test_a_selected_menu_entry_is_completed_as_if_accepted_and_leaves_no_copy() -> None:
    async def scenario(session: Session, daemon: ScriptedDaemon) -> Completion:
        daemon.reply = insert('("hi")')
        span = lsp.Range(lsp.Position(0, 7), lsp.Position(0, 8))
        selected = lsp.SelectedCompletionInfo(span, ".log")
        answer = await session.complete(request(0, 8, selected=selected))
        assert [asked["text"] for asked in daemon.asked] == ["console.log"]
        await session.complete(request(0, 0))
        assert list(daemon.documents) == [URI]
        assert daemon.documents[URI].text == "console."
        return answer.completion

    completion = run("console.", scenario)
    assert completion == Completion('.log("hi")', Point(0, 7), Point(0, 8), Reason.OK)


def test_options_reach_the_daemon() -> None:
    async def scenario(session: Session, daemon: ScriptedDaemon) -> dict[str, Any]:
        options = ClientOptions(None, True, True, "plain", 9)
        await session.complete(CursorRequest(URI, lsp.Position(0, 0), options))
        return daemon.asked[0]

    asked = run("a", scenario)
    assert (asked["policy"], asked["max_new_tokens"]) == ("plain", 9)
    assert asked["wants_trace"]
    assert asked["is_isolated"]


def test_a_daemon_that_lost_a_document_gets_the_present_text() -> None:
    async def scenario(session: Session, daemon: ScriptedDaemon) -> None:
        session.change(URI, 6, change((0, 1), (0, 1), "b"))
        assert daemon.document_text(URI) == (6, "python", "ab")
        assert daemon.document_text("file:///other") is None

    run("a", scenario)
