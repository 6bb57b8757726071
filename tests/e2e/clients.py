"""What real editors say of themselves, as far as it matters to us, and what each is to get.

Capabilities are those that the editors' sources name; a row is a client, its quirk is in the comment.
"""

from dataclasses import dataclass, field
from typing import Any

INLINE = "textDocument/inlineCompletion"
MENU = "textDocument/completion"


@dataclass(frozen=True)
class Client:
    name: str
    capabilities: dict[str, Any]
    method: str  # by which it asks
    encoding: str
    asks: frozenset[str] = frozenset()  # what the server may ask of it
    more: dict[str, Any] = field(default_factory=dict)  # in `initialize`
    context: dict[str, Any] | None = field(default_factory=lambda: {"triggerKind": 2})


_VSCODE = {
    "general": {"positionEncodings": ["utf-16"]},
    "textDocument": {"inlineCompletion": {"dynamicRegistration": True}, "completion": {}},
    "window": {"workDoneProgress": True, "showMessage": {}},
    "workspace": {
        "configuration": True,
        "workspaceFolders": True,
        "didChangeConfiguration": {"dynamicRegistration": True},
        "didChangeWatchedFiles": {"dynamicRegistration": True, "relativePatternSupport": True},
    },
    "notebookDocument": {"synchronization": {"dynamicRegistration": True}},
}
_REGISTERS = frozenset({"client/registerCapability", "workspace/configuration"})

CLIENTS = [
    # Says dynamicRegistration and must not be registered twice; passes the menu's selection.
    Client("vscode-languageclient 11", _VSCODE, INLINE, "utf-16", _REGISTERS),
    # Knows no inline completion: the menu has to do.
    Client(
        "vscode-languageclient 9",
        {**_VSCODE, "textDocument": {"completion": {}}},
        MENU,
        "utf-16",
        _REGISTERS,
        context=None,
    ),
    # Offers utf-8 first, watches files only on some systems, never cancels what a newer request replaces.
    Client(
        "Neovim 0.12",
        {
            "general": {"positionEncodings": ["utf-8", "utf-16", "utf-32"]},
            "textDocument": {"inlineCompletion": {"dynamicRegistration": False}},
            "window": {"workDoneProgress": True},
            "workspace": {
                "configuration": True,
                "didChangeConfiguration": {"dynamicRegistration": False},
                "didChangeWatchedFiles": {"dynamicRegistration": False},
            },
        },
        INLINE,
        "utf-8",
        frozenset({"workspace/configuration"}),
    ),
    # Does not name inline completion; our plugin asks for it all the same.
    Client(
        "Neovim 0.11",
        {"general": {"positionEncodings": ["utf-8", "utf-16"]}, "textDocument": {"completion": {}}},
        INLINE,
        "utf-8",
    ),
    # Parses strictly; utf-32 stands second in its list.
    Client(
        "Helix",
        {
            "general": {"positionEncodings": ["utf-8", "utf-32", "utf-16"]},
            "textDocument": {"completion": {"completionItem": {"insertReplaceSupport": True}}},
            "window": {"workDoneProgress": True},
            "workspace": {
                "configuration": True,
                "didChangeConfiguration": {"dynamicRegistration": False},
                "didChangeWatchedFiles": {"dynamicRegistration": True},
            },
        },
        MENU,
        "utf-8",
        _REGISTERS,
        context=None,
    ),
    # Names its folder three ways; positions may count code points whatever was agreed.
    Client(
        "lsp-mode 10",
        {
            "general": {"positionEncodings": ["utf-32", "utf-16"]},
            "textDocument": {"inlineCompletion": {}},
            "workspace": {"configuration": True, "workspaceFolders": True},
        },
        INLINE,
        "utf-32",
        frozenset({"workspace/configuration"}),
        {"rootPath": "/tmp", "rootUri": "file:///tmp", "trace": "off"},
    ),
    Client(
        "eglot",
        {
            "general": {"positionEncodings": ["utf-32", "utf-8", "utf-16"]},
            "textDocument": {"completion": {"completionItem": {"snippetSupport": False}}},
            "window": {"workDoneProgress": True, "showDocument": {"support": True}},
            "workspace": {
                "configuration": True,
                "didChangeWatchedFiles": {"dynamicRegistration": True},
            },
        },
        MENU,
        "utf-32",
        _REGISTERS,
        context={"triggerKind": 1},
    ),
    # Says nothing of encodings.
    Client(
        "Kate",
        {"textDocument": {"completion": {}}, "window": {"workDoneProgress": True}},
        MENU,
        "utf-16",
        context=None,
    ),
    Client(
        "Sublime LSP",
        {
            "general": {"positionEncodings": ["utf-16"]},
            "textDocument": {"completion": {"completionItem": {"deprecatedSupport": True}}},
            "workspace": {"configuration": True, "workspaceFolders": True},
        },
        MENU,
        "utf-16",
        frozenset({"workspace/configuration"}),
        context={"triggerKind": 2, "triggerCharacter": "."},
    ),
    # Sends `formattingOptions` and a document's version with each request, and wants `didChangeStatus`.
    Client(
        "Copilot's clients",
        {"textDocument": {"inlineCompletion": {}}, "workspace": {"workspaceFolders": True}},
        INLINE,
        "utf-16",
        frozenset({"didChangeStatus"}),
        {"initializationOptions": {"status": True}},
    ),
    # The least that the specification allows.
    Client("an unknown client", {}, MENU, "utf-16", context=None),
]
