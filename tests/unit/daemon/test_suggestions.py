"""What an editor is shown while its user types, deletes and accepts: a model of it, and single rules."""

from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from goose_lsp.daemon.completer import Ask
from goose_lsp.daemon.suggestions import MAX_CHARS, MAX_SUGGESTIONS, Suggestions
from goose_lsp.request import Completion, Edit, Point, Reason, Trigger
from goose_lsp.text.document import Document
from tests.marked import CURSOR, at_cursor

Shown = tuple[str, Reason] | None


def ask(marked: str, **wishes: Any) -> Ask:
    return Ask(*at_cursor(marked), **wishes)


def add(suggestions: Suggestions, then: Ask, text: str) -> None:
    suggestions.add(then, Completion(text, then.point, then.point, Reason.OK))


def suggestions_with(marked: str, text: str, **wishes: Any) -> Suggestions:
    suggestions = Suggestions()
    add(suggestions, ask(marked, **wishes), text)
    return suggestions


def shown(suggestions: Suggestions, marked: str, **wishes: Any) -> Shown:
    found = suggestions.find(ask(marked, **wishes))
    return (found.completion.text, found.completion.reason) if found else None


def offer(suggestions: Suggestions, marked: str, text: str) -> Reason:
    document, cursor = at_cursor(marked)
    return suggestions.offer(document, Completion(text, cursor, cursor, Reason.OK)).reason


def test_the_rest_is_shown_and_said_to_be_kept() -> None:
    suggestions = suggestions_with(f"a = {CURSOR}", "fn(b);")
    found = suggestions.find(ask(f"a = fn({CURSOR}"))
    assert found is not None
    answer = found.completion
    assert (answer.text, answer.start, answer.end) == ("b);", Point(0, 7), Point(0, 7))
    assert answer.stats == {"from_cache": True, "is_look_ahead": False, "n_typed": 3}


def test_all_typed_by_hand_is_an_answer_and_asked_by_hand_it_is_none() -> None:
    suggestions = suggestions_with(f"a = {CURSOR}", "fn;")
    assert shown(suggestions, f"a = fn;{CURSOR}") == ("", Reason.ALL_TYPED)
    suggestions = suggestions_with(f"a = {CURSOR}", "fn;", trigger=Trigger.INVOKED)
    assert shown(suggestions, f"a = fn;{CURSOR}", trigger=Trigger.INVOKED) is None


def test_behind_an_accepted_text_people_want_the_next_one() -> None:
    suggestions = suggestions_with(f"a = {CURSOR}", "fn;")
    suggestions.accept("fn;")
    assert shown(suggestions, f"a = fn;{CURSOR}") is None
    add(suggestions, ask(f"a = fn;{CURSOR}", is_look_ahead=True), "\nb")
    assert shown(suggestions, f"a = fn;{CURSOR}") == ("\nb", Reason.OK)


def test_an_accept_that_is_undone_offers_the_text_again() -> None:
    suggestions = suggestions_with(f"a = {CURSOR}", "fn;")
    suggestions.accept("fn;")
    assert shown(suggestions, f"a = {CURSOR}") == ("fn;", Reason.OK)
    assert shown(suggestions, f"a = fn;{CURSOR}") == ("", Reason.ALL_TYPED)


def test_the_end_of_a_suggestion_may_be_what_is_accepted() -> None:
    suggestions = suggestions_with(f"a = {CURSOR}", "fn(b);")
    suggestions.accept("b);")
    assert shown(suggestions, f"a = fn(b);{CURSOR}") is None


def test_a_suggestion_may_be_accepted_with_the_menu_entry_before_it() -> None:
    suggestions = suggestions_with(f"console.log{CURSOR}", '("hi")')
    suggestions.accept('.log("hi")')
    assert shown(suggestions, f'console.log("hi"){CURSOR}') is None


