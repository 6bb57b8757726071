"""llama.cpp on the same file, for comparison: `make bench-peers` installs it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HOW_TO_GET = "make bench-peers"
N_CONTEXT = 2048
# llama.cpp's numbers for its draft-free speculation.
_SIMPLE, _MAP_K, _MOD, _CACHE = (
    "COMMON_SPECULATIVE_TYPE_NGRAM_SIMPLE",
    "COMMON_SPECULATIVE_TYPE_NGRAM_MAP_K",
    "COMMON_SPECULATIVE_TYPE_NGRAM_MOD",
    "COMMON_SPECULATIVE_TYPE_NGRAM_CACHE",
)


@dataclass(slots=True)
class PeerRun:
    """Sums over prompts, by the peer's own clock."""

    n_tokens: int = 0
    decode_ms: float = 0.0
    n_prompt_tokens: int = 0
    prefill_ms: float = 0.0

    @property
    def tok_s(self) -> float:
        return self.n_tokens / self.decode_ms * 1e3

    @property
    def ms_per_token(self) -> float:
        return self.decode_ms / self.n_tokens

    @property
    def prefill_tok_s(self) -> float:
        return self.n_prompt_tokens / self.prefill_ms * 1e3


class LlamaCpp:
    """A llama.cpp server in this process, greedy, one request at a time."""

    def __init__(
        self, model: Path, threads: int, configure: Callable[[Any], None] | None = None
    ) -> None:
        import xllamacpp  # noqa: PLC0415  optional

        params = xllamacpp.CommonParams()
        params.model.path = str(model)
        params.n_ctx = N_CONTEXT
        params.n_parallel = 1
        params.n_gpu_layers = 0
        params.cpuparams.n_threads = threads
        params.cpuparams_batch.n_threads = threads
        params.verbosity = -1
        if configure is not None:
            configure(params.speculative)
        self._server = xllamacpp.Server(params)
        self.run = PeerRun()

    def complete(
        self, token_ids: list[int], max_new_tokens: int, *, ignores_end: bool = False
    ) -> PeerRun:
        """Decode from a cold cache; adds to `run` and returns this prompt's share."""
        answer = self._server.handle_completions(
            {
                "prompt": token_ids,
                "temperature": 0,
                "n_predict": max_new_tokens,
                "cache_prompt": False,
                "ignore_eos": ignores_end,
            }
        )
        timings = answer["timings"]
        one = PeerRun(
            timings["predicted_n"],
            timings["predicted_ms"],
            timings["prompt_n"],
            timings["prompt_ms"],
        )
        for name in PeerRun.__slots__:
            setattr(self.run, name, getattr(self.run, name) + getattr(one, name))
        return one


def is_present() -> bool:
    try:
        import xllamacpp  # noqa: F401, PLC0415
    except ImportError:
        return False
    return True


def build() -> str:
    """The peer's version and the instruction sets it was built for."""
    import xllamacpp  # noqa: PLC0415

    return f"xllamacpp {xllamacpp.__version__}: {xllamacpp.get_system_info().strip()}"


def ngram_settings() -> Iterator[tuple[str, Callable[[Any], None]]]:
    """Names and settings of draft-free speculation worth trying."""
    import xllamacpp  # noqa: PLC0415

    kinds = xllamacpp.common_speculative_type

    def setting(kind: str, part: str | None = None, **values: int) -> Callable[[Any], None]:
        def configure(speculative: Any) -> None:
            speculative.types = [getattr(kinds, kind)]
            if part is not None:
                for name, value in values.items():
                    setattr(getattr(speculative, part), name, value)

        return configure

    yield "ngram-simple n=3 m=8", setting(_SIMPLE, "ngram_simple", size_n=3, size_m=8)
    yield "ngram-simple n=2 m=5", setting(_SIMPLE, "ngram_simple", size_n=2, size_m=5)
    yield "ngram-simple, defaults", setting(_SIMPLE)
    yield "ngram-mod match 4 draft 2-8", setting(_MOD, "ngram_mod", n_match=4, n_min=2, n_max=8)
    yield "ngram-map-k n=3 m=8", setting(_MAP_K, "ngram_map_k", size_n=3, size_m=8)
    yield "ngram-cache", setting(_CACHE)
