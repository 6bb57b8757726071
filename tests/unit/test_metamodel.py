"""The specification's model itself is read rightly: else tests would prove nothing."""

from typing import Any

import pytest

from tests.metamodel import MetaModel, meta_model

AT = {"line": 0, "character": 1}
ITEM = {"insertText": "a", "range": {"start": AT, "end": AT}}


@pytest.fixture(scope="module")
def model() -> MetaModel:
    found = meta_model()
    if found is None:
        pytest.skip("no lsp_metamodel among the data (set GOOSE_LSP_DATA)")
    return found


def answer(result: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "result": result}


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("textDocument/inlineCompletion", answer({"items": [ITEM]})),
        ("textDocument/inlineCompletion", answer(None)),
        ("textDocument/inlineCompletion", {"jsonrpc": "2.0", "id": 1, "error": {"code": -1, "message": ""}}),
        ("shutdown", answer(None)),
        (None, {"jsonrpc": "2.0", "method": "window/showMessage", "params": {"type": 2, "message": "a"}}),
    ],
)  # fmt: skip
def test_right_messages_have_no_problems(
    model: MetaModel, method: str, message: dict[str, Any]
) -> None:
    assert model.problems(message, method) == []


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("textDocument/inlineCompletion", answer({"items": [{**ITEM, "insertText": 7}]})),
        ("textDocument/inlineCompletion", answer({"items": [{**ITEM, "colour": "red"}]})),
        ("textDocument/inlineCompletion", answer({"items": [{"range": ITEM["range"]}]})),
        ("textDocument/inlineCompletion", answer({"items": [{**ITEM, "range": {"start": AT}}]})),
        ("textDocument/inlineCompletion", answer({})),
        ("textDocument/inlineCompletion", answer("a")),
        ("shutdown", answer(7)),
        (None, answer(None)),
        (None, {"jsonrpc": "2.0", "method": "window/showMessage", "params": {"type": 9, "message": "a"}}),
        (None, {"jsonrpc": "2.0", "method": "window/hideMessage"}),
        (None, {"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {}}),
        (None, {"method": "window/showMessage", "params": {"type": 2, "message": "a"}}),
        ("shutdown", {"jsonrpc": "2.0", "id": 1, "error": {"code": "a", "message": ""}}),
    ],
)  # fmt: skip
def test_wrong_messages_have_some(model: MetaModel, method: str, message: dict[str, Any]) -> None:
    assert model.problems(message, method)
