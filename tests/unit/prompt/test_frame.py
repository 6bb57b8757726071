"""Who gets the budget."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goose_lsp.prompt.fim import PLAIN, FimFormat, detect
from goose_lsp.prompt.frame import (
    MAX_INSERTED_CHARS,
    NEAR_SUFFIX_SHARE,
    SNIPPETS_SHARE,
    SUFFIX_SHARE,
    Frame,
    Surroundings,
    make_frame,
)
from goose_lsp.request import Point, Snippet
from goose_lsp.text.document import Document
from goose_lsp.tokenizer import Tokenizer
from tests.vocabularies import marked_tokenizer

PSM = marked_tokenizer(["<fim_prefix>", "<fim_suffix>", "<fim_middle>"])
SPM = marked_tokenizer(["<[fim-prefix]>", "<[fim-suffix]>", "<[fim-middle]>"])
SNIPPETS = tuple(Snippet(f"{name}.py", f"{name} = 1\n" * 5) for name in "abc")


def format_of(tokenizer: Tokenizer) -> FimFormat:
    return detect(tokenizer) or PLAIN


def surroundings(
    after: str = "after\n" * 400, path: str = "src/cur.py", snippets: tuple[Snippet, ...] = SNIPPETS
) -> Surroundings:
    document = Document("file:///w/src/cur.py", 1, "python", f"before\n{after}")
    return Surroundings(document, Point(1, 0), path, "w", snippets)


def framed(around: Surroundings, budget: int, tokenizer: Tokenizer = PSM) -> Frame:
    return make_frame(around, format_of(tokenizer), tokenizer, budget, SUFFIX_SHARE)


def text_of(frame: Frame) -> str:
    return PSM.decode(frame.before_ids + frame.after_ids)


def test_a_large_budget_holds_everything_and_the_most_useful_snippet_stands_nearest() -> None:
    text = text_of(framed(surroundings("after\n"), 4000))
    assert text.index("# c.py") < text.index("# b.py") < text.index("# a.py")
    assert text.index("# a.py") < text.index("# src/cur.py\n") < text.index("after")


@pytest.mark.parametrize(
    ("budget", "kept"),
    [
        (1500, {"snippets", "suffix", "path", "format"}),
        (240, {"suffix", "path", "format"}),
        (100, {"path", "format"}),
        (40, {"format"}),
        (10, set()),
    ],
)
def test_what_does_not_fit_goes_in_order(budget: int, kept: set[str]) -> None:
    frame = framed(surroundings(), budget)
    text = text_of(frame)
    found = {
        "snippets": "# a.py" in text,
        "suffix": "after" in text,
        "path": "cur.py" in text,
        "format": PSM.id_of("<fim_prefix>") in frame.before_ids,
    }
    assert {name for name, is_kept in found.items() if is_kept} == kept


@settings(deadline=None)
@given(st.integers(0, 3000), st.integers(0, 30), st.sampled_from([PSM, SPM, marked_tokenizer([])]))
def test_no_number_of_files_takes_the_prefixs_share(
    budget: int, n_files: int, tokenizer: Tokenizer
) -> None:
    snippets = tuple(Snippet(f"{i}.py", f"line {i}\n" * (i + 1)) for i in range(n_files))
    frame = framed(surroundings(snippets=snippets), budget, tokenizer)
    n_ids = len(frame.before_ids) + len(frame.after_ids)
    assert n_ids + frame.max_prefix_tokens + frame.max_middle_tokens == budget
    assert frame.max_prefix_tokens >= int(budget * (1 - SUFFIX_SHARE - SNIPPETS_SHARE) / 2)


def test_a_snippet_is_taken_whole_or_not_at_all() -> None:
    long = Snippet("long.py", "x\n" * 1000)
    text = text_of(framed(surroundings(snippets=(SNIPPETS[0], long)), 1500))
    assert "a = 1" in text
    assert "long.py" not in text


def test_a_document_without_a_path_is_named_only_where_other_files_stand_beside_it() -> None:
    assert "cur.py" in text_of(framed(surroundings(path=""), 1500))
    alone = framed(surroundings(path="", snippets=()), 1500)
    assert "cur.py" not in text_of(alone)


def test_a_line_end_in_a_path_stays_in_its_line() -> None:
    frame = framed(surroundings(path="a\nimport os\n.py", snippets=()), 1500)
    assert "# a import os .py\n" in text_of(frame)


def test_a_near_frame_has_a_shorter_suffix_of_whole_lines() -> None:
    fim = format_of(PSM)
    near = make_frame(surroundings(), fim, PSM, 1500, NEAR_SUFFIX_SHARE)
    far = framed(surroundings(), 1500)
    assert near.suffix is not None
    assert far.suffix is not None
    assert far.suffix.startswith(near.suffix)
    assert far.suffix.endswith("after\n")
    assert len(PSM.encode(near.suffix)) <= 1500 * NEAR_SUFFIX_SHARE < len(PSM.encode(far.suffix))


def holds(before: str, after: str, budget: int = 1500) -> bool:
    """Whether a frame made with `before` behind the cursor still holds with `after` there."""
    return framed(surroundings(before), budget).is_before(surroundings(after))


LONG = "next\n" * 400


@pytest.mark.parametrize(
    ("before", "after", "is_held"),
    [
        ("\nnext\n", "\nnext\n", True),
        ("\nnext\n", ")\nnext\n", True),  # the editor closed a bracket
        ("\nnext\n", ")}]\"'\nnext\n", True),
        ("}\nnext\n", "\n    }\nnext\n", True),  # Enter between braces
        ("", "\n", True),
        ("\nnext\n", ", x)\nnext\n", False),
        (")\nnext\n", "\nnext\n", False),  # a bracket was typed over
        ("\nnext\n", "\nnext\nmore\n", False),  # the suffix said that nothing follows
        ("", "next", False),
        (f"\n{LONG}", f"\n{LONG}more", True),  # behind what the suffix says
        (f"\n{LONG}", "\nnext\n", False),
        ("\nnext\n", " " * (MAX_INSERTED_CHARS + 1) + "\nnext\n", False),
    ],
)
def test_a_suffix_holds_while_the_document_goes_on_as_it_says(
    before: str, after: str, is_held: bool
) -> None:
    assert holds(before, after) is is_held
    crlf = [text.replace("\n", "\r\n") for text in (before, after)]
    assert holds(crlf[0], crlf[1]) is is_held


def test_a_prompt_without_a_suffix_holds_whatever_follows() -> None:
    plain = framed(surroundings(), 1500, marked_tokenizer([]))
    assert plain.is_before(surroundings("anything else"))
    assert holds("one", "another", budget=40)


def test_a_frame_is_made_anew_for_other_snippets_or_another_budget() -> None:
    fim, around = format_of(PSM), surroundings()
    frame = framed(around, 1500)
    assert frame.is_made_from(surroundings("typed on"), fim, 1500)
    assert not frame.is_made_from(around, fim, 1400)
    assert not frame.is_made_from(around, PLAIN, 1500)
    assert not frame.is_made_from(surroundings(snippets=SNIPPETS[:1]), fim, 1500)
    assert not frame.is_made_from(surroundings(path="other.py"), fim, 1500)
