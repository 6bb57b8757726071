"""pygls' protocol with the session's documents in place of its own.

pygls 2.1 splits documents with `str.splitlines`, so a form feed or U+2028 moves every later edit to
the wrong line, and it copies the whole text per change. It also runs commands in a way that cannot be
cancelled, forgets the exit code, and leaves unanswered what it cannot parse and what comes too early or too late.
"""

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams
from pygls.protocol import LanguageServerProtocol, lsp_method

from goose_lsp.lsp.wire import parse_body
from goose_lsp.text.document import Document

if TYPE_CHECKING:
    from goose_lsp.lsp.handlers import GooseServer

logger = logging.getLogger(__name__)

_KEEPS_DOCUMENTS = (lsp.TEXT_DOCUMENT_DID_OPEN, lsp.TEXT_DOCUMENT_DID_CHANGE)
_MAX_QUOTED = 60


class InlineParams(lsp.InlineCompletionParams):
    """The request with what the document is indented with, which the specification does not know."""

    formatting_options: lsp.FormattingOptions | None = None


class ParseError(JsonRpcException):
    CODE = lsp.ErrorCodes.ParseError
    MESSAGE = "Parse Error"


class InvalidRequest(JsonRpcException):
    CODE = lsp.ErrorCodes.InvalidRequest
    MESSAGE = "Invalid Request"


class ServerNotInitialized(JsonRpcException):
    CODE = lsp.ErrorCodes.ServerNotInitialized
    MESSAGE = "Server not initialized"


