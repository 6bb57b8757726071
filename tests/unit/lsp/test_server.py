"""One process, one editor: what `run_stdio` returns when nobody comes."""

import subprocess
import sys
from pathlib import Path

RUN = """
import sys
from goose_lsp.config import load_settings
from goose_lsp.lsp.server import run_stdio
sys.exit(run_stdio(load_settings({"paths.runtime_dir": sys.argv[1]})))
"""


def test_an_input_that_ends_at_once_ends_the_server_without_a_word(tmp_path: Path) -> None:
    result = subprocess.run(
        [sys.executable, "-c", RUN, str(tmp_path)],
        check=False,
        stdin=subprocess.DEVNULL,
        capture_output=True,
    )
    assert (result.returncode, result.stdout, result.stderr) == (1, b"", b"")
    assert list(tmp_path.iterdir()) == []
