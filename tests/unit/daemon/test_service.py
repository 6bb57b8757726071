"""What the daemon does with each message; no sockets, no thread, no model."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from goose_lsp.daemon.schedule import Job, Scheduler
from goose_lsp.daemon.service import Service
from goose_lsp.daemon.worker import Worker
from goose_lsp.daemon.workspaces import Workspaces
from goose_lsp.errors import ProtocolError
from goose_lsp.ipc.messages import (
    Accepted,
    AskStatus,
    Cancel,
    ChangeDocument,
    CloseDocument,
    Complete,
    CompleteReply,
    Hello,
    Message,
    OpenDocument,
    Rejected,
    Resync,
    Shutdown,
    Status,
    encode,
)
from goose_lsp.ipc.uri import selection_of
from goose_lsp.request import Completion, Point, Reason
from tests.daemon_rig import no_model, offer


class Rig:
    """A service with one client that has opened "a" with the text "ab"."""

    def __init__(self, *, looks_ahead: bool = False) -> None:
        self.now_s = 10.0
        self.started: list[Job] = []
        self.sent: list[Message] = []
        self.timers: list[tuple[float, Callable[[], None]]] = []
        self.endings: list[bool] = []
        self.worker = Worker(no_model, lambda job, completion: None)
        self.scheduler = Scheduler(self.started.append)
        self.service = Service(
            self.worker,
            self.scheduler,
            "scripted",
            lambda: self.endings.append(True),
            lambda delay_s, call: self.timers.append((delay_s, call)),
            lambda: self.now_s,
            looks_ahead=looks_ahead,
        )
        self.session = self.service.connect("test")
        self.receive(OpenDocument("a", 1, "python", "ab"))

    def receive(self, message: Message) -> list[Message]:
        """What is sent because of it, at once."""
        n_before = len(self.sent)
        self.service.receive(self.session, message, self.send)
        return self.sent[n_before:]

    def send(self, message: Message) -> None:
        encode(message)
        self.sent.append(message)

    def replies(self) -> list[CompleteReply]:
        return [message for message in self.sent if isinstance(message, CompleteReply)]


def test_a_request_becomes_a_job_on_a_snapshot() -> None:
    rig = Rig()
    rig.receive(
        Complete(
            7, "a", 1, 0, 2, max_new_tokens=5, policy="plain", is_isolated=True, wants_trace=True
        )
    )
    rig.receive(ChangeDocument("a", 1, 2, [[0, 0, 0, 2, "other"]]))
    ask = rig.started[0].ask
    assert (ask.document.text, ask.document.version, ask.point) == ("ab", 1, Point(0, 2))
    assert (ask.max_new_tokens, ask.policy) == (5, "plain")
    assert ask.is_isolated
    assert ask.wants_trace


def test_an_answer_carries_the_request_and_its_document() -> None:
    rig = Rig()
    rig.receive(Complete(7, "a", 1, 0, 2))
    completion = replace(offer("text"), start=Point(0, 1), end=Point(0, 2), stats={"n_tokens": 3})
    rig.scheduler.finish(rig.started[0], completion)
    assert rig.sent == [CompleteReply(7, "a", 1, "text", 0, 1, 0, 2, "ok", "", {"n_tokens": 3})]


def test_a_change_that_does_not_fit_asks_for_the_text_again() -> None:
    rig = Rig()
    assert rig.receive(ChangeDocument("a", 3, 4, [])) == [Resync("a")]
    assert rig.receive(ChangeDocument("b", 1, 2, [])) == [Resync("b")]
    assert rig.receive(ChangeDocument("a", 1, 2, [])) == []


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        (Complete(1, "b", 1, 0, 0), Reason.UNKNOWN_DOCUMENT),
        (Complete(1, "a", 0, 0, 0), Reason.STALE_VERSION),
        (Complete(1, "a", 1, 0, 3), Reason.POSITION_OUTSIDE),
        (Complete(1, "a", 1, 1, 0), Reason.POSITION_OUTSIDE),
        (Complete(1, "a", 1, -1, 0), Reason.POSITION_OUTSIDE),
        (Complete(1, "a", 1, 2**63, 2**63), Reason.POSITION_OUTSIDE),
    ],
)
def test_a_request_that_cannot_be_right_is_answered_without_work(
    request_: Complete, reason: Reason
) -> None:
    rig = Rig()
    rig.receive(request_)
    assert [reply.reason for reply in rig.replies()] == [reason]
    assert rig.started == []


def test_an_unknown_document_is_asked_for_before_the_answer() -> None:
    first, second = Rig().receive(Complete(1, "b", 1, 0, 0))
    assert first == Resync("b")
    assert isinstance(second, CompleteReply)


def test_a_version_the_daemon_never_got_is_asked_for() -> None:
    first, second = Rig().receive(Complete(1, "a", 9, 0, 0))
    assert first == Resync("a")
    assert isinstance(second, CompleteReply)
    assert second.reason == Reason.STALE_VERSION


def test_cancel_is_answered_at_once_and_once() -> None:
    rig = Rig()
    rig.receive(Complete(1, "a", 1, 0, 0))
    (reply,) = rig.receive(Cancel(1))
    assert isinstance(reply, CompleteReply)
    assert reply.reason == Reason.CANCELLED
    rig.scheduler.finish(rig.started[0], offer("late"))
    assert rig.receive(Cancel(1)) == []
    assert len(rig.replies()) == 1


def test_a_deadline_is_on_the_token_and_on_the_loop() -> None:
    rig = Rig()
    rig.receive(Complete(1, "a", 1, 0, 0, deadline_ms=500))
    assert [delay_s for delay_s, _ in rig.timers] == [0.5]
    assert not rig.started[0].cancel.is_expired
    rig.now_s += 0.5
    assert rig.started[0].cancel.is_expired


@pytest.mark.parametrize("deadline_ms", [0, -1])
def test_no_deadline_is_no_timer(deadline_ms: int) -> None:
    rig = Rig()
    rig.receive(Complete(1, "a", 1, 0, 0, deadline_ms=deadline_ms))
    rig.now_s += 1e9
    assert rig.timers == []
    assert not rig.started[0].cancel.is_cancelled


def test_a_deadline_is_kept_although_the_model_still_loads() -> None:
    rig = Rig()
    rig.receive(Complete(1, "a", 1, 0, 0, deadline_ms=500))
    rig.worker.model_state = "loading"
    rig.timers[0][1]()
    assert [reply.reason for reply in rig.replies()] == [Reason.MODEL_LOADING]


def test_statistics_that_the_wire_does_not_know_cost_one_answer_only(
    caplog: pytest.LogCaptureFixture,
) -> None:
    rig = Rig()
    rig.receive(Complete(5, "a", 1, 0, 1))
    rig.receive(OpenDocument("b", 1, "python", ""))
    rig.receive(Complete(6, "b", 1, 0, 0))
    rig.scheduler.finish(rig.started[0], replace(offer("x"), stats={"odd": object()}))
    assert [reply.reason for reply in rig.replies()] == [Reason.INTERNAL_ERROR]
    assert "request 5" in caplog.text
    assert rig.started[1].request_id == 6


def test_a_client_that_goes_takes_documents_and_work_with_it() -> None:
    rig = Rig()
    rig.receive(Complete(1, "a", 1, 0, 0))
    rig.service.disconnect(rig.session)
    assert rig.started[0].cancel.is_cancelled
    assert rig.service.n_clients == 0


def test_clients_do_not_see_each_others_documents() -> None:
    rig = Rig()
    other = rig.service.connect("other")
    rig.service.receive(other, Complete(1, "a", 1, 0, 0), rig.send)
    assert [reply.reason for reply in rig.replies()] == [Reason.UNKNOWN_DOCUMENT]


def test_status_counts_requests_and_answers() -> None:
    rig = Rig()
    rig.receive(Complete(1, "a", 1, 0, 0))
    rig.scheduler.finish(rig.started[0], offer("x"))
    rig.receive(Complete(2, "a", 0, 0, 0))
    rig.receive(Complete(3, "a", 1, 0, 0))
    rig.now_s += 60
    (status,) = rig.receive(AskStatus(4))
    assert isinstance(status, Status)
    assert (status.request_id, status.uptime_s, status.model_state) == (4, 60.0, "idle")
    assert (status.n_clients, status.n_documents) == (1, 1)
    assert status.counters["requests"] == 3
    assert status.counters["answered"] == {"ok": 1, "stale-version": 1}


TYPED = "const a = "


class TypingRig(Rig):
    """A client that types into "const a = ", and a model that has always the same to say."""

    def __init__(self, *, looks_ahead: bool = False) -> None:
        super().__init__(looks_ahead=looks_ahead)
        self.receive(OpenDocument("a", 1, "python", TYPED))
        self.version, self.text, self.n_asked = 1, TYPED, 0

    def become(self, text: str) -> None:
        """The editor's text is now this one."""
        edit = [0, 0, 0, len(self.text), text]
        self.receive(ChangeDocument("a", self.version, self.version + 1, [edit]))
        self.version, self.text = self.version + 1, text

    def ask(self, **wishes: Any) -> list[Message]:
        self.n_asked += 1
        place = (self.version, 0, len(self.text))
        return self.receive(Complete(self.n_asked, "a", *place, **wishes))

    def finish(self, text: str = "fn(b);") -> None:
        job = self.started.pop(0)
        completion = Completion(text, job.ask.point, job.ask.point, Reason.OK)
        self.service.finish(job, completion)

    def answer(self) -> tuple[str, str]:
        reply = self.replies()[-1]
        return reply.text, reply.reason

    def counters(self) -> dict[str, Any]:
        (status,) = self.receive(AskStatus(999))
        assert isinstance(status, Status)
        return status.counters


