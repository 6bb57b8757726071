"""The language server: what it offers to which client, and one handler per request."""

import logging
from dataclasses import asdict
from typing import Any

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException, PyglsError
from pygls.lsp.server import LanguageServer

from goose_lsp import __version__
from goose_lsp.lsp.convert import (
    choose_encoding,
    to_completion_list,
    to_inline_list,
    to_range,
)
from goose_lsp.lsp.options import ClientOptions, parse_options
from goose_lsp.lsp.protocol import GooseProtocol, invalid_params
from goose_lsp.lsp.session import Answer, CursorRequest, Session
from goose_lsp.lsp.stdio import exit_with_process
from goose_lsp.request import Trigger

logger = logging.getLogger(__name__)

# A menu waits for all servers together, so the fallback answers "nothing" rather than late.
MENU_DEADLINE_MS = 500


class GooseServer(LanguageServer):
    """One per editor connection. The handlers live on the event loop; none of them blocks it."""

    protocol: GooseProtocol

    def __init__(self, session: Session) -> None:
        super().__init__("goose-lsp", __version__, protocol_cls=GooseProtocol)
        self.session = session
        self.problems: list[str] = []
        self.feature(lsp.INITIALIZE)(self._initialize)
        self.feature(lsp.INITIALIZED)(self._initialized)
        self.feature(lsp.SHUTDOWN)(self._shut_down)
        self.command("goose-lsp.why")(self._why)
        self.command("goose-lsp.complete")(self._complete)
        self.command("goose-lsp.status")(self._status)

    def report_server_error(
        self, error: Exception, source: type[PyglsError] | type[JsonRpcException]
    ) -> None:
        """To the log only: a dialog per failed message would stop people from typing."""
        logger.error("%s", error)

    def _initialize(self, params: lsp.InitializeParams) -> None:
        general = params.capabilities.general
        self.session.encoding = choose_encoding(general.position_encodings if general else None)
        self.session.options, self.problems = parse_options(params.initialization_options)
        self._register_features(params.capabilities)
        if params.process_id is not None:
            exit_with_process(params.process_id)

    def _register_features(self, client: lsp.ClientCapabilities) -> None:
        """Before pygls computes the capabilities it answers with."""
        has_inline = bool(client.text_document and client.text_document.inline_completion)
        if has_inline:
            # Without options pygls 2.1 does not advertise the feature.
            options = lsp.InlineCompletionOptions()
            self.feature(lsp.TEXT_DOCUMENT_INLINE_COMPLETION, options)(self._inline_completion)
        wants_completion = self.session.options.wants_completion
        if not has_inline if wants_completion is None else wants_completion:
            self.feature(lsp.TEXT_DOCUMENT_COMPLETION, lsp.CompletionOptions())(self._completion)

    def _initialized(self, _params: lsp.InitializedParams) -> None:
        if self.problems:
            message = f"goose-lsp ignores part of its options: {'; '.join(self.problems)}"
            self.window_show_message(lsp.ShowMessageParams(lsp.MessageType.Warning, message))

    async def _shut_down(self, _params: None) -> None:
        await self.session.aclose()

    async def _inline_completion(
        self, params: lsp.InlineCompletionParams
    ) -> lsp.InlineCompletionList:
        is_invoked = params.context.trigger_kind == lsp.InlineCompletionTriggerKind.Invoked
        request = CursorRequest(
            params.text_document.uri,
            params.position,
            self.session.options,
            trigger=Trigger.INVOKED if is_invoked else Trigger.AUTOMATIC,
            selected=params.context.selected_completion_info,
        )
        answer = await self.session.complete(request)
        return to_inline_list(answer.document, answer.completion, self.session.encoding)

    async def _completion(self, params: lsp.CompletionParams) -> lsp.CompletionList:
        request = CursorRequest(
            params.text_document.uri,
            params.position,
            self.session.options,
            deadline_ms=MENU_DEADLINE_MS,
        )
        answer = await self.session.complete(request)
        return to_completion_list(
            answer.document, answer.completion, answer.point, self.session.encoding
        )

    async def _why(self, _arguments: list[Any]) -> dict[str, Any] | None:
        last = self.session.last
        if last is None:
            return None
        return {
            "reason": last.reason,
            "detail": last.detail,
            "stats": last.stats,
            "text": last.text,
        }

    async def _complete(self, arguments: list[Any]) -> dict[str, Any]:
        """One completion with everything known about it, for demonstrations and measurements."""
        request = _parse_complete(arguments, self.session.options)
        answer = await self.session.complete(request)
        return self._described(answer)

    def _described(self, answer: Answer) -> dict[str, Any]:
        completion = answer.completion
        document = answer.document
        start, end = document.clamp(completion.start), document.clamp(completion.end)
        return {
            "text": completion.text,
            "range": to_range(document, start, end, self.session.encoding),
            "reason": completion.reason,
            "detail": completion.detail,
            "stats": completion.stats,
        }

    async def _status(self, _arguments: list[Any]) -> dict[str, Any] | None:
        status = await self.session.daemon.status()
        return asdict(status) if status else None


def _parse_complete(arguments: list[Any], defaults: ClientOptions) -> CursorRequest:
    match arguments:
        case [{"uri": str(uri), "line": int(line), "character": int(character), **rest}]:
            options, problems = parse_options(rest, defaults)
            if problems:
                raise invalid_params("; ".join(problems))
            position = lsp.Position(line, character)
            return CursorRequest(uri, position, options, trigger=Trigger.INVOKED)
        case _:
            raise invalid_params("goose-lsp.complete takes one {uri, line, character, ...}")
