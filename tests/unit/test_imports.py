"""The editor's process starts fast: what runs models is imported by the daemon alone."""

import subprocess
import sys

import pytest

HEAVY = ("torch", "transformers", "numpy")


@pytest.mark.parametrize(
    "module", ["goose_lsp.lsp.server", "goose_lsp.lsp.handlers", "goose_lsp.cli"]
)
def test_the_editor_side_imports_nothing_that_runs_models(module: str) -> None:
    code = f"import sys, {module}; print(*sorted(set({HEAVY!r}) & set(sys.modules)))"
    result = subprocess.run(
        [sys.executable, "-c", code], check=True, stdout=subprocess.PIPE, text=True
    )
    assert result.stdout.split() == []
