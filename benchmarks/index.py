"""What the workspace index costs and what it brings.

Bounds: tokenising, then one sort of all places; a query is four binary searches, each a cache miss a step at this
size; an edit is one pass over the delta. Drafts are replayed with the text that a later release really holds as
truth, with and without the store.

    python -m benchmarks.index [--quick] [--tokens N] [--older REQUIREMENT --newer REQUIREMENT] [common flags]
"""

import json
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.common import machine, parser_of, versions
from benchmarks.releases import DEFAULT, LaterEdit, fetch, later_edits
from goose_lsp.config import load_settings
from goose_lsp.draft.accept import accept_greedy
from goose_lsp.draft.counts import add_counts, build_counts
from goose_lsp.draft.drafter import Drafter
from goose_lsp.draft.policy import Memory
from goose_lsp.draft.recall import MAX_FOLLOWERS, MAX_MATCH_LEN, new_followers
from goose_lsp.draft.segment import build_segment
from goose_lsp.draft.store import FAR, Library, StoreView, empty_library, empty_view, find_in_store
from goose_lsp.engine.catalog import resolve_model
from goose_lsp.engine.load import LoadOptions, load_model
from goose_lsp.index.bridge import bridges
from goose_lsp.index.collection import Collection
from goose_lsp.index.overlay import Overlay
from goose_lsp.index.persist import FileRecord, Shelf, Snapshot
from goose_lsp.index.retokenise import Retokeniser
from goose_lsp.index.scan import Scanner
from goose_lsp.tokenizer import Tokenizer

Tokens = npt.NDArray[np.int32]
MAX_CONTEXT, MAX_TRUTH, MAX_NODES = 1500, 128, 16
PACKAGES = ("numpy", "numba", "tokenizers")


def main(argv: list[str] | None = None) -> int:
    parser = parser_of("index", "2 million tokens instead of 10, and 60 edits")
    parser.add_argument("--tokens", type=int, default=0, help="size of the synthetic store")
    parser.add_argument("--older", default=DEFAULT[0])
    parser.add_argument("--newer", default=DEFAULT[1])
    args = parser.parse_args(argv)
    started, start_s = datetime.now(UTC).isoformat(timespec="seconds"), perf_counter()
    settings = load_settings({"engine.model": args.model})
    tokenizer = _tokenizer(settings, args)
    n_tokens = args.tokens or (2_000_000 if args.quick else 10_000_000)
    folder = settings.cache_dir / "benchmarks"
    older, newer = fetch(args.older, folder), fetch(args.newer, folder)
    result: dict[str, Any] = {"tokens": n_tokens, "older": args.older, "newer": args.newer}
    files, result["tokenize_tok_s"] = _tokenise(older, tokenizer)
    library, built = _build(_synthetic(list(files.values()), n_tokens, args.seed))
    result |= built | _query(library, args.seed) | _edits(files, tokenizer, args.seed)
    result |= _restart(older, tokenizer)
    edits = list(later_edits(older, newer))[:: 1 if not args.quick else 2][
        : 60 if args.quick else None
    ]
    result |= _midline(files, older, tokenizer, args.seed) | _replay(edits, files, newer, tokenizer)
    result |= {
        "n": len(edits),
        "model": args.model,
        "dtype": None,
        "machine": machine(args.threads),
        "versions": versions(*PACKAGES),
        "started": started,
        "seconds": round(perf_counter() - start_s, 1),
    }
    for key, value in result.items():
        print(f"{key:28} {value}")
    print(json.dumps(result))
    return 0


def _tokenizer(settings: Any, args: Any) -> Tokenizer:
    resolved = resolve_model(settings)
    options = LoadOptions(args.dtype, 64, args.threads, settings.cache_dir)
    model = load_model(resolved.name, resolved.path, options)
    model.forward.close()
    return model.tokenizer


def _cpu_s(work: Callable[[], Any]) -> tuple[Any, float]:
    start_s = process_time()
    made = work()
    return made, process_time() - start_s


def _tokenise(texts: dict[str, str], tokenizer: Tokenizer) -> tuple[dict[str, Tokens], int]:
    """Tokens of every file, and how many a second of one core."""
    tokenizer.encode_batch(["x"])
    encoded, seconds = _cpu_s(lambda: tokenizer.encode_batch(list(texts.values())))
    n_tokens = sum(map(len, encoded))
    return dict(zip(texts, encoded, strict=True)), round(n_tokens / seconds)


