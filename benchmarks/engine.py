"""What a forward pass costs here, and what spine trees make of it.

Bounds: decoding reads every weight once a pass, so plain decoding cannot exceed memory bandwidth ÷ weight
bytes tokens a second; verifying n nodes adds arithmetic, and T(n)/T(1) is what drafting has to beat. The
printed `bandwidth_fraction` says how much of the measured copy bandwidth a plain step uses.

    python -m benchmarks.engine [--quick] [--json] [--data DIR] [--threads N] [--dtype fp32|bf16]

Keys that belong to parts not built yet (peers, converted cache, busy-neighbour test) are null.
"""

import argparse
import gzip
import json
import os
import platform
import random
import resource
import sys
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

import torch
import transformers
from rich.console import Console
from rich.table import Table

from goose_lsp import __version__
from goose_lsp.cancel import CancelToken
from goose_lsp.config import load_settings
from goose_lsp.draft.bigrams import AdjacencyTable
from goose_lsp.draft.budget import StepCost
from goose_lsp.draft.drafter import Drafter
from goose_lsp.draft.estimate import Estimator
from goose_lsp.engine.catalog import resolve_model
from goose_lsp.engine.cost import measure_step_cost
from goose_lsp.engine.decode import DecodeLimits, Decoder, DecodeStats, PlainPolicy, Policy
from goose_lsp.engine.load import LoadedModel, load_model
from goose_lsp.engine.thread import n_allowed_cores, use_threads
from goose_lsp.engine.verify import Target
from goose_lsp.errors import GooseError

SIZES = (1, 2, 4, 8, 16, 32, 64)
MAX_PROMPT_TOKENS = 1500
MAX_NEW_TOKENS = 160
UNBUILT = (
    "max_abs_logit_diff",
    "history_bit_equal",
    "load_warm_s",
    "ppl_ratio_vs_fp32",
    "t1_busy_ratio",
    "llamacpp",
    "t1_over_l",
    "t8_over_l",
    "t16_over_l",
    "t64_over_l",
    "ratio_plain_vs_llamacpp",
    "ratio_goose_vs_llamacpp",
    "ratio_goose_vs_llamacpp_best",
    "ratio_prefill_vs_llamacpp",
)


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
        self.n_prefilled += stats.n_prefilled
        self.prefill_s += stats.prefill_s
        if stats.n_tokens:
            self.tok_s.append(stats.n_tokens / stats.decode_s)


