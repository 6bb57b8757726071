from hypothesis import given
from hypothesis import strategies as st

from goose_lsp.draft.estimate import Agreement, Estimator


@given(st.integers(1, 40), st.booleans(), st.sampled_from(Agreement))
def test_a_copy_estimate_is_a_probability(
    length: int, is_unanimous: bool, agree: Agreement
) -> None:
    assert 0 < Estimator().copy_cell(length, is_unanimous, agree).estimate() < 1


@given(st.booleans(), st.integers(0, 20), st.floats(0, 1), st.booleans())
def test_a_table_estimate_is_a_probability(
    is_pair: bool, rank: int, probability: float, has_copy: bool
) -> None:
    assert 0 < Estimator().table_cell(is_pair, rank, probability, has_copy).estimate() < 1


def test_longer_matches_are_trusted_more_from_the_start() -> None:
    estimates = [Estimator().copy_cell(n, False, Agreement.TOP).estimate() for n in range(1, 17)]
    assert estimates == sorted(estimates)


def test_experience_overrules_the_prior() -> None:
    cell = Estimator().copy_cell(16, True, Agreement.TOP)
    before = cell.estimate()
    for _ in range(200):
        cell.update(is_hit=False)
    assert cell.estimate() < 0.05 < before


def test_the_estimate_follows_a_change_of_regime() -> None:
    cell = Estimator().table_cell(True, 0, 0.5, False)
    for _ in range(10_000):
        cell.update(is_hit=False)
    for _ in range(4_000):
        cell.update(is_hit=True)
    assert cell.estimate() > 0.5


def test_the_same_features_share_one_cell() -> None:
    estimator = Estimator()
    estimator.copy_cell(30, True, Agreement.TOP).update(is_hit=True)
    assert estimator.copy_cell(16, True, Agreement.TOP).trials == 1
