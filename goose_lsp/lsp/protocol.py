"""pygls' protocol with the session's documents in place of its own.

pygls 2.1 splits documents with `str.splitlines`, so a form feed or U+2028 moves every later edit to
the wrong line, and it copies the whole text per change. It also runs commands in a way that cannot be
cancelled, leaves a request it cannot parse unanswered and forgets the exit code.
"""

import logging
from typing import TYPE_CHECKING, Any

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams
from pygls.protocol import LanguageServerProtocol, lsp_method

from goose_lsp.text.document import Document

if TYPE_CHECKING:
    from goose_lsp.lsp.handlers import GooseServer

logger = logging.getLogger(__name__)


class InlineParams(lsp.InlineCompletionParams):
    """The request with what the document is indented with, which the specification does not know."""

    formatting_options: lsp.FormattingOptions | None = None


class GooseProtocol(LanguageServerProtocol):
    _server: "GooseServer"

    @property
    def exit_code(self) -> int:
        """0 only after a `shutdown` request, as the specification asks."""
        return 0 if self._shutdown else 1

    @lsp_method(lsp.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: lsp.DidOpenTextDocumentParams) -> None:
        item = params.text_document
        document = Document(item.uri, item.version, str(item.language_id), item.text)
        self._server.session.open(document)

    @lsp_method(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: lsp.DidChangeTextDocumentParams) -> None:
        item = params.text_document
        self._server.session.change(item.uri, item.version, params.content_changes)

    @lsp_method(lsp.TEXT_DOCUMENT_DID_SAVE)
    def lsp_text_document__did_save(self, params: lsp.DidSaveTextDocumentParams) -> None:
        self._server.session.files_changed([params.text_document.uri])

    @lsp_method(lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def lsp_workspace__did_change_watched_files(
        self, params: lsp.DidChangeWatchedFilesParams
    ) -> None:
        self._server.session.files_changed([change.uri for change in params.changes])

    @lsp_method(lsp.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def lsp_workspace__did_change_workspace_folders(
        self, params: lsp.DidChangeWorkspaceFoldersParams
    ) -> None:
        added, removed = params.event.added, params.event.removed
        self._server.session.change_folders((f.uri for f in added), (f.uri for f in removed))

    @lsp_method(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: lsp.DidCloseTextDocumentParams) -> None:
        self._server.session.close(params.text_document.uri)

    @lsp_method(lsp.WORKSPACE_EXECUTE_COMMAND)
    async def lsp_workspace__execute_command(  # type: ignore[override]  # any kind of handler may stand here
        self, params: lsp.ExecuteCommandParams
    ) -> Any:
        handler = self.fm.commands.get(params.command)
        if handler is None:
            raise invalid_params(f"there is no command {params.command!r}")
        return await handler(list(params.arguments or ()))

    def structure_message(self, data: dict[str, Any]) -> Any:
        try:
            message = super().structure_message(data)
            if isinstance(message, lsp.InlineCompletionRequest):
                message.params = _with_formatting(message.params, data["params"])
            return message
        except JsonRpcException as error:
            if "method" in data and "id" in data:
                self._send_response(data["id"], error=error.to_response_error())
            raise


def invalid_params(message: str) -> JsonRpcInvalidParams:
    return JsonRpcInvalidParams(message=message)


def _with_formatting(
    params: lsp.InlineCompletionParams, raw: dict[str, Any]
) -> lsp.InlineCompletionParams:
    """With what Copilot's clients add to a request; anything else under that name says nothing."""
    match raw.get("formattingOptions"):
        case {"tabSize": int(size), "insertSpaces": bool(has_spaces)} if 0 < size < 2**31:
            whole = InlineParams(
                params.context, params.text_document, params.position, params.work_done_token
            )
            whole.formatting_options = lsp.FormattingOptions(size, has_spaces)
            return whole
    return params
