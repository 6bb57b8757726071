"""Newest wins, documents take turns, and every request is answered exactly once."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from goose_lsp.cancel import CancelToken
from goose_lsp.daemon.schedule import LINGER_S, Job, Scheduler
from goose_lsp.request import Completion, Reason
from tests.daemon_rig import make_job, offer

Answers = list[tuple[int, Completion]]


def reasons(answers: Answers) -> list[tuple[int, Reason]]:
    return [(number, completion.reason) for number, completion in answers]


def is_stopped(job: Job) -> bool:
    return job.cancel.is_cancelled


def scheduler_with(started: list[Job]) -> Scheduler:
    return Scheduler(started.append)


def test_one_job_at_a_time_is_worked_on() -> None:
    started: list[Job] = []
    answers: Answers = []
    scheduler = scheduler_with(started)
    scheduler.submit(make_job(1, uri="a", answers=answers))
    scheduler.submit(make_job(2, uri="b", answers=answers))
    assert [job.request_id for job in started] == [1]
    scheduler.finish(started[0], offer("x"))
    assert [job.request_id for job in started] == [1, 2]
    assert reasons(answers) == [(1, Reason.OK)]


def test_a_newer_request_supersedes_a_pending_one_without_work() -> None:
    started: list[Job] = []
    answers: Answers = []
    scheduler = scheduler_with(started)
    scheduler.submit(make_job(1, uri="a", answers=answers))
    scheduler.submit(make_job(2, uri="b", answers=answers))
    scheduler.submit(make_job(3, uri="b", answers=answers))
    assert reasons(answers) == [(2, Reason.SUPERSEDED)]
    scheduler.finish(started[0], offer(""))
    assert [job.request_id for job in started] == [1, 3]


def test_a_newer_request_stops_the_running_one_and_answers_it_at_once() -> None:
    started: list[Job] = []
    answers: Answers = []
    scheduler = scheduler_with(started)
    scheduler.submit(make_job(1, answers=answers))
    scheduler.submit(make_job(2, answers=answers))
    assert started[0].cancel.is_cancelled
    scheduler.finish(started[0], offer("too late"))
    assert reasons(answers) == [(1, Reason.SUPERSEDED)]
    assert started[1].request_id == 2


def test_the_same_document_of_another_client_is_another_document() -> None:
    started: list[Job] = []
    answers: Answers = []
    scheduler = scheduler_with(started)
    scheduler.submit(make_job(1, session=1, answers=answers))
    scheduler.submit(make_job(2, session=2, answers=answers))
    assert answers == []
    assert not started[0].cancel.is_cancelled


def test_typing_on_keeps_the_place_in_the_queue() -> None:
    started: list[Job] = []
    scheduler = scheduler_with(started)
    for number, uri in enumerate("abcb"):
        scheduler.submit(make_job(number, uri=uri))
    scheduler.finish(started[0], offer(""))
    assert started[1].request_id == 3


def test_a_cancelled_pending_request_is_never_started() -> None:
    started: list[Job] = []
    answers: Answers = []
    scheduler = scheduler_with(started)
    scheduler.submit(make_job(1, uri="a", answers=answers))
    scheduler.submit(make_job(2, uri="b", answers=answers))
    scheduler.stop(1, 2)
    scheduler.finish(started[0], offer(""))
    assert reasons(answers) == [(2, Reason.CANCELLED), (1, Reason.OK)]
    assert len(started) == 1


def test_nobody_cancels_for_another_client() -> None:
    started: list[Job] = []
    scheduler = scheduler_with(started)
    scheduler.submit(make_job(1, session=1))
    scheduler.stop(2, 1)
    assert not started[0].cancel.is_cancelled


def test_a_client_that_goes_takes_its_work_with_it() -> None:
    started: list[Job] = []
    answers: Answers = []
    scheduler = scheduler_with(started)
    for number, (session, uri) in enumerate([(1, "a"), (1, "b"), (2, "a")]):
        scheduler.submit(make_job(number, session=session, uri=uri, answers=answers))
    scheduler.drop(1)
    assert started[0].cancel.is_cancelled
    scheduler.finish(started[0], offer(""))
    assert [job.request_id for job in started] == [0, 2]
    assert answers == []


def test_a_deadline_in_the_queue_is_answered_there() -> None:
    started: list[Job] = []
    answers: Answers = []
    scheduler = scheduler_with(started)
    waiting = make_job(2, uri="b", answers=answers)
    scheduler.submit(make_job(1, uri="a"))
    scheduler.submit(waiting)
    scheduler.expire(waiting, is_loading=False)
    scheduler.finish(started[0], offer(""))
    assert reasons(answers) == [(2, Reason.DEADLINE)]
    assert len(started) == 1


def test_a_deadline_while_the_model_loads_is_answered_so() -> None:
    started: list[Job] = []
    answers: Answers = []
    scheduler = scheduler_with(started)
    scheduler.submit(make_job(1, answers=answers))
    scheduler.expire(started[0], is_loading=True)
    assert reasons(answers) == [(1, Reason.MODEL_LOADING)]


def test_a_deadline_during_work_is_left_to_the_work() -> None:
    started: list[Job] = []
    answers: Answers = []
    scheduler = scheduler_with(started)
    scheduler.submit(make_job(1, answers=answers))
    scheduler.expire(started[0], is_loading=False)
    scheduler.finish(started[0], offer("in time"))
    assert reasons(answers) == [(1, Reason.OK)]


def test_a_deadline_after_the_answer_changes_nothing() -> None:
    started: list[Job] = []
    answers: Answers = []
    scheduler = scheduler_with(started)
    job = make_job(1, answers=answers)
    scheduler.submit(job)
    scheduler.finish(job, offer("x"))
    newer = make_job(2, answers=answers)
    scheduler.submit(newer)
    scheduler.expire(job, is_loading=True)
    assert reasons(answers) == [(1, Reason.OK)]
    assert not newer.cancel.is_cancelled


class Typing:
    """A schedule with a running job for the document "x" and what becomes of the user's typing on."""

    def __init__(self, decoded: str = "", token: CancelToken | None = None) -> None:
        self.started: list[Job] = []
        self.answers: Answers = []
        self.timers: list[tuple[float, Callable[[], None]]] = []
        self.scheduler = Scheduler(
            self.started.append, lambda delay_s, call: self.timers.append((delay_s, call))
        )
        self.submit(1, "x", token)
        self.running = self.started[0]
        self.running.ask.on_text(decoded)

    def submit(self, number: int, text: str, token: CancelToken | None = None) -> Job:
        job = make_job(number, text=text, token=token, answers=self.answers)
        self.scheduler.submit(job)
        return job

    def finish(self, text: str, reason: Reason = Reason.OK) -> None:
        point = self.running.ask.point
        self.scheduler.finish(self.running, Completion(text, point, point, reason))

    def answered(self) -> list[tuple[int, str, Reason]]:
        return [(number, made.text, made.reason) for number, made in self.answers]