def _synthetic(files: Sequence[Tokens], n_tokens: int, seed: int) -> list[Tokens]:
    """Files cut from real ones, each with some tokens exchanged, so that they are alike and not the same."""
    rng, made, n_made = np.random.default_rng(seed), list[Tokens](), 0
    pool = np.concatenate(files)
    while n_made < n_tokens:
        start, length = int(rng.integers(0, len(pool) - 4000)), int(rng.integers(500, 4000))
        file = pool[start : start + length].copy()
        places = rng.integers(0, length, length // 8)
        file[places] = pool[rng.integers(0, len(pool), len(places))]
        made.append(file)
        n_made += length
    return made


def _joined(files: Sequence[Tokens]) -> tuple[Tokens, Tokens]:
    end = np.array([-1], np.int32)
    tokens = np.concatenate([piece for file in files for piece in (file, end)])
    return tokens, np.cumsum([0, *(len(file) + 1 for file in files)]).astype(np.int32)


def _build(files: Sequence[Tokens]) -> tuple[Library, dict[str, Any]]:
    tokens, starts = _joined(files)
    build_segment(tokens[:100])
    build_counts(tokens[:100])
    (segment, counts), seconds = _cpu_s(lambda: (build_segment(tokens), build_counts(tokens)))
    library = Library(segment, starts, np.full(len(files), FAR, np.uint8), counts)
    arrays = [*segment, starts, *counts]
    return library, {
        "build_tok_s": round(len(tokens) / seconds),
        "bytes_per_token": round(sum(a.nbytes for a in arrays) / len(tokens), 2),
    }


def _query(library: Library, seed: int) -> dict[str, Any]:
    view = StoreView(library, empty_library(), np.zeros(2, np.int32))
    rng, tokens = np.random.default_rng(seed), library.segment.tokens
    found, score = new_followers(), np.zeros(MAX_FOLLOWERS, np.int64)
    times = []
    for place in rng.integers(MAX_MATCH_LEN, len(tokens), 3000).tolist():
        tail = tokens[place - MAX_MATCH_LEN : place].copy()
        start_s = perf_counter()
        find_in_store(view, tail, MAX_MATCH_LEN, found, score)
        times.append(perf_counter() - start_s)
    return {"query_us": _percentiles(times[100:], 1e6)}


def _percentiles(times_s: Sequence[float], factor: float) -> dict[str, float]:
    p50, p99 = np.percentile(times_s, [50, 99]) * factor
    return {"p50": round(float(p50), 3), "p99": round(float(p99), 3)}


def _edits(files: dict[str, Tokens], tokenizer: Tokenizer, seed: int) -> dict[str, Any]:
    """One typed character in an open document of 10,000 lines, and a saved file of 5,000 tokens."""
    pool = np.concatenate(list(files.values()))
    text = "\n".join(tokenizer.decode(pool.tolist()).split("\n")[:10_000])
    text += "\n" * max(0, 10_000 - text.count("\n"))
    rng, overlay, retokeniser = np.random.default_rng(seed), Overlay(), Retokeniser(tokenizer)
    tokens = retokeniser.tokens(text)
    overlay.put("open", tokens)
    keys, splices = [], []
    for place in rng.integers(0, len(text), 200).tolist():
        before, text = text, text[:place] + "x" + text[place:]
        start_s = perf_counter()
        tokens = retokeniser.updated(before, tokens, text)
        middle_s = perf_counter()
        overlay.put("open", tokens)
        overlay.view()
        keys.append(perf_counter() - start_s)
        splices.append(perf_counter() - middle_s)
    saved = []
    for i in range(10):
        start_s = perf_counter()
        overlay.put("saved", pool[i * 50 : i * 50 + 5000] if len(pool) > 6000 else pool)
        saved.append(perf_counter() - start_s)
        overlay.remove("saved")
    counts = add_counts(overlay.view().base.counts, overlay.view().delta.counts)
    whole = build_counts(overlay.view().delta.segment.tokens)
    order = build_segment(overlay.view().delta.segment.tokens).order
    return {
        "keystroke_update_ms": _percentiles(keys, 1e3),
        "keystroke_store_ms": _percentiles(splices, 1e3),
        "file_update_ms": round(median(saved) * 1e3, 2),
        "equal_to_rebuild": bool(
            tokens.tolist() == tokenizer.encode(text)
            and np.array_equal(counts.keys, whole.keys)
            and np.array_equal(counts.counts, whole.counts)
            and np.array_equal(order, overlay.view().delta.segment.order)
        ),
    }


def _restart(texts: dict[str, str], tokenizer: Tokenizer, n_files: int = 1000) -> dict[str, Any]:
    """A workspace of 1,000 files, first from nothing, then from what was kept; in this process."""
    with TemporaryDirectory() as name:
        root, sources = Path(name) / "work", list(texts.values())
        root.mkdir()
        for i in range(n_files):
            (root / f"m{i}.py").write_text(f"# {i}\n" + sources[i % len(sources)])
        shelf = Shelf.of(Path(name) / "cache", [str(root)], "benchmark", tokenizer.n_vocab)
        start_s = perf_counter()
        collection = Collection(Scanner([root]), tokenizer)
        collection.rescan()
        shelf.write(collection.snapshot())
        cold_s, start_s = perf_counter() - start_s, perf_counter()
        kept = shelf.newest()
        assert kept is not None
        Collection(Scanner([root]), tokenizer, kept[1]).rescan()
        warm_s = perf_counter() - start_s
    return {"cold_start_s": round(cold_s, 2), "warm_start_s": round(warm_s, 2)}


def _midline(
    files: dict[str, Tokens], texts: dict[str, str], tokenizer: Tokenizer, seed: int
) -> dict[str, Any]:
    """How often the next token is found behind a cut anywhere in a line, over how often behind a whole token."""
    view = StoreView(_base(files), empty_library(), np.zeros(2, np.int32))
    rng, names = np.random.default_rng(seed), [n for n, t in texts.items() if len(t) > 2000]
    n_hits, n_hits_mid, n = 0, 0, 300
    for _ in range(n):
        name = names[int(rng.integers(len(names)))]
        tokens = files[name].tolist()
        place = int(rng.integers(60, len(tokens) - 20))
        n_hits += _proposes(view, tokens[:place], tokens[place], [])
        text, cut = texts[name], int(rng.integers(200, len(texts[name]) - 40))
        prompt = tokenizer.encode(text[max(cut - 600, 0) : cut])
        truth = tokenizer.encode_inner(text[cut : cut + 40])[0]
        n_hits_mid += _proposes(view, prompt, truth, bridges(view, prompt, "", tokenizer))
    return {
        "midline_hit_ratio": round(n_hits_mid / max(n_hits, 1), 3),
        "boundary_hit_share": n_hits / n,
    }


def _base(files: dict[str, Tokens]) -> Library:
    tokens, starts = _joined(list(files.values()))
    weights = np.full(len(files), FAR, np.uint8)
    return Library(build_segment(tokens), starts, weights, build_counts(tokens))


def _proposes(
    view: StoreView, context: Sequence[int], truth: int, bridged: Sequence[Sequence[int]]
) -> bool:
    drafter = Drafter(Memory(), (), store=view, use_table=False)
    drafter.bridge(bridged)
    drafter.extend(context[-MAX_MATCH_LEN:])
    tree = drafter.draft(8, 1)
    return truth in tree.token_ids[1:]


def _replay(
    edits: Sequence[LaterEdit],
    files: dict[str, Tokens],
    newer: dict[str, str],
    tokenizer: Tokenizer,
) -> dict[str, Any]:
    """Mean accepted length where the target writes what the newer release holds, with and without the store."""
    paths = sorted(files)
    records = tuple(FileRecord(path, 0, 0, 0, b"") for path in paths)
    base = Snapshot(records, _base({path: files[path] for path in paths}))
    totals = {"with": [0, 0], "without": [0, 0]}
    memories = {"with": Memory(), "without": Memory()}
    for edit in edits:
        prompt = tokenizer.encode(edit.before)[-MAX_CONTEXT:]
        truth = tokenizer.encode_inner(edit.written)[:MAX_TRUTH]
        overlay = Overlay(base)
        overlay.put(edit.path, tokenizer.encode_batch([edit.before + edit.after])[0])
        place = len(tokenizer.encode(edit.before))
        view = overlay.view()._replace(cursor=np.array([place - 2, place + 2], np.int32))
        for name, store in (("with", view), ("without", empty_view())):
            bridged = bridges(store, prompt, "", tokenizer)
            n_steps = _steps(Drafter(memories[name], (), store=store), prompt, truth, bridged)
            totals[name][0] += len(truth)
            totals[name][1] += n_steps
    lengths = {name: n / max(steps, 1) for name, (n, steps) in totals.items()}
    return {
        "accepted_len_ratio_with_store": round(lengths["with"] / lengths["without"], 3),
        "accepted_len_with_store": round(lengths["with"], 3),
        "accepted_len_without_store": round(lengths["without"], 3),
        "accepted_len_ratio_model": None,
        "t8_scan_ratio": None,
    }


def _steps(
    drafter: Drafter, prompt: list[int], truth: list[int], bridged: Sequence[Sequence[int]]
) -> int:
    """How many passes a target that writes `truth` needs."""
    drafter.bridge(bridged)
    drafter.extend(prompt)
    n_done, n_steps = 0, 0
    while n_done < len(truth):
        tree = drafter.draft(MAX_NODES, len(truth) - n_done - 1)
        choices = [truth[min(n_done + depth, len(truth) - 1)] for depth in tree.depths()]
        acceptance = accept_greedy(tree, choices)
        drafter.learn(tree, acceptance)
        accepted = [tree.token_ids[node] for node in acceptance.nodes]
        drafter.extend([*accepted, acceptance.bonus_token])
        n_done += len(accepted) + 1
        n_steps += 1
    return n_steps


if __name__ == "__main__":
    sys.exit(main())
