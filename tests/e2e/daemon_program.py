"""A real daemon whose model is a script: a document "wait" works until stopped, any other is answered.

SCRIPTED_TEXT is the answer; in a document that begins with "half" half of it is decoded until the mark "go"
comes. Marks in the cache directory tell a test how far the work has come, and "calls" has a line for each.
"""

import os
import sys
from pathlib import Path
from time import monotonic, sleep

from goose_lsp.cancel import CancelToken
from goose_lsp.config import load_settings
from goose_lsp.daemon.completer import Ask
from goose_lsp.daemon.lifecycle import run_daemon
from goose_lsp.errors import GooseError
from goose_lsp.request import Completion, Reason

_LIMIT_S = 60.0


class ScriptedCompleter:
    model_name = "scripted"

    def __init__(self, marks: Path) -> None:
        self._marks = marks
        marks.mkdir(parents=True, exist_ok=True)

    def complete(self, ask: Ask, cancel: CancelToken) -> Completion:
        with (self._marks / "calls").open("a", encoding="utf-8") as calls:
            calls.write("look-ahead\n" if ask.is_look_ahead else "asked\n")
        text = os.environ.get("SCRIPTED_TEXT", "")
        if ask.document.text == "wait":
            self._work_until_stopped(cancel)
        if ask.document.text.startswith("half"):
            ask.on_text(text[: len(text) // 2])
            self._work_until_stopped(cancel, "go")
        return Completion(text, ask.point, ask.point, Reason.OK)

    def close(self) -> None:
        (self._marks / "closed").touch()

    def _work_until_stopped(self, cancel: CancelToken, mark: str = "") -> None:
        """Or until the mark is there."""
        (self._marks / "working").touch()
        limit = monotonic() + _LIMIT_S
        while not cancel.is_cancelled and monotonic() < limit:
            if mark and (self._marks / mark).exists():
                return
            sleep(0.005)
        (self._marks / "stopped").touch()
        cancel.check()


def main() -> int:
    settings = load_settings()
    try:
        return run_daemon(settings, load=lambda _say: ScriptedCompleter(settings.cache_dir))
    except GooseError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    sys.exit(main())
