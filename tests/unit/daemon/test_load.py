from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goose_lsp.cancel import CancelToken
from goose_lsp.config import Settings, load_settings
from goose_lsp.daemon import load
from goose_lsp.daemon.completer import Ask
from goose_lsp.daemon.load import ModelCompleter, load_completer
from goose_lsp.daemon.prompter import Prompter
from goose_lsp.draft.bigrams import AdjacencyTable
from goose_lsp.draft.budget import StepCost
from goose_lsp.engine.catalog import ResolvedModel
from goose_lsp.engine.cost import LiveCost, Prices
from goose_lsp.engine.fast import TorchForward
from goose_lsp.engine.load import LoadedModel, LoadOptions
from goose_lsp.engine.verify import Target
from goose_lsp.errors import CancelledError
from goose_lsp.request import Point, Reason
from goose_lsp.text.document import Document
from tests.tiny import TINY, byte_tokenizer, tiny_weights

BYTES = byte_tokenizer()
CONFIG = replace(TINY, n_vocab=BYTES.n_vocab)
FLAT = Prices(StepCost((1, 32), (1.0, 1.01)), 1.0)
CODE = "def f(a):\n    return a\n\ndef g(a):\n    "
STATS = {
    *("n_tokens", "n_steps", "n_drafted", "mean_accepted_len", "n_prompt_tokens", "n_prefilled"),
    *("prefill_ms", "decode_ms", "draft_ms", "total_ms", "model", "policy"),
}


def completer(seed: int = 0, settings: Settings | None = None) -> ModelCompleter:
    target = Target(TorchForward(tiny_weights(seed, config=CONFIG), 256), top_k=8)
    prompter = Prompter(BYTES, has_snippets=False)
    return ModelCompleter("tiny", target, BYTES, LiveCost(FLAT), settings or Settings(), prompter)


def ask(text: str = CODE, place: int | None = None, **options: Any) -> Ask:
    before = text[:place]
    point = Point(before.count("\n"), len(before) - before.rfind("\n") - 1)
    return Ask(Document("file:///a.txt", 1, "plaintext", text), point, **options)


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 3),
    st.lists(
        st.tuples(st.text("ab(\n é", max_size=60), st.integers(0, 60)), min_size=1, max_size=3
    ),
)
def test_drafts_never_change_the_text(seed: int, cursors: list[tuple[str, int]]) -> None:
    """One completer serves all requests, so that what it learned is put to use."""
    drafting = completer(seed)
    for text, place in cursors:
        drafted = drafting.complete(ask(text, place, wants_trace=True), CancelToken())
        plain = completer(seed).complete(ask(text, place, policy="plain"), CancelToken())
        assert drafted.text == plain.text
        assert "".join(piece for piece, _ in drafted.stats["trace"]) == drafted.text


def test_a_completion_stands_at_the_cursor_and_says_how_it_was_made() -> None:
    made = completer().complete(ask(max_new_tokens=8), CancelToken())
    assert made.text
    assert made.reason is Reason.OK
    assert made.start == made.end == Point(4, 4)
    assert set(made.stats) == STATS
    assert made.stats["model"] == "tiny"
    assert made.stats["policy"] == "goose"
    assert made.stats["n_prompt_tokens"] == len(CODE)
    assert 0 < made.stats["n_tokens"] <= 8


def test_the_origins_of_a_trace_are_named() -> None:
    asked = ask(wants_trace=True)
    trace = completer().complete(asked, CancelToken()).stats["trace"]
    assert {origin for _, origin in trace} <= {"spine", "branch", "model"}


def test_a_model_that_ends_at_once_has_nothing_to_add() -> None:
    ending = completer()
    first = ending.complete(ask(max_new_tokens=1, policy="plain"), CancelToken())
    (token,) = BYTES.encode(first.text)
    ending.tokenizer = byte_tokenizer()
    ending.tokenizer.control_ids = frozenset({token})
    ending.prompter = Prompter(ending.tokenizer, has_snippets=False)
    made = ending.complete(ask(), CancelToken())
    assert (made.text, made.reason) == ("", Reason.NOTHING_TO_ADD)


def test_an_isolated_request_neither_uses_nor_changes_what_was_learned() -> None:
    counts = ("n_tokens", "n_steps", "n_drafted", "n_prefilled")
    isolated = ask(is_isolated=True)
    used = completer()
    fresh = used.complete(isolated, CancelToken())
    for _ in range(3):
        used.complete(ask(), CancelToken())
    n_learned = len(used.memory.table)
    again = used.complete(isolated, CancelToken())
    assert again.text == fresh.text
    assert [again.stats[key] for key in counts] == [fresh.stats[key] for key in counts]
    assert len(used.memory.table) == n_learned > 0


