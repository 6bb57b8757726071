"""The syntax gate: whether a text put in at a cursor adds parse errors, and how much of it adds none.

Unfinished code is normal while typing. The errors that count are those beyond what the document has
without the text, or with a filler in its place, and beyond what open ends cause: a text is also good
if it is with a filler after it, its brackets closed, or a statement under its last header.
"""

import time
from collections.abc import Iterator

from goose_lsp.text.syntax.grammars import GRAMMARS, Grammar
from goose_lsp.text.syntax.parsing import Parse, parse
from goose_lsp.text.syntax.scope import open_at_end
from goose_lsp.text.syntax.tokens import tokens
from goose_lsp.text.syntax.window import around

GATE_LIMIT_S = 0.05  # of processor time, for all parses of one question


def adds_errors(before: str, text: str, after: str, grammar: str) -> int | None:
    """None: `text` between the two adds no error. Else how many of its first characters add none.

    Cut at line ends only, and 0 if nothing is good. None also where nothing can be parsed. A good text
    costs one parse of its surroundings, another one a few.
    """
    if grammar not in GRAMMARS or not text.strip():
        return None
    return _Gate(*around(before, after), GRAMMARS[grammar]).good_part(text)


class _Gate:
    def __init__(self, before: str, after: str, grammar: Grammar) -> None:
        self.before, self.after, self.grammar = before, after, grammar
        self.deadline = time.thread_time() + GATE_LIMIT_S

    def good_part(self, text: str) -> int | None:
        n_errors = self._n_errors(text)
        if not n_errors:
            return None
        self.n_allowed = min(self._n_errors("") or 0, self._n_errors(self.grammar.filler) or 0)
        if n_errors <= self.n_allowed or self._is_unfinished(text):
            return None
        for cut in _line_ends(text):
            if time.thread_time() > self.deadline:
                break
            if self._is_good(text[:cut]) or self._is_unfinished(text[:cut]):
                return cut
        return 0

    def _is_good(self, text: str) -> bool:
        n_errors = self._n_errors(text)
        return n_errors is not None and n_errors <= self.n_allowed

    def _is_unfinished(self, text: str) -> bool:
        """Whether what may still come makes it good."""
        return any(self._is_good(text + rest) for rest in self._rests(text))

    def _rests(self, text: str) -> Iterator[str]:
        yield self.grammar.filler
        whole = parse(self.before + text, self.grammar.name)
        if whole is None:
            return
        closers = self._closers(whole)
        if closers:
            yield closers
            yield self.grammar.filler + closers
        if self.grammar.is_indented and text.rstrip().endswith(":"):
            line = (self.before + text).rstrip().rpartition("\n")[2]
            indent = line[: len(line) - len(line.lstrip())]
            yield f"\n{indent}    {self.grammar.filler}"

    def _closers(self, whole: Parse) -> str:
        """What closes the brackets that the text leaves open; "" where it opens none."""
        opened = open_at_end(tokens(whole), whole.data)
        own = [o.closer for o in opened if o.start >= len(self.before)]
        return "".join(closer if len(closer) < 3 else f"\n{closer}" for closer in reversed(own))

    def _n_errors(self, text: str) -> int | None:
        found = parse(self.before + text + self.after, self.grammar.name)
        return None if found is None else count_errors(found)


def count_errors(whole: Parse) -> int:
    """How many places the parser could not make sense of, or put something in."""
    if not whole.tree.root_node.has_error:
        return 0
    n_errors, cursor = 0, whole.tree.walk()
    while True:
        node = cursor.node
        assert node is not None
        n_errors += node.is_error or node.is_missing
        if node.has_error and cursor.goto_first_child():
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return n_errors


def _line_ends(text: str) -> Iterator[int]:
    """Of its lines but the last, the last first."""
    end = text.rfind("\n")
    while end > 0:
        if text[:end].strip():
            yield end
        end = text.rfind("\n", 0, end)
