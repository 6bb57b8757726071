"""The real daemon with a scripted model: `python tests/e2e/scripted_program.py SCRIPT.json`.

The script is read anew at every pass, so that a test may rewrite it at any time; see `tests.scripted_model.Script`.
"""

import sys
from pathlib import Path

# Run as a file, from any folder.
sys.path.insert(0, str(Path(__file__).parent.parent.parent))

from goose_lsp.config import load_settings
from goose_lsp.daemon.lifecycle import run_daemon
from goose_lsp.errors import GooseError
from tests.scripted_model import scripted_completer


def main(script: Path) -> int:
    settings = load_settings()
    try:
        return run_daemon(settings, load=lambda _say: scripted_completer(script, settings))
    except GooseError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
