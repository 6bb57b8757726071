"""Each command is tested in `test_handlers.py` and `test_editor.py`, through the protocol."""

from goose_lsp.lsp.commands import COMMANDS


def test_commands_carry_the_names_that_plugins_know() -> None:
    names = ("why", "complete", "status", "toggle", "accept", "reject")
    assert set(COMMANDS) == {f"goose-lsp.{name}" for name in names}
