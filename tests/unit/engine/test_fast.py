"""The lean forward against transformers' own, on a tiny random model of each family."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from goose_lsp.draft.tree import chain
from goose_lsp.engine import safetensors_folder
from goose_lsp.engine.load import load_model
from goose_lsp.engine.verify import Target
from goose_lsp.errors import ModelLoadError
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


@pytest.mark.parametrize("name", FAMILIES)
def test_logits_equal_those_of_transformers(name: str, tmp_path: Path) -> None:
    model = save_family(name, tmp_path)
    token_ids = torch.randint(0, 300, (40,), generator=torch.Generator().manual_seed(2))
    target = Target(load_model(name, tmp_path, "fp32").weights, 64, top_k=4)
    with torch.no_grad():
        expected = model(token_ids[None]).logits[0]
    ours = target.logits(chain(int(token_ids[0]), token_ids[1:].tolist()))
    largest = (ours - expected).abs().max().item()
    assert largest < 1e-4 * expected.abs().max().item(), f"logits differ by up to {largest}"


def damage(folder: Path, **changes: object) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"model_type": "mamba"}, "holds a mamba model"),
        ({"sliding_window": 64, "use_sliding_window": True}, "slides over 64 tokens"),
        ({"vocab_size": 301}, r"has shape \(300, 32\); it must be \(301, 32\)"),
        ({"num_key_value_heads": 3}, "cannot share 3 KV heads"),
        ({"num_hidden_layers": 3}, "layers.2.*is missing"),
        ({"rope_parameters": {"rope_type": "yarn"}}, "rope kind"),
    ],
)
def test_a_config_that_does_not_fit_is_explained(
    changes: dict[str, object], said: str, tmp_path: Path
) -> None:
    save_family("llama", tmp_path)
    damage(tmp_path, **changes)
    with pytest.raises(ModelLoadError, match=said):
        safetensors_folder.load(tmp_path, torch.float32)


def test_weights_that_are_not_finite_are_refused(tmp_path: Path) -> None:
    model = save_family("llama", tmp_path)
    weights = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    weights["model.norm.weight"][3] = float("nan")
    save_file(weights, tmp_path / "model.safetensors")
    with pytest.raises(
        ModelLoadError, match=r"model\.norm\.weight holds values that are not finite"
    ):
        safetensors_folder.load(tmp_path, torch.float32)


def test_a_truncated_weights_file_is_refused(tmp_path: Path) -> None:
    save_family("llama", tmp_path)
    file = tmp_path / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(ModelLoadError, match="weights cannot be read"):
        safetensors_folder.load(tmp_path, torch.float32)


def test_pickled_weights_are_not_read(tmp_path: Path) -> None:
    save_family("llama", tmp_path)
    (tmp_path / "model.safetensors").rename(tmp_path / "pytorch_model.bin")
    with pytest.raises(ModelLoadError, match="pickled weights are not read"):
        safetensors_folder.load(tmp_path, torch.float32)
