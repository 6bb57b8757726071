import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from goose_lsp.engine import safetensors_folder
from goose_lsp.engine.model import LlamaWeights, assemble
from goose_lsp.errors import ModelLoadError
from tests.families import save_family


def read(folder: Path) -> LlamaWeights:
    source, _ = safetensors_folder.open_model(folder)
    return assemble(source, torch.float32)


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
        ({"eos_token_id": 999}, "names token 999 as an end"),
    ],
)
def test_a_config_that_does_not_fit_is_explained(
    changes: dict[str, object], said: str, tmp_path: Path
) -> None:
    save_family("llama", tmp_path)
    damage(tmp_path, **changes)
    with pytest.raises(ModelLoadError, match=said):
        read(tmp_path)


def test_weights_that_are_not_finite_are_refused(tmp_path: Path) -> None:
    model = save_family("llama", tmp_path)
    weights = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    weights["model.norm.weight"][3] = float("nan")
    save_file(weights, tmp_path / "model.safetensors")
    with pytest.raises(
        ModelLoadError, match=r"model\.norm\.weight holds values that are not finite"
    ):
        read(tmp_path)


def test_a_truncated_weights_file_is_refused(tmp_path: Path) -> None:
    save_family("llama", tmp_path)
    file = tmp_path / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(ModelLoadError, match="weights cannot be read"):
        read(tmp_path)


def test_pickled_weights_are_not_read(tmp_path: Path) -> None:
    save_family("llama", tmp_path)
    (tmp_path / "model.safetensors").rename(tmp_path / "pytorch_model.bin")
    with pytest.raises(ModelLoadError, match="pickled weights are not read"):
        read(tmp_path)
