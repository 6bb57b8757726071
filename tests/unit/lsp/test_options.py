"""What clients may ask for, and what they are told when they ask for something else."""

import pytest

from goose_lsp.lsp.options import ClientOptions, parse_options


def test_every_option_has_its_place() -> None:
    raw = {
        "completion": True,
        "trace": True,
        "isolated": True,
        "policy": "plain",
        "maxNewTokens": 7,
    }
    assert parse_options(raw) == (ClientOptions(True, True, True, "plain", 7), [])


def test_no_options_are_fine() -> None:
    assert parse_options(None) == (ClientOptions(), [])
    assert parse_options({}) == (ClientOptions(), [])


@pytest.mark.parametrize(
    ("raw", "part"),
    [
        (5, "must be an object"),
        (["trace"], "must be an object"),
        ({"colour": 1}, "no option 'colour'"),
        ({"trace": "yes"}, "true or false"),
        ({"trace": 1}, "true or false"),
        ({"maxNewTokens": True}, "a whole number"),
        ({"maxNewTokens": -1}, "between 0 and 4096"),
        ({"policy": "fast"}, "one of goose, goose-paper, plain"),
    ],
)
def test_what_is_wrong_is_named_once_and_changes_nothing(raw: object, part: str) -> None:
    options, problems = parse_options(raw)
    assert options == ClientOptions()
    assert len(problems) == 1
    assert part in problems[0]


def test_a_wrong_option_does_not_cost_the_right_ones() -> None:
    options, problems = parse_options({"trace": 1, "isolated": True}, ClientOptions(policy="plain"))
    assert options == ClientOptions(is_isolated=True, policy="plain")
    assert len(problems) == 1
