"""Decoding the same prompts under every policy, in turns, and counting what happened."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from time import perf_counter, process_time
from typing import cast

import numpy as np
import numpy.typing as npt

from benchmarks.common import n_common
from benchmarks.policies import PLAIN, Config, make_policy, max_nodes, uses_table
from benchmarks.prompts import Prompt
from benchmarks.targets import LiveTarget, ReplayTarget
from goose_lsp.cancel import CancelToken
from goose_lsp.draft.accept import Acceptance
from goose_lsp.draft.bigrams import AdjacencyTable
from goose_lsp.draft.policy import Memory, Policy
from goose_lsp.draft.tree import DraftTree, Origin
from goose_lsp.engine.decode import DecodeLimits, Decoder
from goose_lsp.engine.verify import Target

MIN_BYPASS = 8  # nodes of a pure chain from which a step counts as a bypass


class TimedTable(AdjacencyTable):
    """Counts the time of its harvests, and takes nothing from rows nobody has seen."""

    def __init__(self) -> None:
        super().__init__()
        self.harvest_s = 0.0

    def harvest(
        self,
        previous: Sequence[int],
        current: Sequence[int],
        top_ids: npt.NDArray[np.int_],
        top_probabilities: npt.NDArray[np.float32],
        before: Sequence[int] | None = None,
    ) -> None:
        began = perf_counter()
        known = [i for i, row in enumerate(top_probabilities) if row[0] > 0.0]
        if len(known) < len(current):
            previous, current = [previous[i] for i in known], [current[i] for i in known]
            before = before and [before[i] for i in known]
            top_ids, top_probabilities = top_ids[known], top_probabilities[known]
        super().harvest(previous, current, top_ids, top_probabilities, before)
        self.harvest_s += perf_counter() - began


@dataclass(slots=True)
class WatchedPolicy:
    """A policy whose drafts and their fate are kept, to be counted after the run."""

    policy: Policy
    steps: list[tuple[DraftTree, Acceptance]] = field(default_factory=list)

    def extend(self, token_ids: Sequence[int]) -> None:
        self.policy.extend(token_ids)

    def draft(self, max_nodes: int, max_depth: int) -> DraftTree:
        return self.policy.draft(max_nodes, max_depth)

    def learn(self, tree: DraftTree, acceptance: Acceptance) -> None:
        self.steps.append((tree, acceptance))
        self.policy.learn(tree, acceptance)


@dataclass(slots=True)
class Run:
    """Sums over the prompts of one set under one policy and budget."""

    n_prompts: int = 0
    n_tokens: int = 0  # of the completions
    n_committed: int = 0  # with end tokens, without what lies behind an editor's stop
    n_steps: int = 0
    n_drafted: Counter[Origin] = field(default_factory=Counter)
    origins: Counter[Origin] = field(default_factory=Counter)  # of the completions' tokens
    n_bypass: int = 0
    n_continuation: int = 0
    n_differing: int = 0
    n_unknown: int = 0  # replayed rows that nobody saw
    decode_s: float = 0.0
    draft_s: float = 0.0
    harvest_s: float = 0.0
    tok_s: list[float] = field(default_factory=list)  # one a prompt, 0 for an empty completion
    cpu_tok_s: list[float] = field(default_factory=list)

    @property
    def mean_accepted_len(self) -> float:
        """Committed tokens per target pass after prefill, bonus included; 1 before any pass."""
        return self.n_committed / self.n_steps if self.n_steps else 1.0

    def per_step(self, origin: Origin) -> float:
        """Drafted nodes of that origin per step."""
        return self.n_drafted[origin] / self.n_steps if self.n_steps else 0.0

    def count(self, tree: DraftTree, acceptance: Acceptance) -> None:
        origins = tree.origins or (Origin.MODEL, *[Origin.BRANCH] * (len(tree) - 1))
        self.n_drafted.update(origins[1:])
        self.n_bypass += tree.is_chain and len(tree) > MIN_BYPASS
        accepted = {origins[node] for node in acceptance.nodes}
        self.n_continuation += {Origin.SPINE, Origin.BRANCH} <= accepted


class Bench:
    """A target, its prices, and the plain completions that every policy has to reproduce."""

    def __init__(
        self,
        target: LiveTarget | ReplayTarget,
        end_ids: frozenset[int],
        cost_table: Sequence[float],
        *,
        is_cold: bool = False,
    ) -> None:
        self.target = target
        self.end_ids = end_ids
        self.cost_table = cost_table  # T for 1, 2, … nodes
        self.is_cold = is_cold  # whether memory is emptied before every prompt
        self._truths: dict[tuple[str, tuple[int, ...]], list[int]] = {}

    def run_set(
        self,
        prompts: Sequence[Prompt],
        configs: Sequence[Config],
        progress: Callable[[str], None] = lambda _text: None,
    ) -> dict[Config, Run]:
        """Plain decoding, where not known yet, and every configuration on each prompt in turns.

        Each configuration starts with an empty memory and keeps it from prompt to prompt. Who comes
        first among the policies changes with the prompt.
        """
        runs = {config: Run() for config in configs}
        memories = {config: Memory(TimedTable()) for config in configs}
        for number, prompt in enumerate(prompts):
            self.target.begin(prompt)
            for config in self._order(prompt, configs, number):
                if self.is_cold:
                    memories[config] = Memory(TimedTable())
                memory = memories.get(config, Memory(TimedTable()))
                self._run(prompt, config, memory, runs.setdefault(config, Run()))
            progress(f"{prompt.set_name} {number + 1}/{len(prompts)}")
        return runs

    def _order(self, prompt: Prompt, configs: Sequence[Config], number: int) -> list[Config]:
        others = [config for config in configs if config != PLAIN]
        first = number % len(others) if others else 0
        needs_plain = PLAIN in configs or _name(prompt) not in self._truths
        return [*([PLAIN] if needs_plain else []), *others[first:], *others[:first]]

    def _run(self, prompt: Prompt, config: Config, memory: Memory, run: Run) -> None:
        made = make_policy(config.policy, memory, self.end_ids, config.budget, self.cost_table)
        policy = WatchedPolicy(made)
        limits = DecodeLimits(
            prompt.max_new_tokens, max_nodes(config, self.cost_table), self.end_ids
        )
        table = memory.table if uses_table(config.policy) else None
        # A replayed target is all that a decoder uses of one.
        target = cast(Target, self.target)
        decoder = Decoder(target, policy, limits, CancelToken(), table, clock=self.target.clock)
        decoder.prefill(prompt.token_ids)
        harvested_s = memory.table.harvest_s if isinstance(memory.table, TimedTable) else 0.0
        unknown = self._n_unknown()
        committed, cpu_s = _decode(decoder, prompt)
        run.n_unknown += self._n_unknown() - unknown
        tokens = [token for token, _ in committed]
        kept = committed[: _n_kept(prompt, tokens)]
        if isinstance(memory.table, TimedTable):
            run.harvest_s += memory.table.harvest_s - harvested_s
        self._add(run, decoder, kept, cpu_s, len(committed) - len(kept))
        for tree, acceptance in policy.steps:
            run.count(tree, acceptance)
        truth = self._truths.setdefault(_name(prompt), tokens[: len(kept)])
        run.n_differing += max(len(truth), len(kept)) - n_common(truth, tokens[: len(kept)])
        self.target.end_run(prompt, tokens)

    def _n_unknown(self) -> int:
        return self.target.n_unknown if isinstance(self.target, ReplayTarget) else 0

    def _add(
        self,
        run: Run,
        decoder: Decoder,
        kept: list[tuple[int, Origin]],
        cpu_s: float,
        n_behind: int,
    ) -> None:
        stats = decoder.stats
        run.n_prompts += 1
        run.n_tokens += len(kept)
        run.n_committed += stats.n_accepted + stats.n_steps - n_behind
        run.n_steps += stats.n_steps
        run.origins.update(origin for _, origin in kept)
        run.decode_s += stats.decode_s
        run.draft_s += stats.draft_s
        run.tok_s.append(len(kept) / stats.decode_s if stats.decode_s else 0.0)
        run.cpu_tok_s.append(len(kept) / cpu_s if cpu_s else 0.0)


def _decode(decoder: Decoder, prompt: Prompt) -> tuple[list[tuple[int, Origin]], float]:
    """Committed tokens up to the step in which the completion stops, and process CPU seconds."""
    committed: list[tuple[int, Origin]] = []
    cpu_s = 0.0
    steps: Iterator[list[tuple[int, Origin]]] = decoder.steps()
    while True:
        began = process_time()
        step = next(steps, None)
        cpu_s += process_time() - began
        if step is None:
            return committed, cpu_s
        committed += step
        if prompt.stop([token for token, _ in committed]):
            return committed, cpu_s


def _n_kept(prompt: Prompt, tokens: list[int]) -> int:
    """How many tokens there are when the completion stops: the last step may have gone past that."""
    n = len(tokens)
    while n > 1 and prompt.stop(tokens[: n - 1]):
        n -= 1
    return n


def _name(prompt: Prompt) -> tuple[str, tuple[int, ...]]:
    return prompt.set_name, tuple(prompt.token_ids)
