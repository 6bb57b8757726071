"""Whether what shares a pass, or what was cached before, changes a token's logits; and what 8 bits cost."""

import argparse as _argparse
import csv
import difflib
import heapq
import json.decoder
import random
import shlex
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from goose_lsp.cancel import CancelToken
from goose_lsp.draft.tree import DraftTree, chain
from goose_lsp.engine.load import LoadedModel, LoadOptions, load_model
from goose_lsp.engine.verify import Target

# Real library source, in every Python: what a programmer's files look like.
_SOURCES = (json.decoder, _argparse, heapq, textwrap, shlex, csv, difflib)
_SKIPPED, _SCORED = 300, 640  # tokens of each file left out at its start, and looked at
_N_TAIL = 40


def check(target: Target, prompts: Sequence[Sequence[int]]) -> dict[str, Any]:
    """Logits of real tokens decoded one by one, against other ways to the same tokens."""
    rng = random.Random(0)
    differences = [0.0]
    for prompt in prompts:
        token_ids = list(prompt[:400])
        alone = _one_by_one(target, token_ids)
        differences += [
            _largest(alone, _in_chunks(target, token_ids, rng)),
            _largest(alone, _in_trees(target, token_ids, rng)),
            _largest(alone, _after_reuse(target, token_ids)),
        ]
    return {
        "max_abs_logit_diff": max(differences),
        "history_bit_equal": max(differences) == 0.0,
    }


def perplexity_ratio(model: LoadedModel, path: Path, options: LoadOptions) -> float | None:
    """Perplexity on library source ÷ that of the same weights in full precision."""
    if model.forward.dtype == "fp32":
        return None
    full = load_model("full", path, replace(options, dtype="fp32"))
    sources = [Path(str(module.__file__)).read_text("utf-8") for module in _SOURCES]
    texts = [model.tokenizer.encode(text)[_SKIPPED:][:_SCORED] for text in sources]
    ours, theirs = (_mean_nll(Target(m.forward, top_k=1), texts) for m in (model, full))
    return round(float(np.exp(ours - theirs)), 4)


def _mean_nll(target: Target, texts: list[list[int]]) -> float:
    total, n = 0.0, 0
    for text in texts:
        target.clear()
        for start in range(0, len(text) - 1, 64):
            part = text[start : start + 64]
            logits = target.logits(chain(part[0], part[1:])).astype(np.float64)
            list(target.prefill(text[: start + len(part)], CancelToken()))
            following = text[start + 1 : start + 65]
            rows = logits[: len(following)]
            peak = rows.max(axis=1)
            log_sum = peak + np.log(np.exp(rows - peak[:, None]).sum(axis=1))
            total += float((log_sum - rows[np.arange(len(following)), following]).sum())
            n += len(following)
    return total / n


def _one_by_one(target: Target, token_ids: list[int]) -> npt.NDArray[np.float32]:
    """[_N_TAIL, vocab]: what follows each of the last tokens."""
    _prefill(target, token_ids[:-_N_TAIL])
    rows = []
    for token in token_ids[-_N_TAIL:]:
        tree = chain(token, [])
        rows.append(target.logits(tree)[0])
        target.commit(tree, [])
    return np.stack(rows)


def _in_chunks(target: Target, token_ids: list[int], rng: random.Random) -> npt.NDArray[np.float32]:
    target.clear()
    start, chunk = 0, target.chunk
    while start < len(token_ids) - _N_TAIL:
        target.chunk = rng.randint(1, 64)
        end = min(start + target.chunk, len(token_ids) - _N_TAIL)
        list(target.prefill(token_ids[:end], CancelToken()))
        start = end
    target.chunk = chunk
    tail = token_ids[-_N_TAIL:]
    return target.logits(chain(tail[0], tail[1:]))


def _in_trees(target: Target, token_ids: list[int], rng: random.Random) -> npt.NDArray[np.float32]:
    """The true path scattered among wrong branches, accepted and compacted in irregular steps."""
    _prefill(target, token_ids[:-_N_TAIL])
    tail, rows = token_ids[-_N_TAIL:], []
    while tail:
        n = min(len(tail), rng.randint(1, 7))
        tokens, parents, path = [tail[0]], [-1], [0]
        for token in tail[1:n]:
            for _ in range(rng.randint(0, 3)):
                wrong = rng.randrange(target.n_vocab)
                siblings = {t for t, p in zip(tokens, parents, strict=True) if p == path[-1]}
                if wrong != token and wrong not in siblings:
                    tokens.append(wrong)
                    parents.append(path[-1])
            tokens.append(token)
            parents.append(path[-1])
            path.append(len(tokens) - 1)
        tree = DraftTree(tuple(tokens), tuple(parents))
        rows.append(target.logits(tree)[path])
        target.commit(tree, path[1:])
        tail = tail[n:]
    return np.concatenate(rows)


def _after_reuse(target: Target, token_ids: list[int]) -> npt.NDArray[np.float32]:
    """Another text that begins alike comes first; its prefix is what the cache keeps."""
    half = len(token_ids) // 2
    _prefill(target, [*token_ids[:half], *reversed(token_ids)])
    target.reuse(token_ids[:-_N_TAIL])
    list(target.prefill(token_ids[:-_N_TAIL], CancelToken()))
    tail = token_ids[-_N_TAIL:]
    return target.logits(chain(tail[0], tail[1:]))


def _prefill(target: Target, token_ids: list[int]) -> None:
    target.clear()
    list(target.prefill(token_ids, CancelToken()))


def _largest(first: npt.NDArray[np.float32], second: npt.NDArray[np.float32]) -> float:
    return float(np.abs(first - second).max())
