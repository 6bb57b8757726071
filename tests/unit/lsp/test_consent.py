import asyncio
import sys
from collections.abc import Sequence

import pytest

from goose_lsp.config import load_settings
from goose_lsp.lsp.consent import (
    DOWNLOAD,
    NOT_NOW,
    Consent,
    MissingModel,
    Say,
    configured_model,
    pull_command,
    run_lines,
)

MODEL = MissingModel("tiny", 145_000_000, "somewhere")


class Dialog:
    def __init__(self, *choices: str | None) -> None:
        self.choices, self.asked, self.seen = list(choices), list[str](), list[str]()

    async def choose(self, text: str, actions: list[str]) -> str | None:
        assert actions == [DOWNLOAD, NOT_NOW]
        self.asked.append(text)
        return self.choices.pop(0)

    def warn(self, text: str) -> None:
        self.seen.append(text)

    async def begin_progress(self, title: str) -> str | None:
        self.seen.append(title)
        return "token"

    def report_progress(self, token: str, text: str, share: float | None) -> None:
        self.seen.append(text)

    def end_progress(self, token: str, text: str) -> None:
        self.seen.append(text)


def play(dialog: Dialog, codes: list[int], model: MissingModel | None = MODEL) -> list[list[str]]:
    """The commands run after as many asks as there are choices and one more."""
    ran: list[list[str]] = []

    async def run(command: Sequence[str], say: Say) -> int:
        ran.append(list(command))
        say("halfway")
        return codes.pop(0)

    async def asks() -> None:
        consent = Consent(dialog, model, run)
        for _ in range(len(dialog.choices) + 1):
            consent.ask()
            for _ in range(10):
                await asyncio.sleep(0)
        await consent.aclose()

    asyncio.run(asks())
    return ran


def test_nothing_is_fetched_without_a_yes_and_nobody_is_asked_twice() -> None:
    for choice in (NOT_NOW, None):
        dialog = Dialog(choice)
        assert play(dialog, []) == []
        assert len(dialog.asked) == 1
        assert "145 MB" in dialog.asked[0]


def test_a_yes_fetches_with_progress() -> None:
    dialog = Dialog(DOWNLOAD)
    assert play(dialog, [0]) == [pull_command("tiny")]
    assert dialog.seen == ["Fetching tiny", "halfway", "done"]


def test_a_failure_is_told_with_its_reason_and_may_be_tried_again() -> None:
    dialog = Dialog(DOWNLOAD, DOWNLOAD)
    assert len(play(dialog, [1, 0])) == 2
    assert "goose-lsp cannot fetch tiny: halfway" in dialog.seen


def test_a_model_that_is_a_path_cannot_be_fetched() -> None:
    assert configured_model(load_settings({"engine.model": "/a/b.gguf"})) is None
    assert configured_model(load_settings({"engine.model": "unheard-of"})) is None
    model = configured_model(load_settings({"engine.model": "smollm2-135m"}))
    assert model is not None
    assert model.n_bytes > 50_000_000
    assert play(Dialog(), [], None) == []


def test_a_commands_lines_are_told_and_its_code_returned() -> None:
    said: list[str] = []
    code = asyncio.run(run_lines([sys.executable, "-c", "print('a'); exit(3)"], said.append))
    assert (code, said) == (3, ["a"])


def test_a_command_ends_with_who_waits_for_it() -> None:
    async def play() -> None:
        started = asyncio.Event()
        command = [sys.executable, "-c", "import time; print(1, flush=True); time.sleep(60)"]
        task = asyncio.create_task(run_lines(command, lambda _line: started.set()))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(asyncio.wait_for(play(), 30))