def test_work_that_goes_as_the_user_types_serves_the_newest_request() -> None:
    typing = Typing(decoded="ab")
    typing.submit(2, "xa")
    typing.submit(3, "xabc")
    assert not is_stopped(typing.running)
    assert reasons(typing.answers) == [(1, Reason.SUPERSEDED), (2, Reason.SUPERSEDED)]
    typing.finish("abcd")
    assert typing.answered()[2:] == [(3, "d", Reason.OK)]
    assert (len(typing.started), typing.scheduler.n_adopted) == (1, 1)


def test_the_same_text_asked_for_again_is_worked_on_once() -> None:
    typing = Typing()
    typing.submit(2, "x")
    typing.finish("ab")
    assert typing.answered() == [(1, "", Reason.SUPERSEDED), (2, "ab", Reason.OK)]


def test_other_typing_stops_the_work_and_starts_anew() -> None:
    for decoded, typed in (("ab", "xc"), ("", "xa")):
        typing = Typing(decoded)
        typing.submit(2, typed)
        assert is_stopped(typing.running)
        typing.finish("ab")
        assert [job.request_id for job in typing.started] == [1, 2]


def test_work_that_goes_another_way_after_all_is_stopped_at_once_and_done_anew_first() -> None:
    typing = Typing(decoded="a")
    typing.scheduler.submit(make_job(9, uri="b"))
    typing.submit(2, "xab")
    typing.running.ask.on_text("ac")
    assert is_stopped(typing.running)
    typing.finish("", Reason.CANCELLED)
    assert [job.request_id for job in typing.started] == [1, 2]
    assert not is_stopped(typing.started[1])


