import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.postprocessing import Case, failures, polish_ms, read_cases, score
from goose_lsp.errors import GooseError
from goose_lsp.request import Point, Reason
from goose_lsp.text.postprocess import Shown
from tests.fakes import data_folder


def case(expect: dict[str, Any], raw: str = "b", level: str = "must", **options: Any) -> Case:
    record = {"id": "x", "level": level, "lang": "", "prefix": "f(a.", "suffix": ")  \nc"}
    return Case.of({**record, "raw": raw, "expect": expect, "options": options})


def shown(text: str, n_replaced: int = 0) -> Shown:
    reason = Reason.OK if text else Reason.NOTHING_TO_ADD
    return Shown(text, Point(0, 4), Point(0, 4 + n_replaced), reason)


@pytest.mark.parametrize("answer", [shown("b"), shown("b)", 1), shown("b)", 3)])
def test_results_are_compared_as_documents(answer: Shown) -> None:
    assert case({"shown": [{"text": "b", "eat": 0}]}).passes(answer)
    assert case({"shown": [{"text": "b)", "eat": 1}]}).passes(answer)
    assert not case({"shown": [{"text": "b)", "eat": 0}]}).passes(answer)


def test_nothing_passes_only_where_it_is_allowed() -> None:
    assert case({"nothing": "required"}).passes(shown(""))
    assert case({"nothing": "allowed", "shown": []}).passes(shown(""))
    assert not case({"shown": [{"text": "", "eat": 0}]}).passes(shown(""))
    assert not case({"nothing": "required"}).passes(shown("b"))


def test_a_forbidden_text_fails_and_any_other_passes_where_none_is_named() -> None:
    forbidding = case({"must_not_contain": ["no"]})
    assert forbidding.passes(shown("b"))
    assert not forbidding.passes(shown("nob"))


def test_options_become_what_the_editor_and_the_tokenizer_say() -> None:
    made = case({}, stop=["END"], tab_size=2, insert_spaces=True)
    document, cursor = made.placed(above="x\n", below="\nd")
    assert (document.text, cursor) == ("x\nf(a.)  \nc\nd", Point(1, 4))
    assert made.how(ending=Never()).indent_unit == "  "
    assert made.how(ending=Never()).control_spellings == {"END"}
    assert case({}, tab_size=2, insert_spaces=False).how(Never()).indent_unit == "\t"
    assert case({}, indent="   ").how(Never()).indent_unit == "   "


class Never:
    def end(self, text: str) -> int | None:
        return None


def test_a_selected_entry_stands_in_the_document_already() -> None:
    made = case(
        {"shown": [{"text": "bcd()", "eat": 0}]}, selected_item={"text": "abc", "replaces": "a."}
    )
    assert made.placed()[0].line_text(0) == "f(abc)  "
    assert made.passes(Shown("d()", Point(0, 5), Point(0, 5), Reason.OK)) is False
    assert case(
        {"shown": [{"text": "bc()", "eat": 0}]}, selected_item={"text": "a.bc", "replaces": "a."}
    ).passes(Shown("()", Point(0, 6), Point(0, 6), Reason.OK))


def test_cases_are_counted_by_level_and_failures_listed() -> None:
    right = case({"shown": [{"text": "b", "eat": 0}]})
    wrong = case({"nothing": "required"}, level="should")
    counts = score([right, wrong, right])
    assert counts == {
        "must_pass": 2,
        "must_total": 2,
        "should_pass": 0,
        "should_total": 1,
        "policy_pass": 0,
        "policy_total": 0,
    }
    assert [failed for failed, _ in failures([right, wrong])] == [wrong]


def test_polishing_is_timed_in_a_long_document() -> None:
    times = polish_ms([case({}), case({})], n_lines=100)
    assert 0.0 < times["p50"] <= times["p95"]


def test_a_data_set_that_is_not_there_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(GooseError, match="no data set postprocess under"):
        read_cases(tmp_path)
    folder = tmp_path / "postprocess"
    folder.mkdir()
    record = case({}).record
    (folder / "postprocess_cases.jsonl").write_text(json.dumps(record) + "\n", "utf-8")
    assert read_cases(tmp_path) == [Case.of(record)]


def test_the_cases_of_the_data_set_come_out_right() -> None:
    try:
        counts = score(read_cases(data_folder()))
    except GooseError as error:
        pytest.skip(f"{error} (set GOOSE_LSP_DATA)")
    assert counts["must_pass"] == counts["must_total"] > 0
    assert counts["should_pass"] >= 0.9 * counts["should_total"]
