from collections.abc import Sequence
from itertools import islice

import pytest

from benchmarks.keystrokes import Moment, play
from benchmarks.prompting import GOALS, LAYOUTS, prefilled, summary, with_control_tokens
from goose_lsp.engine.gguf_file import open_model
from goose_lsp.prompt.fim import detect
from goose_lsp.request import Point
from goose_lsp.text.document import Document
from tests.fakes import data_folder, embedded_model
from tests.vocabularies import marked_tokenizer

N_MOMENTS = 600  # of some 1,600: enough to see a layout move, in a second
BYTES = marked_tokenizer(["<|end|>"])


def moments(texts: Sequence[str], uri: str = "file:///a.py") -> list[Moment]:
    """The cursor at the end of each text."""
    return [
        Moment(Document(uri, 1, "python", text), Point(0, len(text)), "a.py", is_typed=True)
        for text in texts
    ]


def test_only_tokens_that_no_context_holds_count() -> None:
    line = "x = 1" * 30  # long enough to be kept beside another
    there, back = moments([line, f"{line}2"]), moments([f"{line}2"])
    aside = moments(["y" * 100], "file:///b.py")
    costs = [n_new for _, n_new in prefilled([*there, *aside, *back], BYTES)]
    header = len("# a.py\n")
    assert costs[:2] == [header + len(line), 1]
    assert costs[2] >= 100
    assert costs[3] == 0


@pytest.mark.parametrize(("layout", "control_tokens"), LAYOUTS.items())
def test_every_layout_is_what_its_name_says(layout: str, control_tokens: Sequence[str]) -> None:
    fim = detect(with_control_tokens(BYTES, control_tokens))
    assert (fim.order.value if fim else "prefix-only") == layout


def test_more_control_tokens_leave_the_vocabulary_as_it_is() -> None:
    marked = with_control_tokens(BYTES, ["<x>", "<y>"])
    assert marked.control_ids == {256, 257, 258}
    assert marked.encode("a<x>") == BYTES.encode("a<x>")


def test_a_summary_names_what_half_and_nearly_all_stay_below() -> None:
    assert summary([1] * 19 + [101]) == {"n": 20, "p50": 1.0, "mean": 6.0, "p95": 6.0}


@pytest.mark.model
@pytest.mark.parametrize("layout", LAYOUTS)
def test_typing_in_the_recorded_session_stays_within_the_goals(layout: str) -> None:
    file = data_folder() / "keystrokes" / "session-1-first-60.jsonl.gz"
    if not file.exists():
        pytest.skip(f"no {file} (set GOOSE_LSP_DATA)")
    _, tokenizer = open_model(embedded_model())
    moments = islice(play(file), N_MOMENTS)
    costs = prefilled(moments, with_control_tokens(tokenizer, LAYOUTS[layout]))
    found = summary([n_new for moment, n_new in costs if moment.is_typed])
    assert all(found[name] <= goal for name, goal in GOALS.items()), found
