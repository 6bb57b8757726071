"""Newest wins, documents take turns, and every request is answered exactly once."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from goose_lsp.daemon.schedule import Job, Scheduler
from goose_lsp.request import Completion, Reason
from tests.daemon_rig import make_job, offer

Answers = list[tuple[int, Completion]]


def reasons(answers: Answers) -> list[tuple[int, Reason]]:
    return [(number, completion.reason) for number, completion in answers]


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


ACTIONS = st.sampled_from(["submit", "finish", "stop", "expire"])


@given(st.lists(st.tuples(ACTIONS, st.integers(1, 2), st.sampled_from("abc")), max_size=40))
def test_whatever_happens_each_request_of_a_client_that_stays_gets_one_answer(
    actions: list[tuple[str, int, str]],
) -> None:
    started: list[Job] = []
    answers: Answers = []
    jobs: list[Job] = []
    scheduler = scheduler_with(started)
    n_finished = 0
    for action, session, uri in actions:
        if action == "submit":
            jobs.append(make_job(len(jobs), session=session, uri=uri, answers=answers))
            scheduler.submit(jobs[-1])
        elif action == "finish" and n_finished < len(started):
            n_finished += 1
            scheduler.finish(started[n_finished - 1], offer("x"))
        elif action == "stop":
            scheduler.stop(session, len(jobs) - 1)
        elif action == "expire" and jobs:
            scheduler.expire(jobs[-1], is_loading=uri == "a")
    while n_finished < len(started):
        n_finished += 1
        scheduler.finish(started[n_finished - 1], offer("x"))
    assert Counter(number for number, _ in answers) == Counter(range(len(jobs)))