def test_a_request_that_no_longer_agrees_takes_the_place_of_one_that_did() -> None:
    typing = Typing(decoded="ab")
    typing.submit(2, "xa")
    typing.submit(3, "xc")
    assert is_stopped(typing.running)
    typing.finish("abc")
    assert reasons(typing.answers) == [(1, Reason.SUPERSEDED), (2, Reason.SUPERSEDED)]
    assert typing.started[1].request_id == 3


def test_work_that_is_stopped_is_not_adopted() -> None:
    typing = Typing(decoded="ab")
    typing.submit(2, "xc")
    typing.submit(3, "xa")
    typing.finish("abc")
    assert typing.started[1].request_id == 3


def test_a_cancelled_request_leaves_its_work_for_a_moment_to_the_next() -> None:
    typing = Typing(decoded="ab")
    typing.scheduler.stop(1, 1)
    assert reasons(typing.answers) == [(1, Reason.CANCELLED)]
    assert [delay_s for delay_s, _ in typing.timers] == [LINGER_S]
    typing.submit(2, "xa")
    typing.timers[0][1]()
    assert not is_stopped(typing.running)
    typing.scheduler.stop(1, 2)
    typing.timers[1][1]()
    assert is_stopped(typing.running)
    typing.finish("", Reason.CANCELLED)
    assert reasons(typing.answers) == [(1, Reason.CANCELLED), (2, Reason.CANCELLED)]


def test_cancelled_work_that_has_decoded_nothing_ends_at_once() -> None:
    typing = Typing()
    typing.scheduler.stop(1, 1)
    assert is_stopped(typing.running)
    assert typing.timers == []


def test_the_moment_of_finished_work_ends_nothing_else() -> None:
    typing = Typing(decoded="ab")
    typing.scheduler.stop(1, 1)
    typing.finish("ab")
    newer = typing.submit(2, "xq")
    typing.timers[0][1]()
    assert not is_stopped(newer)


def test_work_has_the_deadline_of_the_request_it_serves() -> None:
    now = 0.0
    typing = Typing("ab", CancelToken(1.0, lambda: now))
    newer = typing.submit(2, "xa", CancelToken(5.0, lambda: now))
    now = 1.0
    typing.scheduler.expire(typing.running, is_loading=True)
    assert not is_stopped(typing.running)
    typing.scheduler.expire(newer, is_loading=False)
    assert not newer.is_answered
    typing.scheduler.expire(newer, is_loading=True)
    assert reasons(typing.answers)[1:] == [(2, Reason.MODEL_LOADING)]


def test_an_answer_without_work_supersedes_what_waits_and_what_runs() -> None:
    typing = Typing()
    typing.submit(2, "xq")
    typing.scheduler.supersede((1, "a"))
    assert reasons(typing.answers) == [(1, Reason.SUPERSEDED), (2, Reason.SUPERSEDED)]
    assert is_stopped(typing.running)


