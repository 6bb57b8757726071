import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from goose_lsp.engine import gguf_file, safetensors_folder
from goose_lsp.engine.fast import TorchForward
from goose_lsp.engine.int8 import probe
from goose_lsp.engine.int8.forward import Int8Forward
from goose_lsp.engine.load import LoadOptions, load_model, load_tokenizer
from goose_lsp.engine.model import ModelSource
from goose_lsp.errors import ModelLoadError
from goose_lsp.tokenizer import Tokenizer
from tests.fakes import cache_dir, embedded_model
from tests.tiny import BYTE_SIZED, byte_tokenizer, tiny_source


@pytest.fixture
def options(tmp_path: Path) -> LoadOptions:
    return LoadOptions("fp32", 128, 1, tmp_path / "cache")


@pytest.fixture(autouse=True)
def kernels_that_are_worth_it(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """Whatever this processor makes of them; what the real probe says is tested beside it."""
    if "model" not in request.keywords:
        monkeypatch.setattr(probe, "find_fault", lambda: None)


@pytest.fixture
def model_file(tmp_path: Path) -> Path:
    file = tmp_path / "m.gguf"
    file.write_bytes(b"stands for a model")
    return file


def small_tokenizer() -> Tokenizer:
    return Tokenizer.from_bpe(["a", "b"], [], [], "default")


def opened(path: Path) -> tuple[ModelSource, Tokenizer]:
    del path
    return tiny_source(config=BYTE_SIZED), small_tokenizer()


@pytest.mark.parametrize(
    ("path", "reader"), [("m.gguf", gguf_file), ("folder", safetensors_folder)]
)
@pytest.mark.parametrize("dtype", ["fp32", "bf16"])
def test_the_path_chooses_the_reader_and_the_name_the_precision(
    monkeypatch: pytest.MonkeyPatch, options: LoadOptions, path: str, reader: object, dtype: str
) -> None:
    monkeypatch.setattr(reader, "open_model", opened)
    model = load_model("tiny", Path(path), replace(options, dtype=dtype))
    assert model.name == "tiny"
    assert isinstance(model.forward, TorchForward)
    assert model.forward.dtype == dtype
    assert model.forward.max_tokens == 128


def test_auto_converts_once_and_then_serves_the_kept_conversion(
    monkeypatch: pytest.MonkeyPatch, options: LoadOptions, model_file: Path
) -> None:
    monkeypatch.setattr(gguf_file, "open_model", opened)
    said: list[str] = []
    options = replace(options, dtype="auto", progress=said.append)
    first = load_model("tiny", model_file, options)
    assert isinstance(first.forward, Int8Forward)
    assert "converting tiny to 8 bits and compiling kernels, once" in said
    monkeypatch.delattr(gguf_file, "open_model")
    said.clear()
    assert load_model("tiny", model_file, options).forward.dtype == "int8"
    assert "converting tiny to 8 bits and compiling kernels, once" not in said


def test_a_replaced_model_file_is_converted_anew(
    monkeypatch: pytest.MonkeyPatch, options: LoadOptions, model_file: Path
) -> None:
    monkeypatch.setattr(gguf_file, "open_model", opened)
    options = replace(options, dtype="int8")
    load_model("tiny", model_file, options)
    model_file.write_bytes(b"another model")
    load_model("tiny", model_file, options)
    assert len(list((options.cache_dir / "converted").glob("*-int8-*"))) == 2


def test_auto_runs_in_full_precision_where_8_bits_fail_and_says_why(
    monkeypatch: pytest.MonkeyPatch,
    options: LoadOptions,
    model_file: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(gguf_file, "open_model", opened)
    monkeypatch.setattr(probe, "find_fault", lambda: "the kernels sulk")
    model = load_model("tiny", model_file, replace(options, dtype="auto"))
    assert model.forward.dtype == "fp32"
    assert "running in full precision: the kernels sulk" in caplog.text
    with pytest.raises(ModelLoadError, match="int8 cannot be used: the kernels sulk"):
        load_model("tiny", model_file, replace(options, dtype="int8"))


def test_sizes_the_kernels_do_not_take_run_in_full_precision(
    monkeypatch: pytest.MonkeyPatch, options: LoadOptions, model_file: Path
) -> None:
    monkeypatch.setattr(gguf_file, "open_model", lambda _p: (tiny_source(), small_tokenizer()))
    assert load_model("tiny", model_file, replace(options, dtype="auto")).forward.dtype == "fp32"
    with pytest.raises(ModelLoadError, match="hidden_size is 32, not a multiple of 64"):
        load_model("tiny", model_file, replace(options, dtype="int8"))


def test_a_cache_that_cannot_be_written_costs_only_time(
    monkeypatch: pytest.MonkeyPatch, options: LoadOptions, model_file: Path
) -> None:
    monkeypatch.setattr(gguf_file, "open_model", opened)
    blocked = options.cache_dir.with_name("blocked")
    blocked.write_text("a file where a folder should be")
    options = replace(options, dtype="int8", cache_dir=blocked)
    assert load_model("tiny", model_file, options).forward.dtype == "int8"


@pytest.mark.parametrize("dtype", ["fp32", "int8"])
def test_a_tokenizer_larger_than_the_embedding_is_refused(
    monkeypatch: pytest.MonkeyPatch, options: LoadOptions, model_file: Path, dtype: str
) -> None:
    monkeypatch.setattr(
        gguf_file, "open_model", lambda _p: (tiny_source(config=BYTE_SIZED), byte_tokenizer())
    )
    with pytest.raises(ModelLoadError, match=r"257 tokens, the embedding only 100 rows"):
        load_model("tiny", model_file, replace(options, dtype=dtype))


def test_a_model_that_does_not_fit_into_memory_is_said_to(
    monkeypatch: pytest.MonkeyPatch, options: LoadOptions
) -> None:
    def no_memory(path: Path) -> tuple[ModelSource, Tokenizer]:
        raise MemoryError(path)

    monkeypatch.setattr(gguf_file, "open_model", no_memory)
    with pytest.raises(ModelLoadError, match=r"m\.gguf does not fit into memory as fp32"):
        load_model("tiny", Path("m.gguf"), options)


@pytest.mark.parametrize("dtype", ["fp32", "auto"])
@pytest.mark.parametrize("name", ["absent.gguf", "absent"])
def test_a_missing_model_is_refused_by_its_path(
    tmp_path: Path, options: LoadOptions, name: str, dtype: str
) -> None:
    with pytest.raises(ModelLoadError, match="absent"):
        load_model("tiny", tmp_path / name, replace(options, dtype=dtype))


def test_a_tokenizer_comes_from_the_model_until_that_is_converted(
    monkeypatch: pytest.MonkeyPatch, options: LoadOptions, model_file: Path
) -> None:
    monkeypatch.setattr(gguf_file, "open_model", opened)
    first = load_tokenizer(model_file, options.cache_dir)
    load_model("tiny", model_file, replace(options, dtype="int8"))
    monkeypatch.delattr(gguf_file, "open_model")
    kept = load_tokenizer(model_file, options.cache_dir)
    assert first.key() == kept.key() == small_tokenizer().key()
    assert first.control_ids == kept.control_ids


def test_of_a_damaged_conversion_no_tokenizer_is_taken(
    monkeypatch: pytest.MonkeyPatch, options: LoadOptions, model_file: Path
) -> None:
    monkeypatch.setattr(gguf_file, "open_model", opened)
    load_model("tiny", model_file, replace(options, dtype="int8"))
    (file,) = (options.cache_dir / "converted").glob("*/tokenizer.json")
    file.write_text("{}")
    assert load_tokenizer(model_file, options.cache_dir).key() == small_tokenizer().key()


def test_a_model_that_is_gone_has_no_tokenizer(options: LoadOptions, tmp_path: Path) -> None:
    with pytest.raises(ModelLoadError, match=r"gone.gguf cannot be read: No such file"):
        load_tokenizer(tmp_path / "gone.gguf", options.cache_dir)


@pytest.mark.model
def test_a_kept_conversion_is_served_without_torch_or_transformers() -> None:
    if probe.find_fault():
        pytest.skip(str(probe.find_fault()))
    options = LoadOptions("int8", 256, 1, cache_dir())
    load_model("embedded", embedded_model(), options)
    program = f"""
import sys
from pathlib import Path
from goose_lsp.engine.load import LoadOptions, load_model
load_model("embedded", Path({str(embedded_model())!r}), LoadOptions("int8", 256, 1, Path({str(cache_dir())!r})))
print([name for name in ("torch", "transformers", "gguf") if name in sys.modules])
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=200
    )
    assert done.stdout.strip() == "[]"


def test_full_precision_uses_the_threads_it_is_given(
    monkeypatch: pytest.MonkeyPatch, options: LoadOptions
) -> None:
    used: list[int] = []
    monkeypatch.setattr(torch, "set_num_threads", used.append)
    monkeypatch.setattr(gguf_file, "open_model", opened)
    load_model("tiny", Path("m.gguf"), replace(options, n_threads=3))
    assert used == [3]
