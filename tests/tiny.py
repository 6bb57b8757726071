"""A tiny random llama-shaped model and a byte tokenizer, for tests that need arithmetic but no skill."""

import torch
from tokenizers import pre_tokenizers

from goose_lsp.engine.model import LlamaConfig, LlamaWeights, assemble
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


def tiny_weights(
    seed: int = 0, dtype: torch.dtype = torch.float32, config: LlamaConfig = TINY
) -> LlamaWeights:
    """Random weights, large enough that the choices differ from context to context."""
    generator = torch.Generator().manual_seed(seed)
    optional = ("bias", "q_norm.weight", "k_norm.weight", "lm_head.weight")

    def get(name: str, shape: tuple[int, ...]) -> torch.Tensor | None:
        if name.endswith(optional):
            return None
        values = torch.randn(shape, generator=generator, dtype=torch.float64)
        return (values.abs() if "norm" in name else values * 0.3).to(dtype)

    return assemble(config, get, "tiny")


def tiny_target(seed: int = 0, dtype: torch.dtype = torch.float32, max_tokens: int = 128) -> Target:
    return Target(tiny_weights(seed, dtype), max_tokens, top_k=4)


def byte_tokenizer() -> Tokenizer:
    """One token a byte, and <|end|> as the only control token (id 256)."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    return Tokenizer.from_bpe([*alphabet, "<|end|>"], [], [len(alphabet)], "default")
