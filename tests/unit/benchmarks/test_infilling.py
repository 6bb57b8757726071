import csv
from pathlib import Path

from benchmarks.infilling import Filled, Hole, adds_error, score, score_all, similarity, write_rows
from goose_lsp.request import Completion, Point, Reason

HOLE = Hole("h/1", "python", "def f(a):\n", "\n\nf(1)\n", "    return a\n")


def filled(text: str, reason: Reason = Reason.OK, raw: str = "    return b") -> Filled:
    completion = Completion(text, Point(1, 0), Point(1, 0), reason, stats={"n_tokens": 6})
    return Filled(HOLE, completion, len(text.split()), raw)


def test_a_line_taken_out_leaves_an_empty_one() -> None:
    record = {
        "id": "a",
        "lang": "python",
        "prefix": "x\r\n",
        "suffix": "y\n",
        "reference": "z\n",
    }
    hole = Hole.of(record)
    assert hole.placed()[0].text == "x\n\ny\n"
    assert hole.placed()[1] == Point(1, 0)
    assert Hole.of({**record, "reference": "z"}).suffix == "y\n"


def test_a_row_tells_what_was_shown_from_what_the_bare_model_says() -> None:
    row = filled("    return a").row
    assert (row["exact"], row["raw_exact"], row["reason"]) == (1, 0, "ok")
    assert row["edit_similarity"] == 1 > row["raw_edit_similarity"]
    assert filled("").row["exact"] == 0


def test_blanks_at_line_ends_make_no_difference() -> None:
    assert filled("    return a  ").row["exact"] == 1
    assert similarity(" a ", "a") == 1
    assert similarity("", "") == 0


def test_rates_are_over_all_holes_and_silence_is_told_by_its_reason() -> None:
    some = [filled("    return a"), filled("", Reason.NOT_CODE)]
    assert score(some) == {
        "exact": 0.5,
        "edit_similarity": 0.5,
        "raw_exact": 0,
        "raw_edit_similarity": score(some)["raw_edit_similarity"],
        "shown_share": 0.5,
        "n": 2,
    }
    assert score_all(some) == {
        "parse_error_share": 0,
        "n_parsed": 1,
        "decoded_per_shown": 6,
        "silent_by_reason": {"not-code": 1},
    }


def test_nothing_filled_has_no_rates() -> None:
    assert score_all([])["parse_error_share"] is None


def test_an_open_end_is_an_error() -> None:
    assert adds_error(filled("    return (a"))
    assert not adds_error(filled("    return (a)"))
    assert adds_error(Filled(Hole("h", "", "a", "", ""), filled("b").completion, 1, "")) is None


def test_a_line_a_case(tmp_path: Path) -> None:
    write_rows({"infilling": [filled("    return a")], "safim": []}, tmp_path / "cases.csv")
    with (tmp_path / "cases.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [(row["set"], row["id"], row["exact"]) for row in rows] == [("infilling", "h/1", "1")]
