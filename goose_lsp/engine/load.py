"""From a file or folder to a model ready to run."""

import logging
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from goose_lsp.engine.forward import Forward
from goose_lsp.errors import ModelLoadError
from goose_lsp.tokenizer import Tokenizer

if TYPE_CHECKING:
    from goose_lsp.engine.int8.forward import Int8Model
    from goose_lsp.engine.model import ModelSource

log = logging.getLogger(__name__)

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class LoadedModel:
    name: str
    forward: Forward
    tokenizer: Tokenizer


@dataclass(frozen=True, slots=True)
class LoadOptions:
    dtype: str  # auto, int8, bf16, fp32
    max_tokens: int  # of a context; never above the model's own
    n_threads: int
    cache_dir: Path
    progress: Progress = lambda _text: None  # told what takes more than a second


def load_model(name: str, path: Path, options: LoadOptions) -> LoadedModel:
    """Load a `.gguf` file or a folder of safetensors; raises `ModelLoadError` with one line.

    `auto` is 8 bits where the kernels work and gain, exact by construction, else full precision, where what
    shares a pass changes last bits only.
    """
    try:
        model = _load(name, path, options)
    except MemoryError:
        raise ModelLoadError(f"{path} does not fit into memory as {options.dtype}") from None
    n_rows = model.forward.n_vocab
    if model.tokenizer.n_vocab > n_rows:
        raise ModelLoadError(
            f"{path}: the tokenizer has {model.tokenizer.n_vocab} tokens, the embedding only {n_rows} rows"
        )
    log.info("loaded %s from %s as %s", name, path, model.forward.dtype)
    return model


def load_tokenizer(path: Path, cache_dir: Path) -> Tokenizer:
    """The tokenizer alone, of a conversion where there is one: a tenth of the time. Raises `ModelLoadError`."""
    try:
        from goose_lsp.engine.int8 import converted

        key = converted.source_key(path, cache_dir)
        kept = converted.load_tokenizer(converted.folder_of(key, cache_dir))
    except ImportError:  # no kernels without numba
        kept = None
    except OSError as error:
        raise ModelLoadError(f"model {path} cannot be read: {error.strerror}") from None
    return kept or _open(path)[1]


def _load(name: str, path: Path, options: LoadOptions) -> LoadedModel:
    if options.dtype in {"auto", "int8"}:
        try:
            return _load_int8(name, path, options)
        except _NoInt8 as error:
            if options.dtype == "int8":
                raise ModelLoadError(f"engine.dtype int8 cannot be used: {error}") from None
            log.warning("running in full precision: %s", error)
    return _load_torch(name, path, options)


class _NoInt8(Exception):  # noqa: N818  a reason, caught here
    pass


def _load_int8(name: str, path: Path, options: LoadOptions) -> LoadedModel:
    """Imports torch only where weights have to be converted."""
    options.progress("preparing kernels")
    try:
        from goose_lsp.engine.int8 import converted
        from goose_lsp.engine.int8.forward import Int8Forward
    except ImportError as error:
        raise _NoInt8(f"numba is missing ({error})") from None
    try:
        key = converted.source_key(path, options.cache_dir)
    except OSError as error:
        raise ModelLoadError(f"model {path} cannot be read: {error.strerror}") from None
    folder = converted.folder_of(key, options.cache_dir)
    loaded = converted.load(folder)
    with nullcontext() if loaded else _compiling_elsewhere():
        if loaded is None:
            options.progress(f"converting {name} to 8 bits and compiling kernels, once")
            loaded = _convert(path, folder, options.n_threads)
    fault = _prepare_kernels()
    if fault:
        raise _NoInt8(fault)
    model, tokenizer = loaded
    return LoadedModel(name, Int8Forward(model, options.max_tokens, options.n_threads), tokenizer)


@contextmanager
def _compiling_elsewhere() -> Iterator[None]:
    """Compile the kernels in a process of their own meanwhile, into the cache they are fetched from.

    Not in a thread: compiling and converting are mostly Python, and one interpreter lock would run them in turns.
    Whatever goes wrong there goes wrong here again, where it is seen.
    """
    program = (
        "from goose_lsp.engine.int8 import forward, probe; from goose_lsp.draft import drafter; "
        "probe.find_fault(); forward.warm_up(); drafter.warm_up()"
    )
    nothing = subprocess.DEVNULL
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=nothing, stdout=nothing, stderr=nothing
    ) as process:
        try:
            yield
        except BaseException:
            process.kill()
            raise


def _prepare_kernels() -> str | None:
    """Compile or fetch them; what speaks against their use here, if anything."""
    from goose_lsp.engine.int8 import probe
    from goose_lsp.engine.int8.forward import warm_up

    fault = probe.find_fault()
    if fault is None:
        warm_up()
    return fault


def _convert(path: Path, folder: Path, n_threads: int) -> "tuple[Int8Model, Tokenizer]":
    import torch

    from goose_lsp.engine.int8 import converted
    from goose_lsp.engine.int8.pack import pack, unsupported

    torch.set_num_threads(n_threads)
    source, tokenizer = _open(path)
    reason = unsupported(source.config)
    if reason:
        raise _NoInt8(reason)
    model = pack(source)
    try:
        converted.save(folder, model, tokenizer)
    except OSError as error:
        log.warning("%s: the converted weights cannot be kept: %s", folder, error.strerror)
        return model, tokenizer
    # From here on the mapped file serves, which other processes share.
    return converted.load(folder) or (model, tokenizer)


def _load_torch(name: str, path: Path, options: LoadOptions) -> LoadedModel:
    import torch

    from goose_lsp.engine.fast import TorchForward
    from goose_lsp.engine.model import assemble

    options.progress(f"reading {name}")
    dtype = torch.bfloat16 if options.dtype == "bf16" else torch.float32
    source, tokenizer = _open(path)
    weights = assemble(source, dtype)
    forward = TorchForward(weights, options.max_tokens, options.n_threads)
    return LoadedModel(name, forward, tokenizer)


def _open(path: Path) -> "tuple[ModelSource, Tokenizer]":
    from goose_lsp.engine import gguf_file, safetensors_folder

    is_file = path.suffix == ".gguf"
    return gguf_file.open_model(path) if is_file else safetensors_folder.open_model(path)
