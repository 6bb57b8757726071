"""The lean forward against transformers' own, on a tiny random model of each family."""

from pathlib import Path

import numpy as np
import pytest
import torch

from goose_lsp.draft.tree import chain
from goose_lsp.engine.fast import TorchForward
from goose_lsp.engine.forward import NewTokens
from goose_lsp.engine.model import assemble
from goose_lsp.engine.safetensors_folder import open_model
from goose_lsp.engine.verify import Target
from tests.families import FAMILIES, save_family
from tests.tiny import tiny_weights


@pytest.mark.parametrize("name", FAMILIES)
def test_logits_equal_those_of_transformers(name: str, tmp_path: Path) -> None:
    model = save_family(name, tmp_path)
    token_ids = torch.randint(0, 300, (40,), generator=torch.Generator().manual_seed(2))
    source, _ = open_model(tmp_path)
    target = Target(TorchForward(assemble(source, torch.float32), 64), top_k=4)
    with torch.no_grad():
        expected = model(token_ids[None]).logits[0]
    ours = torch.from_numpy(target.logits(chain(int(token_ids[0]), token_ids[1:].tolist())))
    largest = (ours - expected).abs().max().item()
    assert largest < 1e-4 * expected.abs().max().item(), f"logits differ by up to {largest}"


def test_a_scored_rows_logits_are_those_of_its_token() -> None:
    forward = TorchForward(tiny_weights(), 32)
    tokens = NewTokens.causal([3, 1, 4, 1, 5])
    scored = forward.score(forward.new_store(32), 0, tokens, [1, 4], 4)
    logits = forward.logits(forward.new_store(32), 0, tokens)
    assert scored.row_logits is not None
    for row, token_idx in enumerate([1, 4]):
        assert scored.row_logits(row).dtype == np.float32
        assert scored.row_logits(row) == pytest.approx(logits[token_idx], abs=1e-5)
