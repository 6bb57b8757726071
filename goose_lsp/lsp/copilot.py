"""What Copilot's clients tell a server about the items that it sent, beyond the specification."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from goose_lsp.lsp.handlers import GooseServer


def _unused(ls: "GooseServer", params: Any) -> None:
    """What is shown is not counted, and whichever document is asked about has the focus."""


def _partially_accepted(ls: "GooseServer", params: Any) -> None:
    """`acceptedLength` counts UTF-16 units from the item's start; the whole of it is an accept like others."""
    item, n_units = _item_of(params), _get(params, "acceptedLength")
    if item is None or type(n_units) is not int or n_units <= 0:
        return
    uri, text = item
    if n_units >= len(text.encode("utf-16-le", "surrogatepass")) // 2:
        ls.session.accept(uri, text)


Handler = Callable[["GooseServer", Any], None]

COPILOT: dict[str, Handler] = {
    "textDocument/didShowCompletion": _unused,
    "textDocument/didPartiallyAcceptCompletion": _partially_accepted,
    "textDocument/didFocus": _unused,
}


def _item_of(params: Any) -> tuple[str, str] | None:
    """The uri and text of one of our items, which stand in its command."""
    arguments = _get(_get(_get(params, "item"), "command"), "arguments")
    match arguments:
        case [str(uri), str(text)]:
            return uri, text
    return None


def _get(value: Any, key: str) -> Any:
    """pygls gives parameters that it does not know as objects or as mappings."""
    return value.get(key) if isinstance(value, dict) else getattr(value, key, None)
