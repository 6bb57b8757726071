import logging

import pytest

from goose_lsp.text.syntax import grammars
from goose_lsp.text.syntax.grammars import GRAMMARS, Grammar, grammar_of, load_language


@pytest.mark.parametrize(
    ("language", "uri", "grammar"),
    [
        ("python", "", "python"),
        ("Python", "file:///x", "python"),
        ("typescriptreact", "", "tsx"),
        ("typescript", "file:///a/b.TSX", "tsx"),
        ("javascriptreact", "", "javascript"),
        ("shellscript", "", "bash"),
        ("jsonc", "", "json"),
        ("", "file:///a%20b/x.rs", "rust"),
        ("plaintext", "file:///x.hpp", "cpp"),
        ("kotlin", "file:///x.py", None),  # a template language may use another's suffix
        ("scss", "file:///x.scss", None),
        ("", "", None),
        ("", "untitled:Untitled-1", None),
        ("", "http://[x", None),
    ],
)
def test_the_language_id_decides_and_the_suffix_where_it_says_nothing(
    language: str, uri: str, grammar: str | None
) -> None:
    assert grammar_of(language, uri) == grammar


@pytest.mark.parametrize("name", GRAMMARS)
def test_every_grammar_loads(name: str) -> None:
    assert load_language(name) is not None


def test_a_grammar_that_is_missing_is_said_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    name = "klingon"
    monkeypatch.setitem(grammars.GRAMMARS, name, Grammar(name, ()))
    with caplog.at_level(logging.WARNING):
        assert load_language(name) is None
        assert load_language(name) is None
    load_language.cache_clear()
    assert [record.getMessage() for record in caplog.records] == [
        "grammar klingon cannot be used: No module named 'tree_sitter_klingon'"
    ]


def test_a_grammar_that_breaks_while_it_loads_is_as_good_as_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broken = Grammar("broken", (), package="tree_sitter_python", function="no_such_function")
    monkeypatch.setitem(grammars.GRAMMARS, "broken", broken)
    assert load_language("broken") is None
    load_language.cache_clear()
