"""A model that is missing is fetched once the user has agreed, who first is told how large it is."""

import asyncio
import logging
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from goose_lsp.config import Settings, is_model_path
from goose_lsp.engine.catalog import find_entry
from goose_lsp.errors import GooseError

logger = logging.getLogger(__name__)

DOWNLOAD, NOT_NOW = "Download", "Not now"

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class MissingModel:
    name: str
    n_bytes: int
    origin: str

    @property
    def question(self) -> str:
        size = f"{self.n_bytes / 1e6:,.0f} MB" if self.n_bytes else "size unknown"
        return (
            f"goose-lsp needs the model {self.name} ({size}, from {self.origin}). Download it now?"
        )


class Asks(Protocol):
    """What an editor lets us ask and show."""

    async def choose(self, text: str, actions: list[str]) -> str | None: ...
    def warn(self, text: str) -> None: ...
    async def begin_progress(self, title: str) -> str | None: ...
    def report_progress(self, token: str, text: str, share: float | None) -> None: ...
    def end_progress(self, token: str, text: str) -> None: ...


def configured_model(settings: Settings) -> MissingModel | None:
    """The model that can be fetched by its name; None for a path or what is not in the catalog."""
    try:
        entry = None if is_model_path(settings.engine.model) else find_entry(settings.engine.model)
    except GooseError:
        return None
    if entry is None or not entry.is_runnable:
        return None
    return MissingModel(entry.name, entry.n_bytes, entry.source.origin)


def pull_command(name: str) -> list[str]:
    return [sys.executable, "-m", "goose_lsp", "models", "pull", name]


async def run_lines(command: Sequence[str], say: Say) -> int:
    """The exit code; `say` gets each line that the command prints. Cancelled, it ends the command."""
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    assert process.stdout
    try:
        async for line in process.stdout:
            say(line.decode(errors="replace").strip())
        return await process.wait()
    except asyncio.CancelledError:
        process.terminate()
        await process.wait()
        raise


class Consent:
    """Asks once a connection: who says no is asked no more."""

    def __init__(
        self,
        editor: Asks,
        model: MissingModel | None,
        run: Callable[[Sequence[str], Say], Awaitable[int]] = run_lines,
    ) -> None:
        self._editor, self._model, self._run = editor, model, run
        self._task: asyncio.Task[None] | None = None

    def ask(self) -> None:
        """A request has found the model missing."""
        if self._task is None and self._model is not None:
            self._task = asyncio.get_running_loop().create_task(self._ask(self._model))

    async def aclose(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _ask(self, model: MissingModel) -> None:
        if await self._editor.choose(model.question, [DOWNLOAD, NOT_NOW]) != DOWNLOAD:
            return
        token = await self._editor.begin_progress(f"Fetching {model.name}")
        last = ""

        def say(line: str) -> None:
            nonlocal last
            last = line or last
            if token is not None:
                self._editor.report_progress(token, line, None)

        code = await self._run(pull_command(model.name), say)
        if token is not None:
            self._editor.end_progress(token, "done" if code == 0 else "failed")
        if code:
            logger.error("the model cannot be fetched: %s", last)
            self._editor.warn(f"goose-lsp cannot fetch {model.name}: {last}")
            self._task = None  # it may be asked again
