"""Refit the priors that drafting ships with: how often each kind of candidate was right.

Decodes the last prompts of every set's shuffle, of which the other benchmarks take the first (only a full run
reaches them, in mt_bench, which is that small), a fresh memory for every set, and counts by coarse cell; rules
of thumb stand in where little was seen. Writes goose_lsp/draft/priors.json.

    python -m benchmarks.fit_priors [--prompts N] [common flags]
"""

import json
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.common import MAX_NEW_TOKENS, MAX_PROMPT_TOKENS, parser_of
from benchmarks.prompts import SETS, Prompt, load_prompts
from goose_lsp.cancel import CancelToken
from goose_lsp.config import load_settings
from goose_lsp.draft import candidates
from goose_lsp.draft.candidates import N_BINS, N_KINDS, N_LENGTHS, N_RANKS, N_SOURCES
from goose_lsp.draft.drafter import Drafter
from goose_lsp.draft.policy import Memory
from goose_lsp.engine.catalog import resolve_model
from goose_lsp.engine.decode import DecodeLimits, Decoder
from goose_lsp.engine.load import LoadOptions, load_model
from goose_lsp.engine.verify import Target

N_NODES, N_TOKENS, ALL = 40, 128, 1 << 20
STRENGTH = 12.0  # trials that a rule of thumb is worth
Counts = npt.NDArray[np.float64]

# Acceptance by match length, from 60 source files; the bins above 16 tokens widen.
_BY_LENGTH = (
    0.0, 0.28, 0.58, 0.66, 0.74, 0.78, 0.85, 0.87, 0.87, 0.88, 0.89, 0.90, 0.92, 0.93, 0.94, 0.95, 0.97,
    0.975, 0.985, 0.99,
)  # fmt: skip
_KIND_FACTORS = (1.1, 1.0, 0.8, 0.12, 0.4, 0.06)
# Copies from other files of the workspace are far less reliable until the match is long.
_STORED_BY_LENGTH = (
    0.0, 0.12, 0.25, 0.25, 0.33, 0.36, 0.5, 0.55, 0.6, 0.65, 0.68, 0.75, 0.85, 0.88, 0.9, 0.92, 0.93,
    0.95, 0.96, 0.97,
)  # fmt: skip
_STORED_FACTORS = (1.0, 0.15)
_BIN_CENTRES = (0.01, 0.04, 0.1, 0.24, 0.5, 0.78, 0.96)
_SOURCE_FACTORS = (0.6, 0.6, 0.6, 0.1, 0.1, 0.02, 0.2)


def main(argv: list[str] | None = None) -> int:
    parser = parser_of("fit_priors", "accepted, changes nothing")
    parser.add_argument("--prompts", type=int, default=8)
    args = parser.parse_args(argv)
    settings = load_settings({"engine.model": args.model})
    resolved = resolve_model(settings)
    options = LoadOptions(
        args.dtype, MAX_PROMPT_TOKENS + MAX_NEW_TOKENS, args.threads, settings.cache_dir
    )
    model = load_model(resolved.name, resolved.path, options)
    copy = np.zeros((N_KINDS * N_LENGTHS, 2))
    table = np.zeros((N_SOURCES * N_RANKS * N_BINS, 2))
    ends = model.tokenizer.control_ids
    for name in SETS:
        memory = Memory()
        target = Target(model.forward, memory.table.k)
        prompts = load_prompts(name, model.tokenizer, args.data, ALL, args.seed, N_TOKENS)
        for prompt in prompts[-args.prompts :]:
            _decode(target, memory, prompt, ends)
        copy += memory.cells.copy_coarse
        table += memory.cells.table_coarse
        print(name, file=sys.stderr)
    priors = {
        "copy": _shrunk(copy, _copy_rule()).reshape(N_KINDS, N_LENGTHS).tolist(),
        "table": _shrunk(table, _table_rule()).reshape(N_SOURCES, N_RANKS, N_BINS).tolist(),
    }
    file = Path(candidates.__file__).with_name("priors.json")
    file.write_text(json.dumps(priors).replace("]], ", "]],\n ").replace("], ", "],\n  ") + "\n")
    return 0


def _decode(target: Target, memory: Memory, prompt: Prompt, ends: frozenset[int]) -> None:
    target.clear()
    limits = DecodeLimits(prompt.max_new_tokens, N_NODES, ends)
    decoder = Decoder(target, Drafter(memory, ends), limits, CancelToken(), memory.table)
    decoder.prefill(prompt.token_ids)
    for _ in decoder.steps():
        pass


def _shrunk(counts: Counts, rule: Counts) -> Counts:
    hits, trials = counts[:, 0], counts[:, 1]
    return np.round((hits + STRENGTH * rule) / (trials + STRENGTH), 4).clip(0.0005, 0.998)


def _copy_rule() -> Counts:
    rules = np.outer(_KIND_FACTORS, _BY_LENGTH), np.outer(_STORED_FACTORS, _STORED_BY_LENGTH)
    return np.concatenate(rules).clip(0.005, 0.995).ravel()


def _table_rule() -> Counts:
    by_rank = [1.0, *[0.6] * (N_RANKS - 1)]
    product = np.einsum("s,r,b->srb", _SOURCE_FACTORS, by_rank, _BIN_CENTRES)
    return np.asarray(product.ravel())


if __name__ == "__main__":
    sys.exit(main())
