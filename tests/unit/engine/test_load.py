from pathlib import Path

import pytest
import torch

from goose_lsp.engine import gguf_file, safetensors_folder
from goose_lsp.engine.load import load_model
from goose_lsp.engine.model import LlamaWeights
from goose_lsp.errors import ModelLoadError
from goose_lsp.tokenizer import Tokenizer
from tests.tiny import byte_tokenizer, tiny_weights


def small_tokenizer() -> Tokenizer:
    return Tokenizer.from_bpe(["a", "b"], [], [], "default")


@pytest.mark.parametrize(
    ("path", "reader"), [("m.gguf", gguf_file), ("folder", safetensors_folder)]
)
@pytest.mark.parametrize(("dtype", "wanted"), [("fp32", torch.float32), ("bf16", torch.bfloat16)])
def test_the_path_chooses_the_reader_and_the_name_the_precision(
    monkeypatch: pytest.MonkeyPatch, path: str, reader: object, dtype: str, wanted: torch.dtype
) -> None:
    def load(path: Path, dtype: torch.dtype) -> tuple[LlamaWeights, Tokenizer]:
        del path
        return tiny_weights(dtype=dtype), small_tokenizer()

    monkeypatch.setattr(reader, "load", load)
    model = load_model("tiny", Path(path), dtype)
    assert model.name == "tiny"
    assert model.weights.embedding.dtype is wanted


def test_a_tokenizer_larger_than_the_embedding_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gguf_file, "load", lambda *_: (tiny_weights(), byte_tokenizer()))
    with pytest.raises(ModelLoadError, match=r"257 tokens, the embedding only 24 rows"):
        load_model("tiny", Path("m.gguf"), "fp32")


def test_a_model_that_does_not_fit_into_memory_is_said_to(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(path: Path, dtype: torch.dtype) -> tuple[LlamaWeights, Tokenizer]:
        raise MemoryError

    monkeypatch.setattr(gguf_file, "load", load)
    with pytest.raises(ModelLoadError, match=r"m\.gguf does not fit into memory as fp32"):
        load_model("tiny", Path("m.gguf"), "fp32")


@pytest.mark.parametrize("name", ["absent.gguf", "absent"])
def test_a_missing_model_is_refused_by_its_path(tmp_path: Path, name: str) -> None:
    with pytest.raises(ModelLoadError, match="absent"):
        load_model("tiny", tmp_path / name, "fp32")
