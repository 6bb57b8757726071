"""Reading a model folder as the Hugging Face hub lays it out: config, safetensors, tokenizer."""

import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open

from goose_lsp.engine.architecture import LlamaConfig
from goose_lsp.engine.model import ModelSource, check_tensor
from goose_lsp.errors import ModelLoadError
from goose_lsp.tokenizer import Tokenizer

_MODEL_TYPES = ("llama", "qwen2", "qwen3", "mistral")


def open_model(folder: Path) -> tuple[ModelSource, Tokenizer]:
    """Raises `ModelLoadError` if anything is missing, broken or of another architecture."""
    raw = _read_json(folder / "config.json")
    config = _config(raw, folder)
    files = sorted(folder.glob("*.safetensors"))
    if not files:
        raise ModelLoadError(f"{folder} holds no .safetensors file; pickled weights are not read")
    try:
        handles = [safe_open(file, "pt") for file in files]
    except (SafetensorError, OSError) as error:
        raise ModelLoadError(f"{folder}: weights cannot be read: {error}") from None
    where = {name: handle for handle in handles for name in handle.keys()}  # noqa: SIM118

    def read(name: str, shape: tuple[int, ...]) -> torch.Tensor | None:
        if name not in where or (name == "lm_head.weight" and raw.get("tie_word_embeddings")):
            return None
        weight: torch.Tensor = where[name].get_tensor(name)
        check_tensor(weight, name, shape, str(folder))
        return weight

    return ModelSource(config, str(folder), read), _tokenizer(folder, raw)


def _config(raw: dict[str, Any], folder: Path) -> LlamaConfig:
    kind = raw.get("model_type")
    if kind not in _MODEL_TYPES:
        known = ", ".join(_MODEL_TYPES)
        raise ModelLoadError(f"{folder} holds a {kind} model; this engine runs {known}")
    window = raw.get("sliding_window")
    if window and raw.get("use_sliding_window", kind == "mistral"):
        raise ModelLoadError(
            f"{folder}: attention slides over {window} tokens; this engine runs full attention only"
        )
    rope = raw.get("rope_parameters") or raw.get("rope_scaling") or {}
    if rope.get("rope_type", rope.get("type", "default")) not in (None, "default"):
        raise ModelLoadError(f"{folder}: rope kind {rope} is not supported; only the plain one is")
    try:
        hidden, n_heads = raw["hidden_size"], raw["num_attention_heads"]
        return LlamaConfig(
            n_layers=raw["num_hidden_layers"],
            hidden_size=hidden,
            n_heads=n_heads,
            n_kv_heads=raw.get("num_key_value_heads") or n_heads,
            head_size=raw.get("head_dim") or hidden // n_heads,
            intermediate_size=raw["intermediate_size"],
            n_vocab=raw["vocab_size"],
            max_context_tokens=raw["max_position_embeddings"],
            rope_theta=float(rope.get("rope_theta") or raw.get("rope_theta") or 10_000.0),
            norm_eps=float(raw["rms_norm_eps"]),
        )
    except KeyError as error:
        raise ModelLoadError(f"{folder}/config.json: {error} is missing") from None


def _tokenizer(folder: Path, raw: dict[str, Any]) -> Tokenizer:
    end_ids = _end_ids(raw)
    tokenizer = Tokenizer.from_file(folder / "tokenizer.json", end_ids)
    unknown = [token for token in end_ids if not 0 <= token < tokenizer.n_vocab]
    if unknown:
        raise ModelLoadError(
            f"{folder}/config.json names token {unknown[0]} as an end, which tokenizer.json does not have"
        )
    return tokenizer


def _end_ids(raw: dict[str, Any]) -> list[int]:
    end = raw.get("eos_token_id")
    return end if isinstance(end, list) else [] if end is None else [end]


def _read_json(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise ModelLoadError(f"{path} cannot be read: {error}") from None
    if not isinstance(document, dict):
        raise ModelLoadError(f"{path} must hold a JSON object")
    return document
