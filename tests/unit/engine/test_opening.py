from goose_lsp.engine.opening import Opening

PIECES = ["x", "\n", "\n    ", " y", "", "\n\n"]


def opening(text: str) -> Opening:
    return Opening(text, PIECES.__getitem__)


def test_the_best_token_that_begins_with_what_is_owed_is_chosen() -> None:
    owed = opening("\n")
    assert owed.choose([0, 4, 2, 1]) == 2
    assert owed.left == ""


def test_what_is_owed_may_take_several_tokens() -> None:
    owed = opening("\n\n")
    assert owed.choose([0, 1]) == 1
    assert owed.left == "\n"
    assert owed.choose([3, 2]) == 2
    assert owed.left == ""


def test_where_nothing_fits_the_best_token_stands_and_nothing_is_owed_any_more() -> None:
    owed = opening("\n")
    assert owed.choose([0, 3]) == 0
    assert owed.left == ""
