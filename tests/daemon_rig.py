"""The daemon's parts without its process: a socket, a schedule, and jobs that a test finishes."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import NoReturn, TypeVar

from goose_lsp.cancel import CancelToken
from goose_lsp.config import DaemonSettings, PathSettings, Settings
from goose_lsp.daemon.completer import Ask
from goose_lsp.daemon.schedule import Job, Scheduler
from goose_lsp.daemon.server import Server
from goose_lsp.daemon.service import Service
from goose_lsp.daemon.worker import Worker
from goose_lsp.ipc.endpoint import Endpoint
from goose_lsp.request import Completion, Point, Reason
from goose_lsp.text.document import Document

LIMIT_S = 20.0
_Result = TypeVar("_Result")


def settings_in(folder: Path, start_timeout_s: int = 15) -> Settings:
    """Settings that touch nothing outside `folder`."""
    paths = PathSettings(*(str(folder / name) for name in ("cache", "run", "log")))
    return replace(Settings(), paths=paths, daemon=DaemonSettings(start_timeout_s=start_timeout_s))


def run_async(work: Awaitable[_Result]) -> _Result:
    """The result of `work`, in a loop of its own and within a limit."""

    async def limited() -> _Result:
        async with asyncio.timeout(LIMIT_S):
            return await work

    return asyncio.run(limited())


async def until(is_true: Callable[[], object]) -> None:
    """Let everything else on the loop go on until it is so."""
    async with asyncio.timeout(LIMIT_S):
        while not is_true():  # noqa: ASYNC110  what it waits for has no event
            await asyncio.sleep(0)


def make_job(
    number: int = 1,
    *,
    session: int = 1,
    uri: str = "a",
    token: CancelToken | None = None,
    text: str | None = None,
    answers: list[tuple[int, Completion]] | None = None,
) -> Job:
    """A job at the end of a line that no other job's line begins with; its answers are noted with its number."""
    line = f"<{number}>" if text is None else text
    ask = Ask(Document(uri, 1, "python", line), Point(0, len(line)))
    noted = answers if answers is not None else []
    return Job(
        (session, uri),
        number,
        ask,
        token or CancelToken(),
        lambda completion: noted.append((number, completion)),
    )


def offer(text: str) -> Completion:
    return Completion(text, Point(0, 0), Point(0, 0), Reason.OK)


def no_model(_say: object = None) -> NoReturn:
    raise AssertionError("nothing here loads a model")


class DaemonRig:
    """A served socket whose jobs stand in `started` until the test says `finish`."""

    def __init__(self, settings: Settings) -> None:
        self.endpoint = Endpoint(settings.runtime_dir)
        self.started: list[Job] = []
        self.timers: list[tuple[float, Callable[[], None]]] = []
        self.is_ending = asyncio.Event()
        self.worker = Worker(no_model, lambda job, completion: None)
        self.scheduler = Scheduler(self.started.append)
        self.service = Service(
            self.worker,
            self.scheduler,
            "scripted",
            self.is_ending.set,
            lambda delay_s, call: self.timers.append((delay_s, call)),
        )
        self.server = Server(self.service, pid=4711)

    async def next_job(self) -> Job:
        await until(lambda: self.started)
        return self.started.pop(0)

    def finish(self, job: Job, text: str) -> None:
        self.service.finish(job, offer(text))


@asynccontextmanager
async def daemon_rig(settings: Settings) -> AsyncIterator[DaemonRig]:
    rig = DaemonRig(settings)
    rig.endpoint.prepare()
    rig.endpoint.socket_path.unlink(missing_ok=True)
    path = str(rig.endpoint.socket_path)
    listener = await asyncio.start_unix_server(rig.server.serve, path, backlog=256)
    try:
        yield rig
    finally:
        listener.close()
        rig.endpoint.socket_path.unlink(missing_ok=True)
        await rig.server.close()
