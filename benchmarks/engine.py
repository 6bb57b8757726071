"""What a forward pass costs here, and what spine trees make of it.

Bounds: decoding reads every weight once a pass, so plain decoding cannot exceed memory bandwidth ÷ weight
bytes tokens a second; verifying n nodes adds arithmetic, and T(n)/T(1) is what drafting has to beat. The
printed `bandwidth_fraction` says how much of the measured copy bandwidth a plain step uses.

    python -m benchmarks.engine [--quick] [--json] [--data DIR] [--threads N] [--dtype int8|fp32|bf16]

llama.cpp, where `make bench-peers` has installed it, decodes the same file's tokens in the same run: T(n) and
its time a token take turns, as do the prompts.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks import exactness, loading, peers
from benchmarks.common import (
    MAX_NEW_TOKENS,
    MAX_PROMPT_TOKENS,
    machine,
    n_common,
    parser_of,
    read_records,
    versions,
)
from goose_lsp.cancel import CancelToken
from goose_lsp.config import load_settings
from goose_lsp.draft.bigrams import AdjacencyTable
from goose_lsp.draft.budget import StepCost
from goose_lsp.draft.drafter import Drafter, warm_up
from goose_lsp.draft.policy import Memory, PlainPolicy, Policy
from goose_lsp.draft.tree import chain
from goose_lsp.engine.catalog import resolve_model
from goose_lsp.engine.cost import N_CONTEXT, SIZES
from goose_lsp.engine.decode import DecodeLimits, Decoder, DecodeStats
from goose_lsp.engine.load import LoadedModel, LoadOptions, load_model
from goose_lsp.engine.verify import Target
from goose_lsp.errors import GooseError

N_TUNING_PROMPTS = 6  # on which llama.cpp's n-gram settings are tried
N_PEER_TOKENS = 32
RATIO_SIZES = (1, 8, 16, 64)


@dataclass(slots=True)
class Run:
    """Sums over the prompts of one policy."""

    n_tokens: int = 0
    n_steps: int = 0
    n_committed: int = 0
    decode_s: float = 0.0
    cpu_s: float = 0.0
    n_prefilled: int = 0
    prefill_s: float = 0.0
    tok_s: list[float] = field(default_factory=list)  # one a prompt

    def add(self, stats: DecodeStats, cpu_s: float) -> None:
        self.n_tokens += stats.n_tokens
        self.n_steps += stats.n_steps
        self.n_committed += stats.n_accepted + stats.n_steps
        self.decode_s += stats.decode_s
        self.cpu_s += cpu_s
        self.n_prefilled += stats.n_prefilled - 1  # the last token is the first step's
        self.prefill_s += stats.prefill_s
        if stats.n_tokens:
            self.tok_s.append(stats.n_tokens / stats.decode_s)


class Bench:
    """Both policies and llama.cpp on the same prompts, prompt by prompt in turns."""

    def __init__(self, model: LoadedModel, target: Target, cost: StepCost, max_new: int) -> None:
        self.model = model
        self.target = target
        self.cost_table = cost.table(SIZES[-1] - 1)
        self.memory = Memory()
        self.limits = DecodeLimits(max_new, len(self.cost_table) - 1, model.tokenizer.control_ids)
        self.plain, self.goose = Run(), Run()
        self.n_differing = self.n_compared = 0
        self.budgets: list[float] = []

    def prompt(self, number: int, token_ids: list[int], rivals: Sequence[peers.LlamaCpp]) -> None:
        """One prompt by everyone; who begins changes with the prompt."""
        tokens: dict[str, list[int]] = {}
        max_new = self.limits.max_new_tokens
        turns: list[Callable[[], object]] = [
            lambda: tokens.update(goose=self._goose(token_ids)),
            lambda: tokens.update(
                plain=self._decode(token_ids, PlainPolicy(), None, self.plain)[0]
            ),
            *(partial(rival.complete, token_ids, max_new) for rival in rivals),
        ]
        first = number % len(turns)
        for turn in (*turns[first:], *turns[:first]):
            turn()
        plain, drafted = tokens["plain"], tokens["goose"]
        self.n_compared += len(plain)
        self.n_differing += max(len(plain), len(drafted)) - n_common(plain, drafted)

    def _goose(self, token_ids: list[int]) -> list[int]:
        drafter = Drafter(self.memory, self.limits.end_ids, self.cost_table)
        drafted, stats = self._decode(token_ids, drafter, self.memory.table, self.goose)
        if stats.n_steps:
            self.budgets.append(stats.n_drafted / stats.n_steps)
        return drafted

    def _decode(
        self, token_ids: list[int], policy: Policy, table: AdjacencyTable | None, run: Run
    ) -> tuple[list[int], DecodeStats]:
        self.target.clear()
        decoder = Decoder(self.target, policy, self.limits, CancelToken(), table)
        decoder.prefill(token_ids)
        started = process_time()
        tokens = [token for step in decoder.steps() for token, _ in step]
        run.add(decoder.stats, process_time() - started)
        return tokens, decoder.stats


def main(argv: list[str] | None = None) -> int:
    parser = parser_of("engine", "20 prompts of 64 new tokens")
    parser.add_argument("--set", default="humaneval")
    parser.add_argument("--max-new", type=int, default=0)
    args = parser.parse_args(argv)
    started, began = datetime.now(UTC), perf_counter()
    try:
        settings = load_settings({"engine.model": args.model})
        resolved = resolve_model(settings)
        records = read_records(args.data, args.set, 20 if args.quick else 50, args.seed)
        options = LoadOptions(
            args.dtype, MAX_PROMPT_TOKENS + MAX_NEW_TOKENS, args.threads, settings.cache_dir
        )
        model = load_model(resolved.name, resolved.path, options)
    except GooseError as error:
        print(f"benchmarks.engine: {error}", file=sys.stderr)
        return 2
    warm_up()
    target = Target(model.forward, AdjacencyTable().k)
    llamacpp = peers.LlamaCpp(resolved.path, args.threads) if peers.is_present() else None
    prompts = [model.tokenizer.encode(record["prefix"])[-MAX_PROMPT_TOKENS:] for record in records]
    curve = measure_curve(target, llamacpp, 7 if args.quick else 15)
    bench = Bench(model, target, curve.cost, args.max_new or (64 if args.quick else MAX_NEW_TOKENS))
    max_new = bench.limits.max_new_tokens
    ngram = _best_ngram(resolved.path, args, prompts[:N_TUNING_PROMPTS], max_new)
    rivals = [] if llamacpp is None else [llamacpp]
    rivals += [] if ngram is None else [ngram.server]
    for rival in rivals:
        rival.run = peers.PeerRun()
    for number, prompt in enumerate(prompts, start=1):
        bench.prompt(number, prompt, rivals)
        print(f"\r{number}/{len(prompts)} prompts", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    result = {
        **_speeds(args, bench, curve),
        **_against_llamacpp(bench, llamacpp, ngram, curve),
        **loading.measure(resolved.name, resolved.path, options),
        **exactness.check(target, prompts[:4]),
        "ppl_ratio_vs_fp32": exactness.perplexity_ratio(model, resolved.path, options),
        "t1_busy_ratio": busy_ratio(target),
        "bandwidth_fraction": _bandwidth_fraction(target, curve.cost),
        "set": args.set,
        "is_quick": args.quick,
        "machine": machine(args.threads),
        "model": args.model,
        "dtype": model.forward.dtype,
        "versions": versions("numba", "numpy", "torch", "transformers", "xllamacpp"),
        "started": started.isoformat(timespec="seconds"),
        "seconds": round(perf_counter() - began, 1),
        "n": len(prompts),
    }
    _print_tables(result)
    print(json.dumps(result))
    return 0


@dataclass(frozen=True, slots=True)
class Curve:
    cost: StepCost  # medians
    llamacpp_ms: float | None  # a token at the same context, median


def measure_curve(target: Target, llamacpp: peers.LlamaCpp | None, rounds: int) -> Curve:
    """T(n) at N_CONTEXT cached tokens, and llama.cpp's time a token behind as many, in turns."""
    times: dict[int, list[float]] = {n: [] for n in SIZES}
    peer_ms = []
    target.occupy(N_CONTEXT)
    target.verify(chain(0, []))
    rng = np.random.default_rng(0)
    for _ in range(rounds):
        for n in SIZES:
            # The mean of a few, as the peer's figure is the mean of its tokens.
            repeats = max(2, N_PEER_TOKENS // n)
            trees = [
                chain(0, rng.integers(0, target.n_vocab, n - 1).tolist()) for _ in range(repeats)
            ]
            started = perf_counter()
            for tree in trees:
                target.verify(tree)
            times[n].append((perf_counter() - started) * 1e3 / repeats)
        if llamacpp is not None:
            prompt = rng.integers(100, target.n_vocab, N_CONTEXT - N_PEER_TOKENS // 2).tolist()
            run = llamacpp.complete(prompt, N_PEER_TOKENS, ignores_end=True)
            peer_ms.append(run.ms_per_token)
    target.clear()
    medians = tuple(median(times[n]) for n in SIZES)
    return Curve(StepCost(SIZES, medians), median(peer_ms) if peer_ms else None)


@dataclass(frozen=True, slots=True)
class Tuned:
    """llama.cpp with the draft-free speculation that did best on the first prompts."""

    name: str
    server: peers.LlamaCpp


def _best_ngram(path: Path, args: Any, prompts: list[list[int]], max_new: int) -> Tuned | None:
    if not peers.is_present():
        return None
    tried = {
        name: peers.LlamaCpp(path, args.threads, configure)
        for name, configure in peers.ngram_settings()
    }
    for prompt in prompts:
        for server in tried.values():
            server.complete(prompt, max_new)
    best = max(tried, key=lambda name: tried[name].run.tok_s)
    return Tuned(best, tried[best])


def busy_ratio(target: Target, rounds: int = 15) -> float:
    """T(1) beside a process that keeps another core busy ÷ T(1) beside nobody, medians in turns."""
    busy, idle = [], []
    target.occupy(N_CONTEXT)
    for _ in range(rounds):
        idle.append(_time_one(target))
        with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as neighbour:
            busy.append(_time_one(target))
            neighbour.kill()
    target.clear()
    return round(median(busy) / median(idle), 3)


def _time_one(target: Target) -> float:
    target.verify(chain(0, []))
    started = perf_counter()
    for _ in range(5):
        target.verify(chain(0, []))
    return (perf_counter() - started) / 5


def _speeds(args: Any, bench: Bench, curve: Curve) -> dict[str, Any]:
    plain, goose = bench.plain, bench.goose
    plain_tok_s, goose_tok_s = plain.n_tokens / plain.decode_s, goose.n_tokens / goose.decode_s
    ratios = [g / p for g, p in zip(goose.tok_s, plain.tok_s, strict=False)]
    whole = [run.n_tokens / (run.prefill_s + run.decode_s) for run in (goose, plain)]
    cost = curve.cost
    return {
        "benchmark": "engine",
        "t_ms": {str(n): round(t, 2) for n, t in zip(cost.sizes, cost.times_ms, strict=True)},
        "prefill_tok_s": round(plain.n_prefilled / plain.prefill_s, 1),
        "plain_tok_s": round(plain_tok_s, 2),
        "goose_tok_s": round(goose_tok_s, 2),
        "speedup": round(goose_tok_s / plain_tok_s, 3),
        # Drafting also scores the prompt's tail, for its table: this one pays for it.
        "goose_prefill_tok_s": round(goose.n_prefilled / goose.prefill_s, 1),
        "speedup_with_prefill": round(whole[0] / whole[1], 3),
        "speedup_median_per_prompt": round(median(ratios), 3),
        "speedup_cpu_time": round(
            (goose.n_tokens / goose.cpu_s) / (plain.n_tokens / plain.cpu_s), 3
        ),
        "mean_accepted_len": round(goose.n_committed / goose.n_steps, 3),
        "best_budget": round(median(bench.budgets), 1) if bench.budgets else 0,
        "differing_tokens": bench.n_differing,
        "compared_tokens": bench.n_compared,
        "max_new_tokens": bench.limits.max_new_tokens,
    }


def _against_llamacpp(
    bench: Bench,
    llamacpp: peers.LlamaCpp | None,
    ngram: Tuned | None,
    curve: Curve,
) -> dict[str, Any]:
    keys = [f"t{n}_over_l" for n in RATIO_SIZES] + [
        "ratio_plain_vs_llamacpp",
        "ratio_goose_vs_llamacpp",
        "ratio_goose_vs_llamacpp_best",
        "ratio_prefill_vs_llamacpp",
    ]
    if llamacpp is None or ngram is None or curve.llamacpp_ms is None:
        return {"llamacpp": None, **dict.fromkeys(keys)}
    run = llamacpp.run
    plain, goose = bench.plain, bench.goose
    ngram_run = ngram.server.run
    best_tok_s = max(run.tok_s, ngram_run.tok_s)
    t_ms = dict(zip(curve.cost.sizes, curve.cost.times_ms, strict=True))
    prefill_tok_s = plain.n_prefilled / plain.prefill_s
    ratios = [t_ms[n] / curve.llamacpp_ms for n in RATIO_SIZES] + [
        plain.n_tokens / plain.decode_s / run.tok_s,
        goose.n_tokens / goose.decode_s / run.tok_s,
        goose.n_tokens / goose.decode_s / best_tok_s,
        prefill_tok_s / run.prefill_tok_s,
    ]
    return {
        "llamacpp": {
            "plain_tok_s": round(run.tok_s, 2),
            "ngram_tok_s": round(ngram_run.tok_s, 2),
            "ngram_setting": ngram.name,
            "prefill_tok_s": round(run.prefill_tok_s, 1),
            "ms_per_token_at_512": round(curve.llamacpp_ms, 2),
            "build": peers.build(),
        },
        **{key: round(ratio, 3) for key, ratio in zip(keys, ratios, strict=True)},
    }


def _bandwidth_fraction(target: Target, cost: StepCost) -> float:
    """Weight bytes read by a plain step ÷ its time, over the bandwidth of copying a large array."""
    source = np.ones(64 * 1024 * 1024, dtype=np.float32)
    copied = np.empty_like(source)
    fastest = float("inf")
    for _ in range(5):
        started = perf_counter()
        np.copyto(copied, source)
        fastest = min(fastest, perf_counter() - started)
    copy_bytes_s = 2 * source.nbytes / fastest  # read and written
    fraction = target.forward.n_weight_bytes / (cost.times_ms[0] / 1e3) / copy_bytes_s
    return float(round(fraction, 3))


def _print_tables(result: dict[str, Any]) -> None:
    console = Console()
    curve = Table("nodes", "T(n) ms", "T(n)/T(1)", "T(n)/L", title="cost of one verification")
    base = result["t_ms"]["1"]
    for n, time in result["t_ms"].items():
        over = result.get(f"t{n}_over_l")
        curve.add_row(n, f"{time:.1f}", f"{time / base:.2f}", f"{over:.2f}" if over else "")
    console.print(curve)
    speed = Table("", "", title=f"{result['n']} prompts of {result['set']}, greedy")
    for key in (
        *("plain_tok_s", "goose_tok_s", "speedup", "mean_accepted_len", "best_budget"),
        *(
            "speedup_with_prefill",
            "prefill_tok_s",
            "goose_prefill_tok_s",
            "max_abs_logit_diff",
            "history_bit_equal",
            "ppl_ratio_vs_fp32",
        ),
        *("load_cold_s", "load_warm_s", "rss_mb", "t1_busy_ratio", "bandwidth_fraction"),
        *("ratio_plain_vs_llamacpp", "ratio_goose_vs_llamacpp_best", "ratio_prefill_vs_llamacpp"),
    ):
        speed.add_row(key, str(result[key]))
    speed.add_row(
        "differing tokens", f"{result['differing_tokens']} of {result['compared_tokens']}"
    )
    console.print(speed)
    if result["llamacpp"] is None:
        console.print(f"llama.cpp is not installed here; get it with: {peers.HOW_TO_GET}")


if __name__ == "__main__":
    sys.exit(main())
