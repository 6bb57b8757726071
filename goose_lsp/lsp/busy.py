"""What the daemon is at while suggestions have to wait: loading its model, reading the workspace.

The daemon is asked for its status as long as it is busy, and not at all otherwise.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import PurePath
from typing import Any, NamedTuple, Protocol

from goose_lsp.ipc.messages import Status

logger = logging.getLogger(__name__)

POLL_S = 0.5
_AT_REST = (None, "ready", "ended")  # phases of an index


class Job(NamedTuple):
    title: str
    text: str
    share: float | None  # done, 0 to 1; None where nobody knows


class Shows(Protocol):
    """What an editor shows of it."""

    async def begin_progress(self, title: str) -> str | None: ...
    def report_progress(self, token: str, text: str, share: float | None) -> None: ...
    def end_progress(self, token: str, text: str) -> None: ...
    def tell_status(self, kind: str, *, is_busy: bool, message: str) -> None: ...


def jobs_of(status: Status) -> list[Job]:
    jobs = []
    if status.model_state == "loading":
        jobs.append(Job(f"Loading {status.model or 'the model'}", status.detail, None))
    at_work = (index for index in status.index if index.get("phase") not in _AT_REST)
    return [*jobs, *map(_index_job, at_work)]


def _index_job(index: dict[str, Any]) -> Job:
    names = ", ".join(PurePath(str(folder)).name for folder in index.get("folders", ()))
    n_done, n_total = index.get("done", 0), index.get("total", 0)
    share = n_done / n_total if n_total else None
    text = f"{index['phase']} {n_done:,} of {n_total:,}" if n_total else str(index["phase"])
    return Job(f"Indexing {names}", text, share)


class BusyWatch:
    """Belongs to one connection, on its event loop."""

    def __init__(
        self,
        editor: Shows,
        ask: Callable[[], Awaitable[Status | None]],
        *,
        wants_status: Callable[[], bool],
        poll_s: float = POLL_S,
    ) -> None:
        self._editor, self._ask, self._wants_status = editor, ask, wants_status
        self._poll_s = poll_s
        self._tokens: dict[str, str | None] = {}  # title → token
        self._told: tuple[str, bool, str] | None = None
        self._task: asyncio.Task[None] | None = None

    def look(self) -> None:
        """Something may have begun. Costs nothing while a look is under way."""
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._watch())

    async def aclose(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _watch(self) -> None:
        while True:
            status = await self._ask()
            jobs = jobs_of(status) if status else []
            await self._show(jobs)
            self._tell(status, jobs)
            if not jobs:
                return
            await asyncio.sleep(self._poll_s)

    async def _show(self, jobs: list[Job]) -> None:
        for job in jobs:
            if job.title not in self._tokens:
                self._tokens[job.title] = await self._editor.begin_progress(job.title)
            if (token := self._tokens[job.title]) is not None:
                self._editor.report_progress(token, job.text, job.share)
        for title in self._tokens.keys() - {job.title for job in jobs}:
            if (token := self._tokens.pop(title)) is not None:
                self._editor.end_progress(token, "done")

    def _tell(self, status: Status | None, jobs: list[Job]) -> None:
        if not self._wants_status():
            return
        told = _told(status, jobs)
        if told != self._told:
            self._told = told
            kind, is_busy, message = told
            self._editor.tell_status(kind, is_busy=is_busy, message=message)


def _told(status: Status | None, jobs: list[Job]) -> tuple[str, bool, str]:
    if status is None:
        return "Inactive", False, "no daemon runs"
    if status.model_state in ("missing", "broken"):
        return "Error", False, status.detail
    return "Normal", bool(jobs), jobs[0].title if jobs else ""
