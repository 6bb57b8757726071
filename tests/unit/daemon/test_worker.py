"""The inference thread answers everything, whatever becomes of the model."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from typing import NoReturn

import pytest

from goose_lsp.cancel import CancelToken
from goose_lsp.daemon.completer import Ask
from goose_lsp.daemon.schedule import Job
from goose_lsp.daemon.worker import RETRY_LOAD_S, Worker
from goose_lsp.errors import CancelledError, ConfigError, ModelLoadError, ModelMissingError
from goose_lsp.request import Completion, Reason
from tests.daemon_rig import LIMIT_S, make_job, no_model, offer


class ScriptedCompleter:
    """Completes with what `script` returns, or raises what it raises."""

    model_name = "scripted"

    def __init__(self, script: Callable[[Ask, CancelToken], Completion]) -> None:
        self.complete = script
        self.closed_by: list[str] = []

    def close(self) -> None:
        self.closed_by.append(threading.current_thread().name)


class Clock:
    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


class Rig:
    def __init__(self, load: Callable[[], ScriptedCompleter]) -> None:
        self.clock = Clock()
        self.done: SimpleQueue[tuple[Job, Completion]] = SimpleQueue()
        self.worker = Worker(lambda _say: load(), lambda *news: self.done.put(news), self.clock)

    def ask(self, job: Job | None = None) -> Completion:
        job = job or make_job()
        self.worker.put(job)
        finished, completion = self.done.get(timeout=LIMIT_S)
        assert finished is job
        return completion


@contextmanager
def working(load: Callable[[], ScriptedCompleter]) -> Iterator[Rig]:
    rig = Rig(load)
    rig.worker.start()
    try:
        yield rig
    finally:
        rig.worker.stop(LIMIT_S)
        assert not rig.worker._thread.is_alive()


def answering(text: str) -> ScriptedCompleter:
    return ScriptedCompleter(lambda ask, cancel: offer(text))


def failing(error: Exception) -> Callable[..., NoReturn]:
    def fail(*_: object) -> NoReturn:
        raise error

    return fail


def test_the_model_is_loaded_by_the_first_request_on_the_inference_thread() -> None:
    loaded_by: list[str] = []

    def load() -> ScriptedCompleter:
        loaded_by.append(threading.current_thread().name)
        return answering("x")

    with working(load) as rig:
        assert (rig.worker.model_state, loaded_by) == ("idle", [])
        assert [rig.ask().text, rig.ask().text] == ["x", "x"]
        assert (rig.worker.model_state, loaded_by) == ("ready", ["inference"])


def test_the_time_in_the_queue_is_in_the_statistics() -> None:
    with working(lambda: answering("x")) as rig:
        job = make_job()
        job.queued_s = rig.clock.now_s - 0.25
        assert rig.ask(job).stats["queue_ms"] == 250.0


def test_the_state_says_loading_while_it_loads() -> None:
    gate, is_loading = threading.Event(), threading.Event()

    def load() -> ScriptedCompleter:
        is_loading.set()
        assert gate.wait(LIMIT_S)
        return answering("x")

    with working(load) as rig:
        rig.worker.put(make_job())
        assert is_loading.wait(LIMIT_S)
        assert rig.worker.model_state == "loading"
        gate.set()
        assert rig.done.get(timeout=LIMIT_S)[1].text == "x"


@pytest.mark.parametrize(
    ("error", "state", "reason"),
    [
        (ModelMissingError("pull it"), "missing", Reason.MODEL_MISSING),
        (ModelLoadError("half a file"), "broken", Reason.MODEL_BROKEN),
        (ConfigError("no such dtype"), "broken", Reason.MODEL_BROKEN),
    ],
)
def test_a_model_that_cannot_be_had_is_the_reason(
    error: Exception, state: str, reason: Reason
) -> None:
    with working(failing(error)) as rig:
        completion = rig.ask()
        assert (completion.reason, completion.detail) == (reason, str(error))
        assert (rig.worker.model_state, rig.worker.detail) == (state, str(error))


def test_an_unforeseen_failure_to_load_breaks_the_model_and_not_the_thread() -> None:
    with working(failing(OSError("two\nlines"))) as rig:
        completion = rig.ask()
        assert completion.reason is Reason.MODEL_BROKEN
        assert "two lines" in completion.detail
        assert rig.ask().reason is Reason.MODEL_BROKEN


def test_a_missing_model_is_looked_for_again_but_not_at_every_request() -> None:
    outcomes: list[Callable[[], ScriptedCompleter]] = [
        failing(ModelMissingError("pull it")),
        lambda: answering("x"),
    ]

    def load() -> ScriptedCompleter:
        return outcomes.pop(0)()

    with working(load) as rig:
        assert rig.ask().reason is Reason.MODEL_MISSING
        rig.clock.now_s += RETRY_LOAD_S - 0.1
        assert rig.ask().reason is Reason.MODEL_MISSING
        rig.clock.now_s += 0.2
        assert rig.ask().text == "x"
        assert (rig.worker.model_state, rig.worker.detail) == ("ready", "")


def test_a_failed_request_is_logged_by_its_number_and_the_thread_lives(
    caplog: pytest.LogCaptureFixture,
) -> None:
    errors: list[Exception] = [ZeroDivisionError("secret text")]

    def complete(ask: Ask, cancel: CancelToken) -> Completion:
        if errors:
            raise errors.pop()
        return offer("x")

    with working(lambda: ScriptedCompleter(complete)) as rig:
        failed = rig.ask(make_job(42))
        assert (failed.reason, failed.text) == (Reason.INTERNAL_ERROR, "")
        assert "secret" not in failed.detail
        assert "request 42 failed" in caplog.text
        assert rig.ask().text == "x"


def test_what_is_no_completion_is_an_error_and_the_thread_lives() -> None:
    completer = ScriptedCompleter(lambda ask, cancel: None)  # type: ignore[arg-type, return-value]
    with working(lambda: completer) as rig:
        assert [rig.ask().reason, rig.ask().reason] == [Reason.INTERNAL_ERROR] * 2


def test_cancelled_work_says_so() -> None:
    with working(lambda: ScriptedCompleter(failing(CancelledError("x")))) as rig:
        assert rig.ask().reason is Reason.CANCELLED


def test_work_beyond_its_deadline_says_so() -> None:
    with working(lambda: answering("x")) as rig:
        token = CancelToken(rig.clock.now_s, rig.clock)
        assert rig.ask(make_job(token=token)).reason is Reason.DEADLINE


def test_a_job_cancelled_before_its_turn_costs_no_work() -> None:
    def complete(ask: Ask, cancel: CancelToken) -> Completion:
        raise AssertionError("no work was due")

    with working(lambda: ScriptedCompleter(complete)) as rig:
        token = CancelToken()
        token.cancel()
        assert rig.ask(make_job(token=token)).reason is Reason.CANCELLED


def test_a_worker_that_never_worked_ends() -> None:
    with working(no_model):
        pass


def test_the_completer_is_closed_once_by_the_thread_that_used_it() -> None:
    completer = answering("text")
    with working(lambda: completer) as rig:
        rig.ask()
        assert not completer.closed_by
    assert completer.closed_by == ["inference"]


def test_what_loading_is_at_shows_until_it_is_done() -> None:
    seen: list[tuple[str, str]] = []

    def load(say: Callable[[str], None]) -> ScriptedCompleter:
        say("converting")
        seen.append((worker.model_state, worker.detail))
        return answering("text")

    done: SimpleQueue[tuple[Job, Completion]] = SimpleQueue()
    worker = Worker(load, lambda *news: done.put(news))
    worker.start()
    worker.put(make_job())
    done.get(timeout=LIMIT_S)
    worker.stop(LIMIT_S)
    assert seen == [("loading", "converting")]
    assert (worker.model_state, worker.detail) == ("ready", "")
