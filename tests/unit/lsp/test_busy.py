import asyncio
from typing import Any

import pytest

from goose_lsp.ipc.messages import Status
from goose_lsp.lsp.busy import BusyWatch, Job, jobs_of


def status(state: str = "ready", *index: dict[str, Any]) -> Status:
    return Status(1, 1, "0", "tiny", state, "reading", 0.0, 1, 1, {}, list(index))


class Screen:
    def __init__(self, *, shows: bool = True) -> None:
        self.shows, self.seen = shows, list[tuple[Any, ...]]()

    async def begin_progress(self, title: str) -> str | None:
        self.seen.append(("begin", title))
        return title if self.shows else None

    def report_progress(self, token: str, text: str, share: float | None) -> None:
        self.seen.append(("report", token, text, share))

    def end_progress(self, token: str, text: str) -> None:
        self.seen.append(("end", token))

    def tell_status(self, kind: str, *, is_busy: bool, message: str) -> None:
        self.seen.append(("status", kind, is_busy, message))


def watched(
    *answers: Status | None, shows: bool = True, wants_status: bool = False
) -> list[tuple[Any, ...]]:
    """What the screen has seen once the daemon has answered all of these, the last not busy."""
    screen, left = Screen(shows=shows), list(answers)

    async def ask() -> Status | None:
        return left.pop(0)

    async def play() -> None:
        watch = BusyWatch(screen, ask, wants_status=lambda: wants_status, poll_s=0)
        watch.look()
        watch.look()
        while left:  # noqa: ASYNC110  the script is played when it is empty
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        await watch.aclose()

    asyncio.run(asyncio.wait_for(play(), 10))
    return screen.seen


INDEX = {"folders": ["/home/a/repo"], "phase": "reading", "done": 500, "total": 2000}


@pytest.mark.parametrize(
    ("told", "jobs"),
    [
        (status(), []),
        (status("ready", {"phase": "ready"}), []),
        (status("ready", {"phase": "ended"}), []),
        (status("loading"), [Job("Loading tiny", "reading", None)]),
        (status("ready", INDEX), [Job("Indexing repo", "reading 500 of 2,000", 0.25)]),
        (
            status("ready", {"phase": "waiting", "folders": []}),
            [Job("Indexing ", "waiting", None)],
        ),
    ],
)
def test_what_the_daemon_is_at(told: Status, jobs: list[Job]) -> None:
    assert jobs_of(told) == jobs


def test_each_job_begins_reports_and_ends_once() -> None:
    assert watched(status("loading"), status("ready", INDEX), status()) == [
        ("begin", "Loading tiny"),
        ("report", "Loading tiny", "reading", None),
        ("begin", "Indexing repo"),
        ("report", "Indexing repo", "reading 500 of 2,000", 0.25),
        ("end", "Loading tiny"),
        ("end", "Indexing repo"),
    ]


def test_a_client_without_progress_is_told_nothing_more() -> None:
    assert watched(status("loading"), status(), shows=False) == [("begin", "Loading tiny")]
    assert watched(None) == []


def test_the_status_is_told_where_it_changes() -> None:
    seen = watched(status("loading"), status("loading"), status(), shows=False, wants_status=True)
    assert [event for event in seen if event[0] == "status"] == [
        ("status", "Normal", True, "Loading tiny"),
        ("status", "Normal", False, ""),
    ]
    assert watched(status("missing"), wants_status=True) == [("status", "Error", False, "reading")]
    assert watched(None, wants_status=True) == [("status", "Inactive", False, "no daemon runs")]