def test_typing_along_needs_the_model_once() -> None:
    rig = TypingRig()
    rig.ask()
    rig.finish()
    shown = []
    for text in ("f", "fn", "fn(", "fn(b", "fn(b)", "fn(b);", "fn(", ""):
        rig.become(TYPED + text)
        rig.ask()
        shown.append(rig.answer())
    left = ["n(b);", "(b);", "b);", ");", ";", "", "b);", "fn(b);"]
    assert shown == [(text, "ok" if text else "all-typed") for text in left]
    assert rig.started == []
    assert rig.replies()[-2].stats == {
        "from_cache": True,
        "is_look_ahead": False,
        "n_typed": 3,
        "total_ms": 0.0,
    }
    counters = rig.counters()
    assert (counters["from_cache"], counters["typed_through"]) == (8, 7)


@pytest.mark.parametrize(
    "wish", [{"is_isolated": True}, {"wants_trace": True}, {"policy": "plain"}]
)
def test_a_request_with_wishes_of_its_own_neither_uses_nor_fills_what_is_kept(
    wish: dict[str, Any],
) -> None:
    rig = TypingRig()
    rig.ask(**wish)
    rig.finish("g()")
    rig.ask()
    rig.finish()
    rig.ask(**wish)
    assert len(rig.started) == 1
    rig.finish("g()")
    rig.ask()
    assert rig.answer() == ("fn(b);", "ok")


