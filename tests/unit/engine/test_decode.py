from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest

from goose_lsp.cancel import CancelToken
from goose_lsp.draft.accept import Acceptance
from goose_lsp.draft.bigrams import AdjacencyTable
from goose_lsp.draft.drafter import Drafter
from goose_lsp.draft.policy import Memory, PlainPolicy, Policy
from goose_lsp.draft.tree import DraftTree, Origin, chain
from goose_lsp.engine.decode import DecodeLimits, Decoder, DecodeStats
from goose_lsp.engine.opening import Opening
from goose_lsp.engine.sample import Sampling, draw_token
from goose_lsp.errors import CancelledError
from tests.tiny import tiny_target

PROMPT = [3, 1, 4, 1, 5, 9, 2, 6]
NO_ENDS: frozenset[int] = frozenset()
N = 12


@dataclass(slots=True)
class Oracle:
    """Drafts what the target will say, up to `n_drafted` tokens ahead."""

    truth: list[int]
    n_drafted: int = 3
    n_known: int = -len(PROMPT)
    last_token: int = -1
    learned: list[Acceptance] = field(default_factory=list)

    def extend(self, token_ids: Sequence[int]) -> None:
        self.n_known += len(token_ids)
        self.last_token = token_ids[-1]

    def draft(self, max_nodes: int, max_depth: int) -> DraftTree:
        n = min(self.n_drafted, max_nodes, max_depth)
        return chain(self.last_token, self.truth[self.n_known : self.n_known + n])

    def learn(self, tree: DraftTree, acceptance: Acceptance) -> None:
        del tree
        self.learned.append(acceptance)


def decoder(
    policy: Policy,
    *,
    n: int = N,
    end_ids: frozenset[int] = NO_ENDS,
    max_tokens: int = 128,
    cancel: CancelToken | None = None,
    table: AdjacencyTable | None = None,
    sampling: Sampling | None = None,
) -> Decoder:
    limits = DecodeLimits(n, max_nodes=8, end_ids=end_ids)
    target = tiny_target(max_tokens=max_tokens)
    made = Decoder(target, policy, limits, cancel or CancelToken(), table, sampling=sampling)
    made.prefill(PROMPT)
    return made


def plain_tokens(n: int = N) -> list[int]:
    return [token for step in decoder(PlainPolicy(), n=n).steps() for token, _ in step]


def test_plain_decoding_takes_one_token_a_pass() -> None:
    plain = decoder(PlainPolicy())
    steps = list(plain.steps())
    assert [len(step) for step in steps] == [1] * N
    assert {origin for step in steps for _, origin in step} == {Origin.MODEL}
    assert (plain.stats.n_tokens, plain.stats.n_steps, plain.stats.n_accepted) == (N, N, 0)
    assert plain.stats.mean_accepted_len == 1.0


def test_right_drafts_give_the_same_tokens_in_fewer_passes() -> None:
    policy = Oracle(plain_tokens())
    drafted = decoder(policy)
    steps = list(drafted.steps())
    assert [token for step in steps for token, _ in step] == policy.truth
    stats = drafted.stats
    assert stats.n_tokens == stats.n_accepted + stats.n_steps == N
    assert (stats.n_steps, stats.n_drafted, stats.n_accepted) == (3, 9, 9)
    assert stats.mean_accepted_len == 4.0
    assert len(policy.learned) == stats.n_steps


def test_accepted_tokens_carry_their_origin_and_the_bonus_is_the_models() -> None:
    step = next(iter(decoder(Oracle(plain_tokens())).steps()))
    assert [origin for _, origin in step] == [Origin.SPINE] * 3 + [Origin.MODEL]


def test_an_end_token_inside_an_accepted_path_ends_the_text_before_it() -> None:
    truth = plain_tokens()
    place = next(i for i in range(1, 3) if truth[i] not in truth[:i])
    ended = decoder(Oracle(truth), end_ids=frozenset({truth[place]}))
    tokens = [token for step in ended.steps() for token, _ in step]
    assert tokens == truth[:place]
    assert ended.stats.n_tokens == place
    assert ended.stats.n_accepted == 3


def test_an_end_token_at_once_yields_nothing() -> None:
    ended = decoder(PlainPolicy(), end_ids=frozenset(plain_tokens(1)))
    assert list(ended.steps()) == []
    assert ended.stats.n_tokens == 0


@pytest.mark.parametrize("n", [1, 2, 5])
def test_no_more_tokens_come_than_were_asked_for(n: int) -> None:
    limited = decoder(Oracle(plain_tokens()), n=n)
    assert [token for step in limited.steps() for token, _ in step] == plain_tokens(n)


def test_cancelling_stops_between_steps_and_leaves_a_valid_cache() -> None:
    cancel = CancelToken()
    cancelled = decoder(PlainPolicy(), cancel=cancel)
    steps = cancelled.steps()
    ((token, _),) = next(steps)
    cancel.cancel()
    with pytest.raises(CancelledError):
        next(steps)
    assert cancelled.stats.n_tokens == 1
    assert list(cancelled.target.cached_ids) == PROMPT
    assert token == plain_tokens(1)[0]


