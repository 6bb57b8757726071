"""Joining prompt, engine and text rules into a completer. Loads models: inference thread only."""

import logging
import platform
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from time import perf_counter
from typing import Any

from goose_lsp.cancel import CancelToken
from goose_lsp.config import Settings
from goose_lsp.daemon.completer import Ask
from goose_lsp.daemon.prompter import Prompter
from goose_lsp.draft.baselines import BASELINES
from goose_lsp.draft.bigrams import AdjacencyTable
from goose_lsp.draft.budget import StepCost
from goose_lsp.draft.drafter import MAX_NODES, Drafter, warm_up
from goose_lsp.draft.policy import Memory, PlainPolicy, Policy
from goose_lsp.draft.tree import Origin
from goose_lsp.engine.catalog import resolve_model
from goose_lsp.engine.cost import LiveCost, PriceBook, best_threads, chunk_for
from goose_lsp.engine.decode import DecodeLimits, Decoder
from goose_lsp.engine.forward import Forward
from goose_lsp.engine.load import LoadedModel, LoadOptions, load_model
from goose_lsp.engine.opening import Opening
from goose_lsp.engine.sample import Sampling
from goose_lsp.engine.thread import Governor, choose_threads
from goose_lsp.engine.verify import Target, new_target
from goose_lsp.request import Completion
from goose_lsp.text.endings import Ending, choose_ending
from goose_lsp.text.postprocess import Polishing, Shown, polish
from goose_lsp.text.rules.loops import is_looping
from goose_lsp.text.rules.whole import is_whole_so_far
from goose_lsp.text.syntax.gate import adds_errors
from goose_lsp.text.syntax.grammars import grammar_of
from goose_lsp.tokenizer import REPLACEMENT, Tokenizer

log = logging.getLogger(__name__)

PAPER_BUDGET = 60  # the published one
# Snippets stand before all else: where they change, the whole prompt is read again.
MAX_READING_MS = 300.0
# From this share of the tokens allowed on, a text ends where it is complete: the limit would cut it in its middle.
_ENOUGH = 0.6


