"""What programs and people get to see of a completion."""

import json

from goose_lsp.request import Completion, Point, Reason
from goose_lsp.text.document import Document
from goose_lsp.text.present import as_json, in_context, printable


def make_completion(text: str, point: Point, **stats: object) -> Completion:
    return Completion(text, point, point, Reason.OK, stats=stats)


def test_json_counts_from_one_and_has_every_key_even_without_statistics() -> None:
    answer = as_json(make_completion("x", Point(2, 0)))
    assert answer["range"] == {"start": {"line": 3, "column": 1}, "end": {"line": 3, "column": 1}}
    assert answer["reason"] == "ok"
    keys = "n_tokens n_steps mean_accepted_len n_prompt_tokens n_prefilled prefill_ms decode_ms"
    for key in [*keys.split(), "total_ms", "model", "policy"]:
        assert answer[key] is None
    assert json.loads(json.dumps(answer)) == answer


def test_json_holds_statistics_and_the_trace_only_if_asked() -> None:
    completion = make_completion("x", Point(0, 0), n_tokens=4, trace=[["x", "spine"]])
    assert as_json(completion)["n_tokens"] == 4
    assert "trace" not in as_json(completion)
    assert as_json(completion, wants_trace=True)["trace"] == [["x", "spine"]]


def test_the_context_is_three_lines_either_side() -> None:
    document = Document("file:///a", 1, "", "".join(f"{i}\n" for i in range(10)))
    parts = in_context(document, make_completion("new", Point(5, 1)))
    assert parts == ("2\n3\n4\n5", "new", "\n6\n7\n8")


def test_a_replaced_range_is_not_shown_twice() -> None:
    document = Document("file:///a", 1, "", "ab cd ef")
    completion = Completion("XY", Point(0, 3), Point(0, 5), Reason.OK)
    assert in_context(document, completion) == ("ab ", "XY", " ef")


def test_control_characters_cannot_steer_the_terminal() -> None:
    assert printable("a\x1b[31mb\r\nc\td\x00") == "a\ufffd[31mb\nc\td\ufffd"