def test_an_answer_without_work_comes_while_the_model_is_busy_and_supersedes_it() -> None:
    rig = TypingRig()
    rig.ask()
    rig.finish()
    rig.become("other")
    rig.ask()
    rig.become(TYPED + "fn")
    first, second = rig.ask()
    assert isinstance(first, CompleteReply)
    assert isinstance(second, CompleteReply)
    assert (first.reason, second.text) == (Reason.SUPERSEDED, "(b);")
    assert rig.started[0].cancel.is_cancelled


def test_work_that_was_given_up_is_kept_all_the_same() -> None:
    rig = TypingRig()
    rig.ask()
    rig.become(TYPED + "q")
    rig.ask()
    rig.finish()
    rig.become(TYPED + "f")
    rig.ask()
    assert rig.answer() == ("n(b);", "ok")


def test_what_a_model_says_of_a_closed_document_is_not_kept() -> None:
    rig = TypingRig()
    rig.ask()
    rig.receive(CloseDocument("a"))
    rig.finish()
    assert rig.session._suggestions == {}


def test_work_under_way_serves_the_text_typed_on() -> None:
    rig = TypingRig()
    rig.ask()
    rig.started[0].ask.on_text("fn")
    rig.become(TYPED + "f")
    rig.ask()
    rig.finish()
    reply = rig.replies()[-1]
    assert (reply.request_id, reply.text, reply.version) == (2, "n(b);", 2)
    assert reply.stats == {"is_adopted": True, "n_typed": 1}
    assert rig.counters()["adopted"] == 1


