"""How many prompt tokens a typed character costs: recorded sessions against the cache, in every layout.

Every change of a recording asks for a completion, as it would in an editor; the engine's own rules
choose among its cached contexts. Completions themselves are not decoded, so none of them is cached.
Nothing but the layouts and the recordings bounds the result; it is the same on every machine.
"""

import json
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from tokenizers import AddedToken
from tokenizers import Tokenizer as Backend

from benchmarks.common import MAX_PROMPT_TOKENS, parser_of
from benchmarks.keystrokes import Moment, play, sessions
from goose_lsp.config import load_settings
from goose_lsp.engine.catalog import resolve_model
from goose_lsp.engine.forward import Forward
from goose_lsp.engine.gguf_file import open_model
from goose_lsp.engine.kv import KVPool
from goose_lsp.errors import GooseError
from goose_lsp.prompt.builder import Frozen, build_prompt
from goose_lsp.prompt.fim import detect
from goose_lsp.prompt.frame import Surroundings
from goose_lsp.tokenizer import Tokenizer

N_CONTEXTS = 4
# Families by the layout they stand for; the plainest of each.
LAYOUTS: Mapping[str, Sequence[str]] = {
    "prefix-only": (),
    "psm": ("<fim-prefix>", "<fim-suffix>", "<fim-middle>"),
    "spm": ("<[fim-prefix]>", "<[fim-suffix]>", "<[fim-middle]>"),
}
GOALS = {"p50": 8, "mean": 32, "p95": 128}


@dataclass
class _Ledger:
    """Stands for the keys and values: the pool keeps account of the tokens itself."""

    max_tokens: int
    n_bytes: int = 0

    def new_store(self, max_tokens: int) -> "_Ledger":
        return _Ledger(max_tokens)

    def move(self, targets: Sequence[int], sources: Sequence[int]) -> None:
        del targets, sources

    def copy_prefix(self, other: object, n_tokens: int) -> None:
        del other, n_tokens


def prefilled(
    moments: Iterable[Moment], tokenizer: Tokenizer, budget: int = MAX_PROMPT_TOKENS
) -> Iterator[tuple[Moment, int]]:
    """Every moment with how many tokens of its prompt no context holds."""
    pool = KVPool(cast(Forward, _Ledger(budget)), budget, N_CONTEXTS)
    fim = detect(tokenizer)
    frozen: dict[str, Frozen] = {}
    for moment in moments:
        around = Surroundings(moment.document, moment.cursor, moment.path)
        uri = moment.document.uri
        prompt, frozen[uri] = build_prompt(around, tokenizer, fim, budget, frozen.get(uri))
        context = pool.select(prompt.token_ids)
        new_ids = prompt.token_ids[context.n_cached :]
        context.append(new_ids)
        yield moment, len(new_ids)


def measure(
    data: Path, tokenizer: Tokenizer, budget: int = MAX_PROMPT_TOKENS
) -> dict[str, dict[str, Any]]:
    """By layout: tokens prefilled for the prompt after a typed character, and after any change."""
    results: dict[str, dict[str, Any]] = {}
    for layout, control_tokens in LAYOUTS.items():
        marked = with_control_tokens(tokenizer, control_tokens)
        costs = [
            (moment.is_typed, n_new)
            for session in sessions(data)
            for moment, n_new in prefilled(play(session), marked, budget)
        ]
        typed = summary([n_new for is_typed, n_new in costs if is_typed])
        results[layout] = typed | {"any_change": summary([n_new for _, n_new in costs])}
    return results


def summary(counts: Sequence[int]) -> dict[str, Any]:
    return {
        "n": len(counts),
        "p50": float(np.percentile(counts, 50)),
        "mean": round(float(np.mean(counts)), 1),
        "p95": round(float(np.percentile(counts, 95)), 1),
    }


def with_control_tokens(tokenizer: Tokenizer, control_tokens: Sequence[str]) -> Tokenizer:
    """The same vocabulary with some more control tokens."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "tokenizer.json")
        tokenizer.save(file)
        backend = Backend.from_file(str(file))
        backend.add_special_tokens(
            [AddedToken(token, special=True, normalized=False) for token in control_tokens]
        )
        backend.save(str(file))
        ids = {cast(int, backend.token_to_id(token)) for token in control_tokens}
        return Tokenizer.from_saved(file, tokenizer.control_ids | ids)


def main() -> int:
    parser = parser_of("prompting", quick="accepted; the whole takes seconds")
    args = parser.parse_args()
    model = resolve_model(load_settings({"engine.model": args.model}))
    _, tokenizer = open_model(model.path)
    results = measure(args.data, tokenizer)
    print(
        f"tokens prefilled per typed character, {N_CONTEXTS} contexts, {MAX_PROMPT_TOKENS} tokens"
    )
    for layout, found in results.items():
        figures = ", ".join(f"{name} {found[name]:g} (goal {goal})" for name, goal in GOALS.items())
        print(f"  {layout:12} {figures}; any change: mean {found['any_change']['mean']}")
    print(json.dumps({"benchmark": "prompting", "goals": GOALS, "layouts": results}))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except GooseError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
