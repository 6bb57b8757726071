"""Syntax of documents by their grammars. tree-sitter is used here alone, and only by the daemon."""

from goose_lsp.text.syntax.gate import adds_errors
from goose_lsp.text.syntax.grammars import grammar_of

__all__ = ["adds_errors", "grammar_of"]
