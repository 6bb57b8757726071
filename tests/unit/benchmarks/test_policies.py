import pytest

from benchmarks import policies
from benchmarks.policies import (
    AUTO,
    COPY_ONLY,
    MAX_NODES,
    PLAIN,
    TABLE_ONLY,
    Config,
    MissingPolicyError,
    configs_of,
    expand,
    make_policy,
    max_nodes,
    missing,
)
from goose_lsp.draft.policy import Memory, PlainPolicy
from goose_lsp.draft.tree import Origin
from goose_lsp.errors import GooseError
from tests.recordings import COST, END_IDS

TEXT = [1, 2, 3, 4, 5, 6, 1, 2, 3]


def test_a_family_stands_for_its_settings() -> None:
    assert expand(["pld", "goose", "isotropic", "pld"]) == [
        *("pld-transformers", "pld", "goose", "isotropic-3", "isotropic-5"),
    ]


def test_only_goose_chooses_its_own_budget() -> None:
    assert configs_of(["plain", "suffix", "goose"], [4, AUTO]) == [
        *(Config("suffix", 4), Config("goose", 4), Config("goose", AUTO)),
    ]
    with pytest.raises(GooseError, match="suffix takes a number of nodes"):
        make_policy("suffix", Memory(), END_IDS, AUTO, ())


def test_no_named_policy_is_missing() -> None:
    assert not missing([*policies.ALL, *policies.QUICK, COPY_ONLY, TABLE_ONLY])


def test_an_unknown_policy_is_named_with_what_there_is() -> None:
    assert list(missing(["goose", "gander"])) == ["gander"]
    with pytest.raises(MissingPolicyError, match=r"no policy gander; known here: plain, goose"):
        make_policy("gander", Memory(), END_IDS, 4, ())


def test_baselines_that_are_not_there_are_named_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(policies, "baselines", dict)
    assert list(missing(["plain", "pld", "goose"])) == ["pld-transformers", "pld"]


@pytest.mark.parametrize("name", expand(policies.ALL))
def test_every_policy_keeps_its_budget(name: str) -> None:
    policy = make_policy(name, Memory(), END_IDS, 3, ())
    policy.extend(TEXT)
    tree = policy.draft(max_nodes(Config(name, 3), ()), max_depth=9)
    assert tree.token_ids[0] == TEXT[-1]
    assert len(tree) <= 1 + max_nodes(Config(name, 3), ())


def test_the_published_algorithm_may_borrow_nodes() -> None:
    assert max_nodes(Config("goose-paper", 30), ()) == 50
    assert max_nodes(Config("goose-paper", 60), ()) == MAX_NODES
    assert max_nodes(Config("goose", 60), ()) == 60
    assert max_nodes(Config("goose", AUTO), COST.table(63)) == 63
    assert isinstance(make_policy(*("plain", Memory(), END_IDS), PLAIN.budget, ()), PlainPolicy)


def test_each_source_alone_drafts_nothing_of_the_other() -> None:
    for name, wanted in ((COPY_ONLY, {Origin.SPINE}), (TABLE_ONLY, set())):
        policy = make_policy(name, Memory(), END_IDS, 8, ())
        policy.extend(TEXT)
        assert set(policy.draft(8, 9).origins[1:]) == wanted
