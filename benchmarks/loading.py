"""How long a model takes from nothing and from a kept conversion, and what it then takes of memory."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from goose_lsp.engine.load import LoadOptions

N_CACHED = 4000

_PROGRAM = """
import json, sys
from pathlib import Path
from time import perf_counter
began = perf_counter()
from goose_lsp.cancel import CancelToken
from goose_lsp.draft.tree import chain
from goose_lsp.engine.load import LoadOptions, load_model
from goose_lsp.engine.verify import Target
name, path, dtype, n_threads, cache_dir, n_cached = sys.argv[1:]
n_cached = int(n_cached)
options = LoadOptions(dtype, n_cached + 64, int(n_threads), Path(cache_dir))
target = Target(load_model(name, Path(path), options).forward, top_k=8)
n_cached = min(n_cached, target.max_tokens - 64)
target.verify(chain(0, []))
ready_s = perf_counter() - began
list(target.prefill([(7 * i) % 1000 for i in range(n_cached)], CancelToken()))
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(json.dumps({"ready_s": ready_s, "rss_mb": int(status["VmRSS"].split()[0]) / 1024}))
"""


def measure(name: str, path: Path, options: LoadOptions) -> dict[str, Any]:
    """Ready means: imported, loaded, first pass done. Cold includes compiling the kernels."""
    with tempfile.TemporaryDirectory() as folder:
        cold = _run(name, path, options, folder)
        warm = [_run(name, path, options, folder) for _ in range(3)]
    return {
        "load_cold_s": round(cold["ready_s"], 2),
        "load_warm_s": round(sorted(w["ready_s"] for w in warm)[1], 2),
        "rss_mb": round(warm[-1]["rss_mb"]),
    }


def _run(name: str, path: Path, options: LoadOptions, folder: str) -> dict[str, float]:
    n_cached = N_CACHED if options.dtype == "int8" else 512
    arguments = (name, path, options.dtype, options.n_threads, folder, n_cached)
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, *map(str, arguments)],
        env={**os.environ, "NUMBA_CACHE_DIR": f"{folder}/kernels"},
        capture_output=True,
        text=True,
        check=True,
    )
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result