@dataclass(slots=True)
class ModelCompleter:
    """A loaded model with everything needed to complete text at a cursor."""

    model_name: str
    target: Target
    tokenizer: Tokenizer
    cost: LiveCost
    settings: Settings
    prompter: Prompter
    memory: Memory = field(default_factory=Memory)
    governor: Governor = field(default_factory=lambda: Governor(1))
    _control_spellings: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        self._control_spellings = self.tokenizer.control_spellings()

    def complete(self, ask: Ask, cancel: CancelToken) -> Completion:
        started = perf_counter()
        prompt_settings = self.settings.prompt
        policy_name = ask.policy or self.settings.draft.policy
        max_new_tokens = ask.max_new_tokens or prompt_settings.max_new_tokens
        max_new_tokens = min(max_new_tokens, self.target.max_tokens // 2)
        budget = min(prompt_settings.max_prompt_tokens, self.target.max_tokens - max_new_tokens)
        prompt = self.prompter.prompt(ask, budget)
        decoder = self._decoder(ask, policy_name, max_new_tokens, cancel)
        if isinstance(drafter := decoder.policy, Drafter):
            drafter.bridge(self.prompter.bridges(ask, prompt, drafter.store))
        decoder.opening = Opening(prompt.held_back, lambda token: self.tokenizer.decode([token]))
        decoder.prefill(prompt.token_ids)
        ending = choose_ending(ask.document, ask.point, ask.trigger)
        raw, trace, is_whole = self._decode(decoder, ending, prompt.held_back, ask.on_text)
        shown = self._polish(raw, ask, ending, is_whole=is_whole)
        stats = self._stats(decoder, policy_name, perf_counter() - started)
        if ask.wants_trace:
            stats["trace"] = self._trace(trace, prompt.held_back, shown.text)
        return Completion(shown.text, shown.start, shown.end, shown.reason, stats=stats)

    def close(self) -> None:
        """Keep the adjacency table, end helper threads; raises nothing."""
        self.target.forward.close()
        file = _table_file(self.settings, self.model_name)
        try:
            self.memory.table.save(file)
        except OSError as error:
            log.warning("%s: what drafting has learned cannot be kept: %s", file, error.strerror)

    def _decoder(
        self, ask: Ask, policy_name: str, max_new_tokens: int, cancel: CancelToken
    ) -> Decoder:
        memory = self.memory
        if ask.is_isolated:
            self.target.clear()
        # An isolated request draws on nothing that was seen before, live prices included; one in a file that
        # the workspace refuses leaves nothing behind.
        if ask.is_isolated or (ask.store is not None and ask.path in ask.store.refused):
            memory = Memory()
        step_cost = self.cost.prices.step if ask.is_isolated else self.cost.step_cost()
        policy, max_nodes = self._policy(policy_name, memory, step_cost, ask)
        limits = DecodeLimits(max_new_tokens, max_nodes, self.prompter.end_ids)
        table = memory.table if policy_name != "plain" else None
        decoder = Decoder(self.target, policy, limits, cancel, table, self._after_step)
        decoder.sampling = self._sampling()
        return decoder

    def _policy(
        self, name: str, memory: Memory, step_cost: StepCost, ask: Ask
    ) -> tuple[Policy, int]:
        """The drafter and the most nodes it may draft. A budget that is set holds; 0 follows the prices."""
        budget, end_ids = self.settings.draft.max_nodes, self.prompter.end_ids
        if name == "plain":
            return PlainPolicy(), 0
        if name == "goose-paper":
            budget = budget or PAPER_BUDGET
            policy = BASELINES[name](memory, end_ids.__contains__, budget)
            return policy, min(budget * 5 // 3, MAX_NODES)  # a confident draft may borrow
        max_nodes = budget or step_cost.sizes[-1] - 1
        cost_table = () if budget else step_cost.table(max_nodes)
        return Drafter(memory, end_ids, cost_table, store=self.prompter.store(ask)), max_nodes

    def _sampling(self) -> Sampling | None:
        decode = self.settings.decode
        if not decode.temperature:
            return None
        return Sampling(decode.temperature, decode.top_k, decode.top_p, decode.seed)

    def _after_step(self, n_nodes: int, seconds: float) -> None:
        # Prices are those of all threads: steps made alone say nothing about them.
        if self.governor.n_active == self.governor.n_threads:
            self.cost.observe(n_nodes, seconds)
        if self.governor.after_step(self.cost.slowdown()):
            self.cost.forget_recent()
            self.target.forward.use_threads(self.governor.n_active)

    def _decode(
        self,
        decoder: Decoder,
        ending: Ending,
        held_back: str,
        on_text: Callable[[str], None],
    ) -> tuple[str, list[tuple[int, Origin]], bool]:
        """The model's text from the cursor on, every committed token, and whether the text is whole.

        Stops as soon as the ending is found; "" where the model does not begin with what was held back.
        """
        trace: list[tuple[int, Origin]] = []
        text = ""
        is_whole = True
        n_enough = decoder.limits.max_new_tokens * _ENOUGH
        # Token by token: where to stop must not depend on how many a pass has verified.
        for committed in chain.from_iterable(decoder.steps()):
            trace.append(committed)
            text = self.tokenizer.decode([token for token, _ in trace])
            agrees = text.startswith(held_back[: len(text)])
            raw = text.removeprefix(held_back)
            if not agrees or ending.end(raw) is not None or is_looping(raw):
                break
            if len(trace) >= n_enough and is_whole_so_far(raw):
                is_whole = False
                break
            on_text(raw.rstrip(REPLACEMENT))
        else:
            is_whole = decoder.stats.n_tokens < decoder.limits.max_new_tokens
        # A character whose bytes are not all decoded yet ends in a replacement mark.
        text = text.rstrip(REPLACEMENT)
        raw = text.removeprefix(held_back) if text.startswith(held_back) else ""
        return raw, trace, is_whole

    def _polish(self, raw: str, ask: Ask, ending: Ending, *, is_whole: bool) -> Shown:
        document = ask.document
        grammar = grammar_of(document.language, document.uri)
        gate = partial(adds_errors, grammar=grammar) if grammar else None
        how = Polishing(
            document.language,
            ending,
            ask.indent_unit or None,
            control_spellings=self._control_spellings,
            is_whole=is_whole,
            gate=gate,
        )
        return polish(raw, document, ask.point, how)

    def _stats(self, decoder: Decoder, policy_name: str, total_s: float) -> dict[str, Any]:
        stats = decoder.stats
        return {
            "n_tokens": stats.n_tokens,
            "n_steps": stats.n_steps,
            "n_drafted": stats.n_drafted,
            "mean_accepted_len": round(stats.mean_accepted_len, 3),
            "n_prompt_tokens": stats.n_prompt_tokens,
            "n_prefilled": stats.n_prefilled,
            "prefill_ms": round(stats.prefill_s * 1e3, 2),
            "decode_ms": round(stats.decode_s * 1e3, 2),
            "draft_ms": round(stats.draft_s * 1e3, 2),
            "total_ms": round(total_s * 1e3, 2),
            "model": self.model_name,
            "policy": policy_name,
        }

    def _trace(self, trace: list[tuple[int, Origin]], held_back: str, text: str) -> list[list[str]]:
        """[piece of the shown text, origin] in order; the pieces joined are the shown text."""
        pieces: list[list[str]] = []
        n_skipped, start = len(held_back), 0
        decoded = ""
        for i, (_, origin) in enumerate(trace):
            decoded = self.tokenizer.decode([token for token, _ in trace[: i + 1]])
            if decoded.endswith(REPLACEMENT):
                continue
            end = min(max(len(decoded) - n_skipped, 0), len(text))
            if end > start:
                pieces.append([text[start:end], origin.name.lower()])
                start = end
        # Polishing may have added to the text.
        return [*pieces, [text[start:], "model"]] if start < len(text) else pieces


def load_completer(settings: Settings, say: Callable[[str], None]) -> ModelCompleter:
    """Load the configured model, saying what takes long; raises `ModelMissingError`, `ModelLoadError` or `ConfigError`."""
    engine = settings.engine
    resolved = resolve_model(settings)
    n_threads = choose_threads(engine.threads)
    options = LoadOptions(
        engine.dtype, engine.max_context_tokens, n_threads, settings.cache_dir, say
    )
    model = load_model(resolved.name, resolved.path, options)
    try:
        return _assemble(settings, model, n_threads, say)
    except BaseException:
        model.forward.close()
        raise


def _assemble(
    settings: Settings, model: LoadedModel, n_threads: int, say: Callable[[str], None]
) -> ModelCompleter:
    engine = settings.engine
    say("preparing to draft")
    warm_up()
    table = AdjacencyTable()
    table.load(_table_file(settings, model.name), model.forward.n_vocab)
    target = new_target(model.forward, table.k, engine.cache_mb << 20)
    say("measuring what a pass costs here")
    if not engine.threads:
        n_threads = best_threads(target, n_threads)
    book = PriceBook(settings.cache_dir / "prices.json")
    prices = book.price(_price_key(model.name, model.forward, n_threads), target)
    target.chunk = chunk_for(prices.prefill_token_ms)
    log.info(
        "T(n) in ms: %s; %.2f ms a prompt token",
        dict(zip(prices.step.sizes, (round(t, 1) for t in prices.step.times_ms), strict=True)),
        prices.prefill_token_ms,
    )
    live, memory, governor = LiveCost(prices), Memory(table), Governor(n_threads)
    wanted = settings.prompt.snippets
    reading_ms = prices.prefill_token_ms * settings.prompt.max_prompt_tokens
    has_snippets = wanted == "on" or (wanted == "auto" and reading_ms <= MAX_READING_MS)
    prompter = Prompter(model.tokenizer, has_snippets=has_snippets)
    return ModelCompleter(
        model.name, target, model.tokenizer, live, settings, prompter, memory, governor
    )


def _table_file(settings: Settings, model_name: str) -> Path:
    return settings.cache_dir / "adjacency" / f"{model_name}.npz"


def _price_key(name: str, forward: Forward, n_threads: int) -> str:
    return f"{name} {forward.dtype} cpu {n_threads} {platform.processor() or platform.machine()}"
