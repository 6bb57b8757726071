"""What the README tells people to type exists."""

import re
import shlex
from pathlib import Path

import pytest

from goose_lsp.cli import _parser
from goose_lsp.lsp import options
from goose_lsp.lsp.commands import COMMANDS

ROOT = Path(__file__).parent.parent.parent
README = (ROOT / "README.md").read_text("utf-8")
SHELL = "\n".join(re.findall(r"```sh\n(.*?)```", README, re.DOTALL))


@pytest.mark.parametrize("verb", sorted(set(re.findall(r"`?make ([a-z]+)", README))))
def test_every_make_verb_is_in_the_makefile(verb: str) -> None:
    assert re.search(rf"^{verb}:", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)


@pytest.mark.parametrize("line", re.findall(r"^goose-lsp (.*)$", SHELL, re.MULTILINE))
def test_every_command_is_one_the_command_line_knows(line: str) -> None:
    args = _parser().parse_args(shlex.split(line, comments=True))
    assert callable(args.command)


def test_the_readme_names_commands_at_all() -> None:
    assert SHELL.count("goose-lsp ") >= 5


EDITORS = (ROOT / "docs" / "editors.md").read_text("utf-8")


def named(heading: str) -> set[str]:
    """What stands in the first column of the table under a heading of docs/editors.md."""
    section = EDITORS.split(f"## {heading}\n")[1].split("\n## ")[0]
    cells = re.findall(r"^\| ([^|]*`[^|]*) \|", section, re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`([\w.-]+)`", cell)}


def test_the_editors_page_has_every_option_and_command() -> None:
    assert named("Options") == set(options._KEYS)
    assert named("Commands") == set(COMMANDS)
