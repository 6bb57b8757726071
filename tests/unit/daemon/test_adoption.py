"""When work for an older text may serve a newer one, and what it then answers."""

from dataclasses import replace
from typing import Any

import pytest

from goose_lsp.daemon.adoption import Progress, served, typed_since
from goose_lsp.daemon.completer import Ask
from goose_lsp.request import Completion, Point, Reason, Trigger
from tests.marked import CURSOR, at_cursor


def ask(marked: str, **wishes: Any) -> Ask:
    return Ask(*at_cursor(marked), **wishes)


def made(then: Ask, text: str, reason: Reason = Reason.OK) -> Completion:
    return Completion(text, then.point, then.point, reason, stats={"n_tokens": 3})


def check_typed(then: str, decoded: str, now: str, typed: str | None) -> None:
    assert typed_since(ask(then), decoded, ask(now)) == typed


def test_what_agrees_with_what_was_decoded_may_be_served() -> None:
    check_typed(f"x = {CURSOR}", "fo", f"x = f{CURSOR}", "f")
    check_typed(f"x = {CURSOR}", "fo", f"x = foo.b{CURSOR}", "foo.b")
    check_typed(f"x = {CURSOR}", "f(", f"x = f({CURSOR})", "f(")
    check_typed(f"if {CURSOR}\n", "a:\n    b", f"if a:\n    {CURSOR}\n", "a:\n    ")


def test_what_disagrees_may_not() -> None:
    check_typed(f"x = {CURSOR}", "fo", f"x = g{CURSOR}", None)
    check_typed(f"x = {CURSOR}", "fo", f"y = f{CURSOR}", None)
    check_typed(f"x = {CURSOR}\na", "fo", f"x = f{CURSOR}\nb", None)
    check_typed(f"x = {CURSOR}", "fo", f"x ={CURSOR}", None)


def test_before_anything_is_decoded_only_the_same_text_may_be_served() -> None:
    check_typed(f"x = {CURSOR}", "", f"x = {CURSOR}", "")
    check_typed(f"x = {CURSOR}", "", f"x = f{CURSOR}", None)


def test_leading_blanks_do_not_decide() -> None:
    check_typed(f"x = {CURSOR}", " fo", f"x = f{CURSOR}", "f")
    check_typed(f"x ={CURSOR}", "fo", f"x = f{CURSOR}", " f")


@pytest.mark.parametrize(
    "wish",
    [{"is_isolated": True}, {"wants_trace": True}, {"policy": "plain"}, {"max_new_tokens": 5}],
)
def test_a_request_with_wishes_of_its_own_has_its_own_work(wish: dict[str, Any]) -> None:
    marked = f"x = {CURSOR}"
    assert typed_since(ask(marked, **wish), "fo", ask(marked)) is None
    assert typed_since(ask(marked), "fo", ask(marked, **wish)) is None


def test_work_asked_for_by_hand_serves_both_kinds_and_other_work_one() -> None:
    marked = f"x = {CURSOR}"
    by_hand = ask(marked, trigger=Trigger.INVOKED)
    assert typed_since(by_hand, "fo", ask(marked)) == ""
    assert typed_since(by_hand, "fo", by_hand) == ""
    assert typed_since(ask(marked), "fo", by_hand) is None


def test_work_stops_as_soon_as_it_disagrees() -> None:
    stops: list[str] = []
    progress = Progress(lambda: stops.append(progress.text))
    progress.put("fo")
    progress.typed = "foo(b"
    for text in ("foo", "foo(b", "foo(bar"):
        progress.put(text)
    assert stops == []
    progress.put("foo(x")
    assert stops == ["foo(x"]


def test_the_remainder_is_served_at_the_newer_cursor() -> None:
    then, now = ask(f"x = {CURSOR}\n"), ask(f"x = f({CURSOR})\n")
    answer = served(then, made(then, "f(b)"), now)
    assert answer is not None
    assert (answer.text, answer.start, answer.end) == ("b)", Point(0, 6), Point(0, 7))
    assert (answer.reason, answer.stats["n_typed"], answer.stats["n_tokens"]) == (Reason.OK, 2, 3)


def test_what_was_typed_to_its_end_leaves_nothing() -> None:
    then, now = ask(f"x = {CURSOR}"), ask(f"x = fn{CURSOR}")
    answer = served(then, made(then, "fn"), now)
    assert answer is not None
    assert (answer.text, answer.reason) == ("", Reason.ALL_TYPED)


def test_what_no_longer_agrees_is_no_answer() -> None:
    then = ask(f"x = {CURSOR}")
    assert served(then, made(then, "fn"), ask(f"x = g{CURSOR}")) is None
    elsewhere = replace(made(then, "x = fn"), start=Point(0, 0))
    assert served(then, elsewhere, ask(f"x = {CURSOR}")) is None


@pytest.mark.parametrize(
    ("reason", "now", "is_served"),
    [
        (Reason.NOTHING_TO_ADD, f"x = {CURSOR}", True),
        (Reason.MODEL_MISSING, f"x = {CURSOR}", True),
        (Reason.NOTHING_TO_ADD, f"x = f{CURSOR}", False),
        (Reason.CANCELLED, f"x = {CURSOR}", False),
        (Reason.DEADLINE, f"x = {CURSOR}", False),
    ],
)
def test_nothing_is_an_answer_to_the_same_text_once_work_is_done(
    reason: Reason, now: str, is_served: bool
) -> None:
    then = ask(f"x = {CURSOR}")
    answer = served(then, made(then, "", reason), ask(now))
    assert (answer is not None and answer.reason is reason) == is_served
