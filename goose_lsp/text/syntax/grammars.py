"""What is known of each grammar, as data, and how a grammar is loaded.

A grammar that is missing or does not load is as good as none: one log line, then `None` for ever.
"""

import importlib
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from tree_sitter import Language

log = logging.getLogger(__name__)

_BRACKETS = {"(": ")", "[": "]", "{": "}"}
_TEMPLATE = _BRACKETS | {"${": "}"}
_C_COMMENTS = ("//", "/*")


@dataclass(frozen=True, slots=True)
class Grammar:
    """How blocks, strings and comments of a language look among the tokens of its grammar."""

    name: str
    comments: tuple[str, ...]  # what begins a comment
    openers: Mapping[str, str] = field(default_factory=lambda: _BRACKETS)  # token -> its closer
    long_quotes: frozenset[str] = frozenset()  # tokens that begin a string of many lines
    is_indented: bool = False  # blocks are made by indentation
    has_tags: bool = False  # elements open by <name> and close by </name>
    filler: str = "x"  # the least that may stand for what is still to be written
    package: str = ""  # where it is not tree_sitter_<name>
    function: str = "language"


GRAMMARS = {
    grammar.name: grammar
    for grammar in (
        Grammar(
            "bash",
            ("#",),
            _BRACKETS
            | {"$(": ")", "${": "}", "((": "))", "$((": "))", "[[": "]]", "<(": ")"}
            | {"if": "fi", "case": "esac", "do": "done"},
            frozenset({'"'}),
        ),
        Grammar("c", _C_COMMENTS),
        Grammar("cpp", _C_COMMENTS, _BRACKETS | {"[[": "]]"}),
        Grammar("css", ("/*",), filler="x: y"),
        Grammar("go", _C_COMMENTS, long_quotes=frozenset({"`"})),
        Grammar("html", ("<!--",), has_tags=True),
        Grammar("java", _C_COMMENTS, long_quotes=frozenset({'"""'})),
        Grammar("javascript", _C_COMMENTS, _TEMPLATE, frozenset({"`"}), has_tags=True),
        Grammar("json", _C_COMMENTS, filler="0"),
        Grammar(
            "lua",
            ("--",),
            _BRACKETS | {"function": "end", "if": "end", "do": "end", "repeat": "until"},
            frozenset({"[["}),
        ),
        Grammar("python", ("#",), is_indented=True),
        Grammar(
            "ruby",
            ("#",),
            _BRACKETS
            | {"#{": "}"}
            | dict.fromkeys(("begin", "case", "class", "def", "do", "module"), "end")
            | dict.fromkeys(("for", "if", "unless", "until", "while"), "end"),
            frozenset({'"'}),
        ),
        Grammar("rust", _C_COMMENTS, long_quotes=frozenset({'"'})),
        Grammar(
            "tsx",
            _C_COMMENTS,
            _TEMPLATE,
            frozenset({"`"}),
            has_tags=True,
            package="tree_sitter_typescript",
            function="language_tsx",
        ),
        Grammar(
            "typescript",
            _C_COMMENTS,
            _TEMPLATE,
            frozenset({"`"}),
            function="language_typescript",
        ),
    )
}

# Language ids of the protocol, and the short names that some editors send instead.
_LANGUAGES = {
    **{name: name for name in GRAMMARS},
    **dict.fromkeys(("shellscript", "sh", "zsh", "ksh"), "bash"),
    **dict.fromkeys(("c++", "cuda-cpp"), "cpp"),
    **dict.fromkeys(("js", "jsx", "javascriptreact", "javascript.jsx"), "javascript"),
    **dict.fromkeys(("jsonc", "json5"), "json"),
    "py": "python",
    "rb": "ruby",
    "rs": "rust",
    "ts": "typescript",
    **dict.fromkeys(("typescriptreact", "typescript.tsx"), "tsx"),
}
_UNTOLD = frozenset({"", "plaintext", "text"})  # ids that say nothing about the language

_SUFFIXES = {
    **dict.fromkeys((".sh", ".bash", ".zsh", ".ksh"), "bash"),
    **dict.fromkeys((".c", ".h"), "c"),
    **dict.fromkeys((".cc", ".cpp", ".cxx", ".c++", ".hh", ".hpp", ".hxx", ".cu", ".cuh"), "cpp"),
    ".css": "css",
    ".go": "go",
    **dict.fromkeys((".html", ".htm"), "html"),
    ".java": "java",
    **dict.fromkeys((".js", ".jsx", ".mjs", ".cjs"), "javascript"),
    **dict.fromkeys((".json", ".jsonc", ".json5"), "json"),
    ".lua": "lua",
    **dict.fromkeys((".py", ".pyi", ".pyw"), "python"),
    **dict.fromkeys((".rb", ".rake", ".gemspec"), "ruby"),
    ".rs": "rust",
    ".tsx": "tsx",
    **dict.fromkeys((".ts", ".mts", ".cts"), "typescript"),
}


def grammar_of(language: str, uri: str = "") -> str | None:
    """The grammar's name for a protocol language id, or for the file's suffix where the id says nothing."""
    suffix = PurePosixPath(_path_of(uri)).suffix.lower()
    if language.lower() in _UNTOLD:
        return _SUFFIXES.get(suffix)
    name = _LANGUAGES.get(language.lower())
    return "tsx" if name == "typescript" and suffix == ".tsx" else name


def _path_of(uri: str) -> str:
    try:
        return urlsplit(uri).path
    except ValueError:  # half an IPv6 address, as in "http://[x"
        return ""


@cache
def load_language(name: str) -> Language | None:
    grammar = GRAMMARS[name]
    try:
        package = importlib.import_module(grammar.package or f"tree_sitter_{name}")
        return Language(getattr(package, grammar.function)())
    except Exception as error:  # noqa: BLE001 - foreign machine code: whatever it raises, go on without
        log.warning("grammar %s cannot be used: %s", name, error)
        return None