def look_ahead(typing: Typing, text: str = "y") -> Job:
    """The look-ahead that goes on once the request of `typing` has been answered."""
    typing.finish("ab")
    job = make_job(0, text=text)
    job.ask = replace(job.ask, is_look_ahead=True)
    assert typing.scheduler.look_ahead(job)
    typing.running = job
    return job


def test_idle_work_gives_way_to_any_request() -> None:
    typing = Typing()
    ahead = look_ahead(typing)
    assert not typing.scheduler.look_ahead(make_job(0))
    typing.scheduler.submit(make_job(2, uri="b"))
    assert is_stopped(ahead)


def test_idle_work_serves_the_request_it_has_foreseen() -> None:
    typing = Typing()
    look_ahead(typing).ask.on_text("cd")
    typing.submit(2, "y")
    typing.scheduler.submit(make_job(3, uri="b"))
    typing.scheduler.stop_look_ahead()
    assert not is_stopped(typing.running)
    typing.finish("cde")
    assert typing.answered()[1:] == [(2, "cde", Reason.OK)]


def test_idle_work_goes_on_while_answers_need_no_work_until_it_serves_one() -> None:
    typing = Typing()
    ahead = look_ahead(typing)
    typing.scheduler.supersede((1, "a"))
    assert not is_stopped(ahead)
    typing.submit(2, "y")
    typing.scheduler.supersede((1, "a"))
    assert is_stopped(ahead)
    assert reasons(typing.answers)[1:] == [(2, Reason.SUPERSEDED)]


class Crowd:
    """Two clients that type, wait and give up, and a worker that decodes and finishes."""

    def __init__(self) -> None:
        self.started: list[Job] = []
        self.answers: Answers = []
        self.jobs: list[Job] = []
        self.timers: list[Callable[[], None]] = []
        self.scheduler = Scheduler(self.started.append, lambda _, call: self.timers.append(call))
        self.n_finished = 0

    def submit(self, session: int, uri: str, text: str | None = None) -> None:
        number = len(self.jobs)
        self.jobs.append(
            make_job(number, session=session, uri=uri, text=text, answers=self.answers)
        )
        self.scheduler.submit(self.jobs[-1])

    def type(self, session: int, uri: str) -> None:
        self.submit(session, uri, "x" + "ab"[: len(self.jobs) % 3])

    def decode(self, _session: int, uri: str) -> None:
        if self.n_finished < len(self.started):
            self.started[-1].ask.on_text(f"a{uri}")

    def finish(self, _session: int = 0, _uri: str = "") -> None:
        if self.n_finished < len(self.started):
            self.n_finished += 1
            self.scheduler.finish(self.started[self.n_finished - 1], offer("x"))

    def stop(self, session: int, _uri: str) -> None:
        self.scheduler.stop(session, len(self.jobs) - 1)

    def supersede(self, session: int, uri: str) -> None:
        self.scheduler.supersede((session, uri))

    def expire(self, _session: int, uri: str) -> None:
        if self.jobs:
            self.scheduler.expire(self.jobs[-1], is_loading=uri == "a")
        while self.timers:
            self.timers.pop()()


ACTIONS = st.sampled_from(
    [
        Crowd.submit,
        Crowd.type,
        Crowd.decode,
        Crowd.finish,
        Crowd.stop,
        Crowd.supersede,
        Crowd.expire,
    ]
)


@given(st.lists(st.tuples(ACTIONS, st.integers(1, 2), st.sampled_from("abc")), max_size=40))
def test_whatever_happens_each_request_of_a_client_that_stays_gets_one_answer(
    actions: list[tuple[Callable[[Crowd, int, str], None], int, str]],
) -> None:
    crowd = Crowd()
    for act, session, uri in actions:
        act(crowd, session, uri)
    while crowd.n_finished < len(crowd.started):
        crowd.finish()
    assert Counter(number for number, _ in crowd.answers) == Counter(range(len(crowd.jobs)))