def test_a_cancelled_request_is_not_prefilled() -> None:
    cancel = CancelToken()
    cancel.cancel()
    with pytest.raises(CancelledError):
        decoder(PlainPolicy(), cancel=cancel)


def test_a_full_cache_ends_the_text() -> None:
    full = decoder(Oracle(plain_tokens()), max_tokens=len(PROMPT) + 2)
    assert [token for step in full.steps() for token, _ in step] == plain_tokens(3)


def test_only_what_the_cache_lacks_is_prefilled() -> None:
    first = decoder(PlainPolicy())
    list(first.steps())
    again = Decoder(first.target, PlainPolicy(), first.limits, CancelToken())
    again.prefill(PROMPT)
    assert first.stats.n_prefilled == len(PROMPT)
    assert again.stats.n_prefilled == 1
    assert again.stats.n_prompt_tokens == len(PROMPT)
    assert [token for step in again.steps() for token, _ in step] == plain_tokens()


def test_the_table_learns_the_prompt_and_every_verified_node() -> None:
    table = AdjacencyTable(k=4)
    taught = decoder(PlainPolicy(), n=1, table=table)
    assert table.successors(PROMPT[0], PROMPT[1]) is not None
    assert table.successors(PROMPT[-2], PROMPT[-1]) is None
    ((((token, _)),),) = taught.steps()
    learned = table.successors(PROMPT[-2], PROMPT[-1])
    assert learned is not None
    assert learned.is_pair
    assert learned.token_ids[0] == token


def test_a_token_is_drawn_at_the_number_of_tokens_before_it() -> None:
    sampling = Sampling(1.0, seed=4)
    drawn = [
        token for step in decoder(PlainPolicy(), sampling=sampling).steps() for token, _ in step
    ]
    text = [*PROMPT, *drawn]
    rows = tiny_target().logits(chain(text[0], text[1:]))
    places = range(len(PROMPT), len(text))
    assert drawn == [draw_token(rows[place - 1], place, sampling) for place in places]
    assert drawn != plain_tokens()


def test_right_drafts_of_drawn_tokens_are_accepted_and_learned_from() -> None:
    sampling = Sampling(1.0, seed=4)
    steps = decoder(PlainPolicy(), sampling=sampling).steps()
    policy = Oracle([token for step in steps for token, _ in step])
    drafted = decoder(policy, sampling=sampling)
    assert [token for step in drafted.steps() for token, _ in step] == policy.truth
    assert (drafted.stats.n_steps, drafted.stats.n_accepted) == (3, 9)
    assert [len(acceptance.nodes) for acceptance in policy.learned] == [3, 3, 3]


def test_a_target_that_shows_no_logits_cannot_be_drawn_from(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mute = decoder(PlainPolicy(), sampling=Sampling(1.0))
    score = mute.target.forward.score
    monkeypatch.setattr(
        mute.target.forward, "score", lambda *args: replace(score(*args), row_logits=None)
    )
    with pytest.raises(AssertionError, match="shows its logits"):
        next(mute.steps())


def test_nothing_decoded_has_no_mean() -> None:
    assert DecodeStats().mean_accepted_len == 0.0


@pytest.mark.parametrize(
    ("drafted", "said"),
    [
        ([5, 24], "Broken drafted token 24, outside the vocabulary of 24"),
        ([-1], "Broken drafted token -1"),
        ([1] * 200, "Broken drafted 200 nodes where"),
    ],
)
def test_a_draft_that_cannot_be_verified_is_dropped_and_its_source_named(
    drafted: list[int], said: str, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(PlainPolicy):
        def draft(self, max_nodes: int, max_depth: int) -> DraftTree:
            del max_nodes, max_depth
            return chain(self.last_token, drafted)

    tokens = [token for step in decoder(Broken()).steps() for token, _ in step]
    assert tokens == plain_tokens()
    assert said in caplog.text


@pytest.mark.parametrize("seed", range(3))
def test_what_the_text_has_to_begin_with_is_the_same_with_drafts_as_without(seed: int) -> None:
    """Tokens are their own text here: an even one has to come first."""

    def decoded(policy: Policy) -> list[int]:
        decoder = Decoder(tiny_target(seed), policy, DecodeLimits(8, 4, frozenset()), CancelToken())
        decoder.opening = Opening("even", lambda token: "even" if token % 2 == 0 else "odd")
        decoder.prefill([1, 2, 3, 1, 2])
        return [token for step in decoder.steps() for token, _ in step]

    drafter = Drafter(Memory(), frozenset())
    assert decoded(drafter) == decoded(PlainPolicy())
    assert decoded(PlainPolicy())[0] % 2 == 0
