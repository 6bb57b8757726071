"""The one inference thread: it loads the model and is the only one to touch it."""

import logging
import threading
from collections.abc import Callable
from queue import SimpleQueue
from time import monotonic

from goose_lsp.daemon.completer import Completer
from goose_lsp.daemon.schedule import Job
from goose_lsp.errors import CancelledError, ConfigError, ModelLoadError, ModelMissingError
from goose_lsp.request import Completion, Reason

# A missing model may be pulled at any moment; looking costs little, but not nothing.
RETRY_LOAD_S = 5.0

_logger = logging.getLogger(__name__)


class Worker:
    """Takes one job at a time. `done` is called on this thread with the job and its completion.

    `load` is given a function to say what it is at.
    """

    def __init__(
        self,
        load: Callable[[Callable[[str], None]], Completer],
        done: Callable[[Job, Completion], None],
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._load = load
        self._done = done
        self._clock = clock
        self._mailbox: SimpleQueue[Job | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="inference", daemon=True)
        self._completer: Completer | None = None
        self._failed_at_s = 0.0
        # Written by the inference thread alone; others may read them for the status.
        self.model_state = "idle"  # idle, loading, ready, missing, broken
        self.detail = ""

    def start(self) -> None:
        self._thread.start()

    def put(self, job: Job) -> None:
        self._mailbox.put(job)

    def stop(self, limit_s: float) -> None:
        """End after the job at hand, which the caller has cancelled; waits at most `limit_s`."""
        self._mailbox.put(None)
        if self._thread.is_alive():
            self._thread.join(limit_s)

    def _run(self) -> None:
        while (job := self._mailbox.get()) is not None:
            self._done(job, self._complete(job))
        if self._completer is not None:
            self._completer.close()

    def _complete(self, job: Job) -> Completion:
        started_s = self._clock()
        try:
            completer = self._completer or self._try_load()
            if completer is None:
                reason = (
                    Reason.MODEL_MISSING if self.model_state == "missing" else Reason.MODEL_BROKEN
                )
                return job.empty(reason, self.detail)
            job.cancel.check()
            completion = completer.complete(job.ask, job.cancel)
            completion.stats["queue_ms"] = round((started_s - job.queued_s) * 1e3, 2)
            return completion
        except CancelledError:
            return job.empty(Reason.DEADLINE if job.cancel.is_expired else Reason.CANCELLED)
        except Exception:
            # The thread must outlive any one request.
            _logger.exception("request %d failed", job.request_id)
            return job.empty(Reason.INTERNAL_ERROR, "see the daemon's log")

    def _try_load(self) -> Completer | None:
        """The model, or None with `model_state` and `detail` set; a failure is tried again later."""
        has_failed = self.model_state in ("missing", "broken")
        if has_failed and self._clock() - self._failed_at_s < RETRY_LOAD_S:
            return None
        self.model_state, self.detail = "loading", ""
        try:
            self._completer = self._load(self._say)
        except ModelMissingError as error:
            self._fail("missing", str(error))
        except (ModelLoadError, ConfigError) as error:
            self._fail("broken", str(error))
        except Exception as error:
            _logger.exception("the model cannot be loaded")
            self._fail("broken", f"the model cannot be loaded ({error}); see the daemon's log")
        else:
            self.model_state, self.detail = "ready", ""
        return self._completer

    def _say(self, detail: str) -> None:
        self.detail = detail
        _logger.info("%s", detail)

    def _fail(self, state: str, detail: str) -> None:
        self.model_state, self.detail = state, " ".join(detail.split())
        self._failed_at_s = self._clock()
        _logger.warning("%s", self.detail)
