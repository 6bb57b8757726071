import pytest

from benchmarks import measures
from benchmarks.spec_report import print_tables
from tests.recordings import recorded


def test_the_tables_name_every_policy_set_and_what_is_missing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    _, results = recorded()
    summary = measures.summary(results)
    fault = {"set": "mbpp", "budget": 8, "best_policy": "pld", "ours": 2.0, "best": 2.5}
    print_tables(
        {
            **summary,
            "rows": measures.rows_of(results, "live"),
            "non_degradation_violations": [fault],
            "draft_ms_at_60": 0.25,
            "missing_policies": {"gander": "there is no policy gander"},
            "mode": "live",
            "n": 3,
        }
    )
    shown = capsys.readouterr().out
    for text in ("humaneval", "safim", "pld", "token-recycling", "mbpp at 8: 2.0 < 2.5", "gander"):
        assert text in shown
    assert f"{summary['macro']['goose']['auto']:.2f}" in shown
