import pytest

from goose_lsp.cancel import CancelToken
from goose_lsp.errors import CancelledError


def test_a_fresh_token_lets_work_go_on() -> None:
    token = CancelToken()
    token.check()
    assert not token.is_cancelled
    assert not token.is_expired


def test_a_cancelled_token_stops_work_for_good() -> None:
    token = CancelToken()
    token.cancel()
    token.cancel()
    assert token.is_cancelled
    assert not token.is_expired
    for _ in range(2):
        with pytest.raises(CancelledError, match=r"^cancelled$"):
            token.check()


def test_a_token_expires_at_its_deadline_and_not_before() -> None:
    now = 9.99
    token = CancelToken(deadline_s=10.0, clock=lambda: now)
    token.check()
    now = 10.0
    assert token.is_expired
    assert token.is_cancelled
    with pytest.raises(CancelledError, match="deadline passed"):
        token.check()


def test_another_tokens_deadline_may_take_the_place_of_its_own() -> None:
    now = 12.0
    token = CancelToken(10.0, lambda: now)
    token.follow(CancelToken(15.0, lambda: now))
    assert not token.is_cancelled
    now = 15.0
    assert token.is_expired
    token.follow(CancelToken())
    assert not token.is_expired


def test_cancelling_outranks_the_deadline_in_what_is_said() -> None:
    token = CancelToken(deadline_s=0.0, clock=lambda: 1.0)
    token.cancel()
    with pytest.raises(CancelledError, match=r"^cancelled$"):
        token.check()