def test_a_look_ahead_does_not_come_before_what_is_typed_through() -> None:
    suggestions = suggestions_with(f"a = {CURSOR}", "fn;")
    add(suggestions, ask(f"a = fn;{CURSOR}", is_look_ahead=True), "\nb")
    assert shown(suggestions, f"a = fn;{CURSOR}") == ("", Reason.ALL_TYPED)
    assert shown(suggestions, f"a = fn;\n{CURSOR}") == ("b", Reason.OK)


def test_a_text_asked_for_by_hand_is_not_taken_from_those_that_came_by_themselves() -> None:
    suggestions = suggestions_with(f"a{CURSOR}", "b")
    assert shown(suggestions, f"a{CURSOR}", trigger=Trigger.INVOKED) is None
    by_hand = suggestions_with(f"a{CURSOR}", "b\nc", trigger=Trigger.INVOKED)
    assert shown(by_hand, f"a{CURSOR}") == ("b\nc", Reason.OK)
    assert shown(by_hand, f"a{CURSOR}", max_new_tokens=5) is None


def test_the_newest_that_fits_is_shown() -> None:
    suggestions = suggestions_with(f"a{CURSOR}", "bcd")
    add(suggestions, ask(f"ab{CURSOR}"), "xy")
    assert shown(suggestions, f"ab{CURSOR}") == ("xy", Reason.OK)
    assert shown(suggestions, f"abc{CURSOR}") == ("d", Reason.OK)
    assert shown(suggestions, f"ab{CURSOR}") == ("cd", Reason.OK)


def test_few_are_kept_and_of_a_bounded_size() -> None:
    suggestions = Suggestions()
    for number in range(MAX_SUGGESTIONS + 1):
        add(suggestions, ask(f"{number}:{CURSOR}"), "x")
    assert shown(suggestions, f"0:{CURSOR}") is None
    assert shown(suggestions, f"1:{CURSOR}") == ("x", Reason.OK)
    add(suggestions, ask(f"a:{CURSOR}"), "y" * MAX_CHARS)
    assert shown(suggestions, f"2:{CURSOR}") is None
    add(suggestions, ask(f"b:{CURSOR}"), "y" * (MAX_CHARS + 1))
    assert shown(suggestions, f"b:{CURSOR}") is None
    assert shown(suggestions, f"a:{CURSOR}") is not None


def test_what_was_rejected_is_not_served_again() -> None:
    suggestions = suggestions_with(f"a{CURSOR}", "bcd")
    add(suggestions, ask(f"x{CURSOR}"), "y")
    suggestions.reject("")
    suggestions.reject("cd")
    assert shown(suggestions, f"a{CURSOR}") is None
    assert shown(suggestions, f"x{CURSOR}") == ("y", Reason.OK)


BLOCK = "def add(a, b):\n    return a + b"


@pytest.mark.parametrize("text", [BLOCK, f"\n{BLOCK}\n", f"{BLOCK}\n\nx = 1"])
def test_an_accepted_text_is_not_offered_behind_itself(text: str) -> None:
    suggestions = Suggestions()
    suggestions.accept(BLOCK)
    assert offer(suggestions, f"# add\n{BLOCK}{CURSOR}", text) is Reason.JUST_ACCEPTED


@pytest.mark.parametrize(
    ("marked", "text"),
    [
        (f"# add\n{BLOCK}{CURSOR}", "\n\nadd(1, 2)"),
        (f"# add\n{BLOCK}\n\n{CURSOR}", BLOCK),
        (f"# add\n{CURSOR}", BLOCK),
    ],
)
def test_other_texts_and_other_places_are_free(marked: str, text: str) -> None:
    suggestions = Suggestions()
    suggestions.accept(BLOCK)
    assert offer(suggestions, marked, text) is Reason.OK


def test_a_word_may_begin_like_the_accepted_one() -> None:
    suggestions = Suggestions()
    suggestions.accept("a")
    assert offer(suggestions, f"a{CURSOR}", "a") is Reason.JUST_ACCEPTED
    assert offer(suggestions, f"a{CURSOR}", "ab") is Reason.OK