def test_what_was_learned_makes_the_same_request_cheaper() -> None:
    used = completer()
    first = used.complete(ask(), CancelToken())
    again = used.complete(ask(), CancelToken())
    assert again.text == first.text
    assert again.stats["n_steps"] < first.stats["n_steps"]
    assert again.stats["n_prefilled"] < first.stats["n_prefilled"]


def test_plain_decoding_teaches_nothing() -> None:
    plain = completer()
    plain.complete(ask(policy="plain"), CancelToken())
    assert len(plain.memory.table) == 0


@pytest.mark.parametrize("policy", ["goose", "goose-paper", "plain"])
def test_a_cancelled_request_raises_and_the_next_is_served(policy: str) -> None:
    used = completer()
    cancel = CancelToken()
    cancel.cancel()
    with pytest.raises(CancelledError):
        used.complete(ask(policy=policy), cancel)
    expected = completer().complete(ask(), CancelToken()).text
    assert used.complete(ask(policy=policy), CancelToken()).text == expected


def test_a_long_document_leaves_room_for_the_completion() -> None:
    made = completer().complete(ask("x = 1\n" * 500, max_new_tokens=4000), CancelToken())
    assert made.stats["n_prompt_tokens"] <= 128


def test_the_daemons_settings_hold_where_the_request_is_silent() -> None:
    given = load_settings({"draft.policy": "plain", "prompt.max_new_tokens": 3}, environ={})
    made = completer(settings=given).complete(ask(), CancelToken())
    assert made.stats["policy"] == "plain"
    assert made.stats["n_tokens"] <= 3
    other = completer(settings=given).complete(ask(policy="goose"), CancelToken())
    assert other.stats["policy"] == "goose"


def test_drafts_never_change_what_is_drawn_at_a_temperature() -> None:
    texts = set()
    for seed in range(5):
        given = load_settings({"decode.temperature": 1, "decode.seed": seed}, environ={})
        drafting = completer(settings=given)
        plain = completer(settings=given).complete(ask(policy="plain"), CancelToken())
        for _ in range(2):
            assert drafting.complete(ask(), CancelToken()).text == plain.text
        texts.add(plain.text)
    assert len(texts) == 5


@pytest.mark.parametrize("narrow", [{"decode.top_k": 1}, {"decode.top_p": 0}])
def test_one_candidate_at_any_temperature_is_the_best(narrow: dict[str, object]) -> None:
    given = load_settings({"decode.temperature": 2, **narrow}, environ={})
    best = completer().complete(ask(), CancelToken()).text
    assert completer(settings=given).complete(ask(), CancelToken()).text == best


def test_loading_prepares_a_completer_that_answers(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[LoadOptions] = []
    said: list[str] = []

    def load_model(name: str, path: Path, options: LoadOptions) -> LoadedModel:
        del path
        asked.append(options)
        forward = TorchForward(tiny_weights(config=CONFIG), options.max_tokens)
        return LoadedModel(name, forward, BYTES)

    monkeypatch.setattr(load, "resolve_model", lambda _s: ResolvedModel("tiny", Path("tiny.gguf")))
    monkeypatch.setattr(load, "load_model", load_model)
    given = {"engine.dtype": "bf16", "engine.threads": 1, "paths.cache_dir": str(tmp_path)}
    loaded = load_completer(load_settings(given, environ={}), said.append)
    assert [(o.dtype, o.n_threads, o.cache_dir) for o in asked] == [("bf16", 1, tmp_path)]
    assert loaded.model_name == "tiny"
    assert loaded.target.max_tokens == CONFIG.max_context_tokens
    assert loaded.complete(ask(max_new_tokens=2), CancelToken()).stats["n_tokens"] > 0
    assert (tmp_path / "prices.json").exists()
    assert said


def test_what_was_learned_is_kept_for_the_next_daemon(tmp_path: Path) -> None:
    given = load_settings({"paths.cache_dir": str(tmp_path)}, environ={})
    used = completer(settings=given)
    used.complete(ask(), CancelToken())
    used.close()
    kept = AdjacencyTable()
    assert kept.load(tmp_path / "adjacency" / "tiny.npz", CONFIG.n_vocab)
    assert len(kept) == len(used.memory.table) > 0


def test_a_cache_that_cannot_be_written_ends_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    completer(settings=load_settings({"paths.cache_dir": str(blocked)}, environ={})).close()
    assert "cannot be kept" in caplog.text
