"""A request from its prompt to its polished answer, with a model that is a script."""

from goose_lsp.cancel import CancelToken
from goose_lsp.daemon.completer import Ask
from goose_lsp.request import Completion, Point, Reason
from goose_lsp.text.document import Document
from tests.scripted_model import Script, scripted_completer


def complete(text: str, *lines: tuple[str, str], language: str = "python") -> Completion:
    """At the ‸ in the text."""
    before, _, after = text.partition("‸")
    point = Point(before.count("\n"), len(before) - before.rfind("\n") - 1)
    document = Document("file:///a", 1, language, before + after)
    return scripted_completer(Script(list(lines))).complete(Ask(document, point), CancelToken())


def test_the_script_is_followed_to_its_end() -> None:
    made = complete("def f(a):\n    ‸", ("    ", "return a"))
    assert (made.text, made.reason) == ("return a", Reason.OK)


def test_the_longest_tail_decides() -> None:
    assert complete("x = ‸", ("= ", "1"), ("x = ", "22")).text == "22"


def test_an_answer_begun_is_gone_on_with() -> None:
    assert complete("x = fo‸", ("x = ", "foo(bar)")).text == "o(bar)"


def test_where_nothing_is_written_there_is_nothing_to_add() -> None:
    made = complete("x = ‸", ("y = ", "1"))
    assert (made.text, made.reason) == ("", Reason.NOTHING_TO_ADD)


def test_closers_that_stand_behind_the_cursor_are_not_doubled() -> None:
    made = complete("print(‸)\n", ("print(", "name)\n"))
    assert made.text == "name"
    assert made.start == made.end == Point(0, 6)