def test_what_was_accepted_is_not_offered_again_until_something_changes() -> None:
    rig = TypingRig()
    rig.ask()
    rig.finish()
    rig.receive(Accepted("a", "fn(b);"))
    rig.become(TYPED + "fn(b);")
    rig.ask()
    rig.finish("fn(b);")
    assert rig.answer() == ("", "just-accepted")
    rig.become(TYPED + "fn(b); ")
    rig.ask()
    rig.finish("fn(b);")
    assert rig.answer() == ("fn(b);", "ok")
    assert rig.counters()["accepted"] == 1


def test_what_was_rejected_is_asked_anew() -> None:
    rig = TypingRig()
    rig.ask()
    rig.finish()
    rig.receive(Rejected("a", "fn(b);"))
    rig.receive(Rejected("unknown", "fn(b);"))
    rig.ask()
    assert len(rig.started) == 1
    assert rig.counters()["rejected"] == 1


def test_idle_time_brings_the_next_suggestion_which_is_there_once_this_one_is_accepted() -> None:
    rig = TypingRig(looks_ahead=True)
    rig.ask()
    rig.finish()
    rig.timers.pop()[1]()
    assert rig.started[0].ask.document.text == TYPED + "fn(b);"
    rig.finish("\ng();")
    assert rig.replies()[-1].text == "fn(b);"
    rig.receive(Accepted("a", "fn(b);"))
    rig.become(TYPED + "fn(b);")
    rig.ask()
    assert rig.answer() == ("\ng();", "ok")
    counters = rig.counters()
    assert (counters["look_aheads"], counters["look_aheads_used"]) == (1, 1)


def test_without_looking_ahead_idle_time_is_idle() -> None:
    rig = TypingRig()
    rig.ask()
    rig.finish()
    assert rig.timers == []


@pytest.mark.parametrize(
    ("wish", "unit"),
    [
        ({}, ""),
        ({"tab_size": 2}, "  "),
        ({"tab_size": 2, "insert_spaces": False}, "\t"),
        ({"tab_size": -1}, ""),
        ({"tab_size": 1000}, ""),
    ],
)
def test_what_the_editor_indents_with_reaches_the_model(wish: dict[str, Any], unit: str) -> None:
    rig = TypingRig()
    rig.ask(**wish)
    assert rig.started[0].ask.indent_unit == unit


def test_a_passing_copy_is_no_file_of_the_workspace(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(
        Workspaces, "document_changed", lambda _, session, uri, text: told.append(uri)
    )
    rig = Rig()
    rig.receive(OpenDocument(selection_of("a", 1), 1, "python", "abc"))
    rig.receive(CloseDocument(selection_of("a", 1)))
    assert told == ["a"]


def test_a_passing_copy_of_a_secret_file_is_secret_too() -> None:
    rig = Rig()
    uri = selection_of("file:///a/.env", 1)
    rig.receive(OpenDocument(uri, 1, "", "KEY="))
    rig.receive(Complete(1, uri, 1, 0, 4))
    assert [reply.reason for reply in rig.replies()] == [Reason.IGNORED_FILE]


def test_a_closed_document_is_unknown() -> None:
    rig = Rig()
    rig.receive(CloseDocument("a"))
    rig.receive(Complete(1, "a", 1, 0, 0))
    assert [reply.reason for reply in rig.replies()] == [Reason.UNKNOWN_DOCUMENT]


def test_shutdown_is_passed_on() -> None:
    rig = Rig()
    rig.receive(Shutdown())
    assert rig.endings == [True]


@pytest.mark.parametrize("message", [Resync("a"), Hello(1, "0", "again")])
def test_a_message_that_no_client_sends_is_refused(message: Message) -> None:
    with pytest.raises(ProtocolError, match=f"does not send {type(message).__name__}"):
        Rig().receive(message)
