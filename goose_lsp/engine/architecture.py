"""The sizes of a llama-shaped model. Light to import: no torch."""

from dataclasses import dataclass

from goose_lsp.errors import ModelLoadError


@dataclass(frozen=True, slots=True)
class LlamaConfig:
    """Sizes of a llama-shaped decoder. Query heads are a multiple of KV heads."""

    n_layers: int
    hidden_size: int
    n_heads: int
    n_kv_heads: int
    head_size: int
    intermediate_size: int
    n_vocab: int
    max_context_tokens: int
    rope_theta: float
    norm_eps: float

    def __post_init__(self) -> None:
        sizes = {name: getattr(self, name) for name in self.__dataclass_fields__}
        for name, value in sizes.items():
            if not value > 0:
                raise ModelLoadError(f"the model's {name} is {value}; it must be positive")
        if self.n_heads % self.n_kv_heads:
            raise ModelLoadError(
                f"{self.n_heads} query heads cannot share {self.n_kv_heads} KV heads evenly"
            )
