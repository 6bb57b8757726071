"""Idle time goes to what comes behind the text that is shown, and to nothing else."""

from collections.abc import Callable
from dataclasses import replace

from goose_lsp.daemon.completer import Ask
from goose_lsp.daemon.lookahead import AFTER_S, LookAhead, as_if_accepted
from goose_lsp.daemon.schedule import Job, Scheduler
from goose_lsp.daemon.session import Session
from goose_lsp.ipc.messages import ChangeDocument, OpenDocument
from goose_lsp.request import Completion, Point, Reason, Trigger
from tests.daemon_rig import make_job, offer
from tests.marked import CURSOR, at_cursor


class Rig:
    """A client whose document "a" is "x = ", where "f()" is shown."""

    def __init__(self) -> None:
        self.started: list[Job] = []
        self.timers: list[tuple[float, Callable[[], None]]] = []
        self.scheduler = Scheduler(self.started.append)
        self.look_ahead = LookAhead(
            self.scheduler, lambda delay_s, call: self.timers.append((delay_s, call))
        )
        self.session = Session(1, "test")
        self.session.open(OpenDocument("a", 1, "python", "x = "))

    def show(self, text: str = "f()", *, is_new: bool = True) -> None:
        document = self.session.documents["a"]
        cursor = Point(0, len(document.text))
        ask = Ask(document, cursor, trigger=Trigger.INVOKED, path="/a")
        completion = Completion(text, cursor, cursor, Reason.OK)
        if is_new:
            self.session.suggestions("a").add(
                replace(ask, document=document.snapshot()), completion
            )
        self.look_ahead.answered(self.session, ask, completion)

    def type(self, text: str) -> None:
        document = self.session.documents["a"]
        column = len(document.text)
        version = document.version
        edit = [0, column, 0, column, text]
        assert self.session.change(ChangeDocument("a", version, version + 1, [edit]))

    def wait(self) -> None:
        for _, call in self.timers:
            call()
        self.timers.clear()


def check_accepted(marked: str, text: str, result: str, n_replaced: int = 0) -> None:
    """`result` is the text and the cursor once the suggestion is accepted."""
    document, cursor = at_cursor(marked)
    end = Point(cursor.line, cursor.column + n_replaced)
    accepted, point = as_if_accepted(document, Completion(text, cursor, end, Reason.OK))
    wanted, wanted_point = at_cursor(result)
    assert (accepted.text, point) == (wanted.text, wanted_point)
    assert document.text == marked.replace(CURSOR, "")


def test_the_cursor_stands_behind_what_was_accepted() -> None:
    check_accepted(f"x = {CURSOR}\n", "f()", f"x = f(){CURSOR}\n")
    check_accepted(f"if a:{CURSOR}\nend", "\n    b\n    c", f"if a:\n    b\n    c{CURSOR}\nend")
    check_accepted(f"f({CURSOR})", "a) + b", f"f(a) + b{CURSOR}", 1)


def test_after_a_moment_the_next_text_is_worked_on() -> None:
    rig = Rig()
    rig.show()
    assert [delay_s for delay_s, _ in rig.timers] == [AFTER_S]
    assert rig.started == []
    rig.wait()
    (job,) = rig.started
    assert (job.ask.document.text, job.ask.point) == ("x = f()", Point(0, 7))
    assert (job.ask.is_look_ahead, job.ask.trigger) == (True, Trigger.AUTOMATIC)
    assert (job.ask.path, job.key, job.is_answered) == ("/a", (1, "a"), True)
    assert rig.look_ahead.n_started == 1


def test_one_suggestion_is_looked_behind_once_however_it_is_typed() -> None:
    rig = Rig()
    rig.show()
    rig.type("f")
    rig.show("()", is_new=False)
    rig.wait()
    rig.type("(")
    rig.show(")", is_new=False)
    rig.wait()
    assert [job.ask.document.text for job in rig.started] == ["x = f()"]
    assert not rig.started[0].cancel.is_cancelled


def test_a_new_suggestion_ends_the_look_behind_the_older() -> None:
    rig = Rig()
    rig.show()
    rig.wait()
    rig.type("g")
    rig.show("h()")
    assert rig.started[0].cancel.is_cancelled


def test_a_text_that_is_being_changed_is_not_looked_behind_until_it_is_shown_again() -> None:
    rig = Rig()
    rig.show()
    rig.type("f")
    rig.wait()
    assert rig.started == []
    rig.show("()", is_new=False)
    rig.wait()
    assert len(rig.started) == 1


def test_work_that_somebody_waits_for_comes_first() -> None:
    rig = Rig()
    rig.scheduler.submit(make_job(1, uri="b"))
    rig.show()
    rig.wait()
    assert [job.request_id for job in rig.started] == [1]
    assert rig.look_ahead.n_started == 0


def test_a_request_for_any_document_ends_it() -> None:
    rig = Rig()
    rig.show()
    rig.wait()
    rig.scheduler.submit(make_job(1, session=2, uri="b"))
    (ahead,) = rig.started
    assert ahead.cancel.is_cancelled
    rig.scheduler.finish(ahead, offer("unwanted"))
    assert [job.request_id for job in rig.started] == [0, 1]


def test_a_client_that_goes_is_not_worked_for() -> None:
    rig = Rig()
    rig.show()
    rig.look_ahead.leave(Session(2, "other"))
    rig.look_ahead.leave(rig.session)
    rig.wait()
    assert rig.started == []


def test_a_closed_document_is_not_looked_into() -> None:
    rig = Rig()
    rig.show()
    rig.session.documents.clear()
    rig.wait()
    assert rig.started == []
