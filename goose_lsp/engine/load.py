"""From a file or folder to a model in memory."""

import logging
from dataclasses import dataclass
from pathlib import Path

import torch

from goose_lsp.engine import gguf_file, safetensors_folder
from goose_lsp.engine.model import LlamaWeights
from goose_lsp.errors import ModelLoadError
from goose_lsp.tokenizer import Tokenizer

log = logging.getLogger(__name__)

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}


@dataclass(frozen=True, slots=True)
class LoadedModel:
    name: str
    weights: LlamaWeights
    tokenizer: Tokenizer


def load_model(name: str, path: Path, dtype: str) -> LoadedModel:
    """Load a `.gguf` file or a folder of safetensors; raises `ModelLoadError` with one line."""
    load = gguf_file.load if path.suffix == ".gguf" else safetensors_folder.load
    try:
        weights, tokenizer = load(path, DTYPES[dtype])
    except MemoryError:
        raise ModelLoadError(f"{path} does not fit into memory as {dtype}") from None
    n_rows = weights.config.n_vocab
    if tokenizer.n_vocab > n_rows:
        raise ModelLoadError(
            f"{path}: the tokenizer has {tokenizer.n_vocab} tokens, the embedding only {n_rows} rows"
        )
    log.info("loaded %s from %s as %s", name, path, dtype)
    return LoadedModel(name, weights, tokenizer)