class GooseProtocol(LanguageServerProtocol):
    _server: "GooseServer"
    _is_initialized = False
    _is_ending = (
        False  # from the moment that a shutdown is read; pygls' own flag means that it is done
    )

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

    @lsp_method(lsp.NOTEBOOK_DOCUMENT_DID_OPEN)
    def lsp_notebook_document__did_open(self, params: lsp.DidOpenNotebookDocumentParams) -> None:
        session = self._server.session
        session.notebooks.open(params.notebook_document.uri, params.notebook_document.cells)
        self._open_cells(params.cell_text_documents)

    @lsp_method(lsp.NOTEBOOK_DOCUMENT_DID_CHANGE)
    def lsp_notebook_document__did_change(
        self, params: lsp.DidChangeNotebookDocumentParams
    ) -> None:
        uri, cells = params.notebook_document.uri, params.change.cells
        if cells is None:
            return
        session = self._server.session
        if cells.structure is not None:
            session.notebooks.splice(uri, cells.structure.array)
            self._open_cells(cells.structure.did_open or ())
            for closed in cells.structure.did_close or ():
                session.close(closed.uri)
        session.notebooks.update(uri, cells.data or ())
        for change in cells.text_content or ():
            session.change(change.document.uri, change.document.version, change.changes)

    @lsp_method(lsp.NOTEBOOK_DOCUMENT_DID_CLOSE)
    def lsp_notebook_document__did_close(self, params: lsp.DidCloseNotebookDocumentParams) -> None:
        cells = [cell.uri for cell in params.cell_text_documents]
        self._server.session.close_notebook(params.notebook_document.uri, cells)

    def _open_cells(self, items: Iterable[lsp.TextDocumentItem]) -> None:
        for item in items:
            document = Document(item.uri, item.version, str(item.language_id), item.text)
            self._server.session.open(document)

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

    @lsp_method(lsp.SHUTDOWN)
    async def lsp_shutdown(  # type: ignore[override]  # any kind of handler may stand here
        self, *_arguments: Any
    ) -> None:
        """What is still being asked is answered as cancelled before anything else ends."""
        self._shutdown = True
        own = self.msg_id
        for number, future in list(self._request_futures.items()):
            if number != own:
                future.cancel()
        await self._server.aclose()

    def receive(self, body: bytes) -> None:
        """Answer one message of the client's. Never raises for what the client sends."""
        try:
            data = parse_body(body)
        except ValueError as error:
            self._refuse(None, ParseError(message=f"this is no JSON: {error}"))
            return
        refusal = self._refusal(data)
        if refusal is not None:
            self._refuse(_id_of(data), refusal)
        elif self._is_for_now(data):
            self._handle(data)

    def _refusal(self, data: Any) -> JsonRpcException | None:
        """Why what was sent, a notification aside, is answered with an error at once."""
        if not isinstance(data, dict) or data.get("jsonrpc") != self.VERSION:
            return InvalidRequest(message="a message is one object of JSON-RPC 2.0")
        if "method" not in data:
            is_answer = "id" in data and ("result" in data or "error" in data)
            return None if is_answer else InvalidRequest(message="there is no method")
        method = data["method"]
        if not isinstance(method, str) or ("id" in data and _id_of(data) is None):
            return InvalidRequest(message="a method is text, an id a whole number or text")
        return self._refusal_now(method) if "id" in data else None

    def _refusal_now(self, method: str) -> JsonRpcException | None:
        if self._is_ending:
            return InvalidRequest(message="the server has been shut down")
        if method == lsp.INITIALIZE:
            return InvalidRequest(message="initialized already") if self._is_initialized else None
        return None if self._is_initialized else ServerNotInitialized(message="initialize first")

    def _is_for_now(self, data: dict[str, Any]) -> bool:
        """Whether a message that is not refused is looked at: notifications may come out of turn."""
        method = data.get("method", "")
        if "id" in data or method == lsp.EXIT:
            return True
        return self._is_initialized and not self._is_ending

    def _handle(self, data: dict[str, Any]) -> None:
        if data.get("method") == lsp.INITIALIZE:
            self._is_initialized = True
        self._is_ending |= data.get("method") == lsp.SHUTDOWN
        if "method" in data and self.get_message_type(data["method"]) is None:
            data.setdefault("params", None)
        try:
            message = self.structure_message(data)
        except (JsonRpcException, TypeError, ValueError) as error:
            self._not_understood(data, error)
        else:
            self.handle_message(message)

    def structure_message(self, data: dict[str, Any]) -> Any:
        message = super().structure_message(data)
        if isinstance(message, lsp.InlineCompletionRequest):
            message.params = _with_formatting(message.params, data["params"])
        return message

    def _not_understood(self, data: dict[str, Any], error: Exception) -> None:
        method = data.get("method")
        if method is None:
            logger.warning("an answer of the client's is not understood")
            if (waiting := self._request_futures.pop(data["id"], None)) is not None:
                waiting.cancel()
        elif "id" in data:
            if method == lsp.INITIALIZE:
                self._is_initialized = False
            message = f"the parameters of {method[:_MAX_QUOTED]} are not understood"
            self._refuse(data["id"], JsonRpcInvalidParams(message=message))
        else:
            logger.warning("%s is not understood: %s", method[:_MAX_QUOTED], type(error).__name__)
            if method in _KEEPS_DOCUMENTS and (uri := _uri_of(data)) is not None:
                # What it holds now nobody knows: better no answer than one for another text.
                self._server.session.close(uri)

    def _refuse(self, number: int | str | None, error: JsonRpcException) -> None:
        logger.warning("%s", error.message)
        code = int(error.CODE or lsp.ErrorCodes.InternalError)
        # Written out: lsprotocol leaves an id of null away.
        answer = {"code": code, "message": error.message}
        self._send_data({"jsonrpc": self.VERSION, "id": number, "error": answer})

    def _send_response(
        self, msg_id: int | str, result: Any = None, error: lsp.ResponseError | None = None
    ) -> None:
        if error is not None and error.code == lsp.ErrorCodes.InternalError:
            # pygls puts a traceback into it, which may quote the user's text.
            error = lsp.ResponseError(error.code, "an internal error; the log names it")
        super()._send_response(msg_id, result, error)

    def _handle_cancel_notification(self, msg_id: int | str) -> None:
        # A client may cancel what was answered while its message was under way.
        if msg_id in self._request_futures:
            super()._handle_cancel_notification(msg_id)


def _id_of(data: Any) -> int | str | None:
    """None where it has none that an answer could name."""
    number = data.get("id") if isinstance(data, dict) else None
    return number if isinstance(number, int | str) and not isinstance(number, bool) else None


def _uri_of(data: dict[str, Any]) -> str | None:
    match data.get("params"):
        case {"textDocument": {"uri": str(uri)}}:
            return uri
    return None


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