def test_an_edit_that_writes_all_that_was_shown_is_an_accept() -> None:
    suggestions = suggestions_with(f"a = {CURSOR}", "x\ny")
    offer(suggestions, f"a = {CURSOR}", "x\ny")
    suggestions.see([Edit(Point(0, 4), Point(0, 4), "x\r\ny")])
    assert shown(suggestions, f"a = x\ny{CURSOR}") is None


def test_one_character_or_another_text_is_no_accept() -> None:
    suggestions = suggestions_with(f"a = {CURSOR}", ";")
    offer(suggestions, f"a = {CURSOR}", ";")
    suggestions.see([Edit(Point(0, 4), Point(0, 4), ";"), Edit(Point(0, 5), Point(0, 5), "")])
    assert shown(suggestions, f"a = ;{CURSOR}") == ("", Reason.ALL_TYPED)


class Typist(RuleBasedStateMachine):
    """An editor whose user types along or not, against what such a user expects to be shown.

    The model's n-th text is unlike any other, so that what is shown says whence it comes.
    """

    @initialize(before=st.text("ab\n", max_size=3), after=st.sampled_from(["", "\n", "\nend\n"]))
    def open(self, before: str, after: str) -> None:
        self.suggestions = Suggestions()
        self.before, self.after = before, after
        self.n_calls = 0
        # What the user remembers: where each text was offered. The last one shown is the first.
        self.offers: list[tuple[str, str]] = []
        self.accepted = ""
        self.ask()

    def ask(self) -> None:
        """The editor asks after each key; without a kept text the model is called, once."""
        # Where indentation means something no line moves to the margin with what was offered in it.
        now, cursor = at_cursor(self.before + CURSOR + self.after, "python")
        found = self.suggestions.find(Ask(now, cursor))
        expected = self.expected()
        if found is None:
            assert expected is None
            self.n_calls += 1
            text = f"<{self.n_calls}>\n (z) "[: 4 + self.n_calls % 6].rstrip() + ";"
            self.offers.insert(0, (self.before, text))
            self.suggestions.add(Ask(now, cursor), Completion(text, cursor, cursor, Reason.OK))
            self.shown = text
        else:
            assert found.completion.text == expected
            assert (found.completion.reason is Reason.OK) == bool(expected)
            self.shown = found.completion.text
        completion = Completion(self.shown, cursor, cursor, Reason.OK)
        assert self.suggestions.offer(now, completion).text == self.shown

    def expected(self) -> str | None:
        for place, (start, text) in enumerate(self.offers[:MAX_SUGGESTIONS]):
            typed = self.before.removeprefix(start)
            if start + typed == self.before and text.startswith(typed):
                if typed == text == self.accepted:
                    continue
                self.offers.insert(0, self.offers.pop(place))
                self.accepted = ""
                return text[len(typed) :]
        return None

    def write(self, text: str) -> None:
        document = Document("u", 1, "", self.before)
        end = document.clamp(Point(document.n_lines, 0))
        self.suggestions.see([Edit(end, end, text)])
        self.before += text
        self.ask()

    @rule(n=st.integers(1, 3))
    def accept_some(self, n: int) -> None:
        if n < len(self.shown):
            self.write(self.shown[:n])

    @rule()
    def accept_a_line(self) -> None:
        if "\n" in self.shown:
            self.write(self.shown[: self.shown.find("\n") + 1])

    @rule()
    def accept_all(self) -> None:
        if len(self.shown) > 1:
            self.accepted = self.offers[0][1]
            self.write(self.shown)

    @rule()
    def type_the_next_character(self) -> None:
        if self.shown:
            self.write(self.shown[0])

    @rule(character=st.sampled_from("ab(\n"))
    def type_something_else(self, character: str) -> None:
        if character != self.shown[:1]:
            self.write(character)

    @rule(n=st.integers(1, 4))
    def delete(self, n: int) -> None:
        self.before = self.before[:-n]
        self.ask()

    @rule(line=st.sampled_from(["c\n", "d\n"]))
    def edit_below(self, line: str) -> None:
        """What follows has changed: nothing that was offered fits any more, nor may it come back."""
        self.after = f"\n{self.n_calls}{line}"
        self.offers.clear()
        self.ask()


TestTypist = Typist.TestCase
