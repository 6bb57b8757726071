"""A tiny random llama-shaped model and a byte tokenizer, for tests that need arithmetic but no skill."""

import torch
from tokenizers import pre_tokenizers

from goose_lsp.engine.architecture import LlamaConfig
from goose_lsp.engine.fast import TorchForward
from goose_lsp.engine.int8.forward import Int8Forward
from goose_lsp.engine.int8.pack import pack
from goose_lsp.engine.model import LlamaWeights, ModelSource, assemble
from goose_lsp.engine.verify import Target
from goose_lsp.tokenizer import Tokenizer

# A second thread gains nothing at these sizes, and waiting for a busy core costs a hundredfold.
torch.set_num_threads(1)

TINY = LlamaConfig(
    n_layers=2,
    hidden_size=32,
    n_heads=4,
    n_kv_heads=2,
    head_size=8,
    intermediate_size=48,
    n_vocab=24,
    max_context_tokens=256,
    rope_theta=10_000.0,
    norm_eps=1e-5,
)

# The smallest sizes the 8-bit kernels take: groups of 64, heads of 64; columns that fill no whole panel.
BYTE_SIZED = LlamaConfig(
    n_layers=2,
    hidden_size=128,
    n_heads=4,
    n_kv_heads=2,
    head_size=64,
    intermediate_size=192,
    n_vocab=100,
    max_context_tokens=512,
    rope_theta=10_000.0,
    norm_eps=1e-5,
)


def tiny_weights(
    seed: int = 0, dtype: torch.dtype = torch.float32, config: LlamaConfig = TINY
) -> LlamaWeights:
    return assemble(tiny_source(seed, config), dtype)


def tiny_source(seed: int = 0, config: LlamaConfig = TINY) -> ModelSource:
    """Random weights, large enough that the choices differ from context to context."""
    generator = torch.Generator().manual_seed(seed)
    optional = ("bias", "q_norm.weight", "k_norm.weight", "lm_head.weight")

    def read(name: str, shape: tuple[int, ...]) -> torch.Tensor | None:
        if name.endswith(optional):
            return None
        values = torch.randn(shape, generator=generator, dtype=torch.float64)
        return values.abs() if "norm" in name else values * 0.3

    return ModelSource(config, "tiny", read)


def tiny_target(seed: int = 0, dtype: torch.dtype = torch.float32, max_tokens: int = 128) -> Target:
    return Target(TorchForward(tiny_weights(seed, dtype), max_tokens), top_k=4)


def int8_target(
    seed: int = 0, max_tokens: int = 256, config: LlamaConfig = BYTE_SIZED, max_contexts: int = 1
) -> Target:
    """A tiny model through the 8-bit kernels."""
    forward = Int8Forward(pack(tiny_source(seed, config)), max_tokens)
    return Target(forward, top_k=4, max_contexts=max_contexts)


def byte_tokenizer() -> Tokenizer:
    """One token a byte, and <|end|> as the only control token (id 256)."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    return Tokenizer.from_bpe([*alphabet, "<|end|>"], [], [len(alphabet)], "default")