class Bench:
    """Both policies on the same target, prompt by prompt in turns."""

    def __init__(self, model: LoadedModel, target: Target, cost: StepCost, max_new: int) -> None:
        self.model = model
        self.target = target
        self.cost_table = cost.table(SIZES[-1] - 1)
        self.table = AdjacencyTable()
        self.estimator = Estimator()
        self.limits = DecodeLimits(max_new, len(self.cost_table) - 1, model.tokenizer.control_ids)
        self.plain, self.goose = Run(), Run()
        self.n_differing = self.n_compared = 0
        self.budgets: list[float] = []

    def prompt(self, token_ids: list[int]) -> None:
        ends = self.limits.end_ids
        drafter = Drafter(self.table, self.estimator, ends.__contains__, cost_table=self.cost_table)
        drafted, stats = self._decode(token_ids, drafter, self.table, self.goose)
        if stats.n_steps:
            self.budgets.append(stats.n_drafted / stats.n_steps)
        plain, _ = self._decode(token_ids, PlainPolicy(), None, self.plain)
        self.n_compared += len(plain)
        self.n_differing += max(len(plain), len(drafted)) - _n_common(plain, drafted)

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
    args = _arguments(argv)
    started = datetime.now(UTC)
    began = perf_counter()
    try:
        resolved = resolve_model(load_settings({"engine.model": args.model}))
        prompts = _read_prompts(args.data, args.set, 20 if args.quick else 50, args.seed)
        use_threads(args.threads)
        model = load_model(resolved.name, resolved.path, args.dtype)
    except GooseError as error:
        print(f"benchmarks.engine: {error}", file=sys.stderr)
        return 2
    load_cold_s = perf_counter() - began
    target = Target(model.weights, MAX_PROMPT_TOKENS + MAX_NEW_TOKENS, AdjacencyTable().k)
    cost = measure_step_cost(target, SIZES, repeats=5)
    bench = Bench(model, target, cost, args.max_new or (64 if args.quick else MAX_NEW_TOKENS))
    for number, text in enumerate(prompts, start=1):
        bench.prompt(model.tokenizer.encode(text)[-MAX_PROMPT_TOKENS:])
        print(f"\r{number}/{len(prompts)} prompts", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    result = _result(args, bench, cost)
    result |= {
        "load_cold_s": round(load_cold_s, 2),
        "bandwidth_fraction": _bandwidth_fraction(model, cost),
        "started": started.isoformat(timespec="seconds"),
        "seconds": round(perf_counter() - began, 1),
        "n": len(prompts),
    }
    _print_tables(result)
    print(json.dumps(result))
    return 0


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.engine")
    parser.add_argument("--quick", action="store_true", help="20 prompts of 64 new tokens")
    parser.add_argument(
        "--json", action="store_true", help="accepted; the last line always is JSON"
    )
    default_data = Path(__file__).parent.parent.parent / "shared" / "data"
    data = Path(os.environ.get("GOOSE_LSP_DATA", default_data))
    parser.add_argument("--data", type=Path, default=data)
    parser.add_argument("--set", default="humaneval")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--dtype", choices=("fp32", "bf16"), default="fp32")
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--max-new", type=int, default=0)
    return parser.parse_args(argv)


def _read_prompts(data: Path, name: str, n: int, seed: int) -> list[str]:
    """The first n prefixes after a seeded shuffle."""
    files = sorted((data / name).glob("*.jsonl.gz"))
    if not files:
        raise GooseError(f"no data set {name} under {data}; name its folder with --data")
    records = []
    for file in files:
        with gzip.open(file, "rt", encoding="utf-8") as stream:
            records += [json.loads(line) for line in stream]
    random.Random(seed).shuffle(records)
    return [record["prefix"] for record in records[:n]]


def _result(args: argparse.Namespace, bench: Bench, cost: StepCost) -> dict[str, Any]:
    plain, goose = bench.plain, bench.goose
    plain_tok_s, goose_tok_s = plain.n_tokens / plain.decode_s, goose.n_tokens / goose.decode_s
    ratios = [g / p for g, p in zip(goose.tok_s, plain.tok_s, strict=True)]
    return {
        "benchmark": "engine",
        "t_ms": {str(n): round(t, 2) for n, t in zip(cost.sizes, cost.times_ms, strict=True)},
        "prefill_tok_s": round(plain.n_prefilled / plain.prefill_s, 1),
        "plain_tok_s": round(plain_tok_s, 2),
        "goose_tok_s": round(goose_tok_s, 2),
        "speedup": round(goose_tok_s / plain_tok_s, 3),
        "speedup_median_per_prompt": round(median(ratios), 3),
        "speedup_cpu_time": round(
            (goose.n_tokens / goose.cpu_s) / (plain.n_tokens / plain.cpu_s), 3
        ),
        "mean_accepted_len": round(goose.n_committed / goose.n_steps, 3),
        "best_budget": round(median(bench.budgets), 1) if bench.budgets else 0,
        "differing_tokens": bench.n_differing,
        "compared_tokens": bench.n_compared,
        "rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "set": args.set,
        "is_quick": args.quick,
        "max_new_tokens": bench.limits.max_new_tokens,
        "machine": _machine(args.threads),
        "model": args.model,
        "dtype": args.dtype,
        "versions": {
            "goose-lsp": __version__,
            "python": platform.python_version(),
            "torch": torch.__version__,
            "transformers": transformers.__version__,
        },
        **dict.fromkeys(UNBUILT),
    }


def _machine(threads: int) -> dict[str, Any]:
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [line for line in info.read_text().splitlines() if line.startswith("model name")]
        cpu = names[0].partition(":")[2].strip() if names else cpu
    return {
        "cpu": cpu,
        "capability": torch.backends.cpu.get_cpu_capability(),
        "cores_allowed": n_allowed_cores(),
        "threads": threads or torch.get_num_threads(),
        "gpu": None,
    }


def _bandwidth_fraction(model: LoadedModel, cost: StepCost) -> float:
    """Weight bytes read by a plain step ÷ its time, over the bandwidth of copying a large array."""
    weights = model.weights
    tensors = [weights.head]
    for layer in weights.layers:
        tensors += [layer.qkv, layer.output, layer.gate_up, layer.down]
    n_bytes = sum(tensor.nbytes for tensor in tensors)
    source = torch.ones(64 * 1024 * 1024, dtype=torch.float32)
    target = torch.empty_like(source)
    fastest = float("inf")
    for _ in range(5):
        started = perf_counter()
        target.copy_(source)
        fastest = min(fastest, perf_counter() - started)
    copy_bytes_s = 2 * source.nbytes / fastest  # read and written
    return round(n_bytes / (cost.times_ms[0] / 1e3) / copy_bytes_s, 3)


def _n_common(first: list[int], second: list[int]) -> int:
    n = 0
    for a, b in zip(first, second, strict=False):
        if a != b:
            break
        n += 1
    return n


def _print_tables(result: dict[str, Any]) -> None:
    console = Console()
    curve = Table("nodes", "T(n) ms", "T(n)/T(1)", title="cost of one verification")
    base = result["t_ms"]["1"]
    for n, time in result["t_ms"].items():
        curve.add_row(n, f"{time:.1f}", f"{time / base:.2f}")
    console.print(curve)
    speed = Table("", "", title=f"{result['n']} prompts of {result['set']}, greedy")
    for key in ("plain_tok_s", "goose_tok_s", "speedup", "mean_accepted_len", "best_budget"):
        speed.add_row(key, str(result[key]))
    speed.add_row(
        "differing tokens", f"{result['differing_tokens']} of {result['compared_tokens']}"
    )
    console.print(speed)


if __name__ == "__main__":
    sys.exit(main())
