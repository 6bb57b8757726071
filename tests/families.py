"""Tiny random models of each llama-shaped family, saved as the hub lays them out."""

from pathlib import Path
from typing import Any

import pytest
import torch

from tests.tiny import byte_tokenizer

transformers = pytest.importorskip("transformers")

SIZES = {
    "vocab_size": 300,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 128,
}
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "llama": ("LlamaConfig", {}),
    "llama, tied": ("LlamaConfig", {"tie_word_embeddings": True}),
    "qwen2": ("Qwen2Config", {}),
    "qwen3": ("Qwen3Config", {"head_dim": 16}),
    "mistral": ("MistralConfig", {"sliding_window": None}),
}


def save_family(name: str, folder: Path) -> torch.nn.Module:
    config_name, extra = FAMILIES[name]
    torch.manual_seed(1)
    config = getattr(transformers, config_name)(**SIZES, **extra)
    model: torch.nn.Module = transformers.AutoModelForCausalLM.from_config(config)
    for parameter in model.parameters():  # also the biases and norms, which start constant
        torch.nn.init.normal_(parameter, std=0.3)
    model.save_pretrained(folder)  # type: ignore[operator]
    byte_tokenizer()._backend.save(str(folder / "tokenizer.json"))
    return model.eval()
