"""A real daemon whose model is a script: a document "wait" works until stopped, any other is answered.

SCRIPTED_TEXT is the answer. Marks in the cache directory tell a test how far the work has come.
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
        if ask.document.text == "wait":
            self._work_until_stopped(cancel)
        text = os.environ.get("SCRIPTED_TEXT", "")
        return Completion(text, ask.point, ask.point, Reason.OK)

    def close(self) -> None:
        (self._marks / "closed").touch()

    def _work_until_stopped(self, cancel: CancelToken) -> None:
        (self._marks / "working").touch()
        limit = monotonic() + _LIMIT_S
        while not cancel.is_cancelled and monotonic() < limit:
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
