"""The language server: what it offers to which client, and one handler per request."""

import logging
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException, PyglsError
from pygls.lsp.server import LanguageServer

from goose_lsp import __version__
from goose_lsp.lsp.convert import (
    ACCEPT_COMMAND,
    REJECT_COMMAND,
    Encoding,
    choose_encoding,
    to_completion_list,
    to_inline_list,
    to_range,
)
from goose_lsp.lsp.options import ClientOptions, parse_options
from goose_lsp.lsp.protocol import GooseProtocol, InlineParams, invalid_params
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
        self.feature(lsp.INITIALIZE)(_initialize)
        self.feature(lsp.INITIALIZED)(_initialized)
        self.command("goose-lsp.why")(_why)
        self.command("goose-lsp.complete")(_complete)
        self.command("goose-lsp.status")(_status)
        self.command(ACCEPT_COMMAND)(_accept)
        self.command(REJECT_COMMAND)(_reject)

    def report_server_error(
        self, error: Exception, source: type[PyglsError] | type[JsonRpcException]
    ) -> None:
        """To the log only: a dialog per failed message would stop people from typing."""
        logger.error("%s", error)


def _initialize(server: GooseServer, params: lsp.InitializeParams) -> None:
    general = params.capabilities.general
    server.session.encoding = choose_encoding(general.position_encodings if general else None)
    server.session.options, server.problems = parse_options(params.initialization_options)
    server.session.set_folders(_folders(params))
    _register_features(server, params.capabilities)
    if params.process_id is not None:
        exit_with_process(params.process_id)


def _folders(params: lsp.InitializeParams) -> list[str]:
    """The URIs of the client's folders, in whichever of the protocol's three ways it says them."""
    if params.workspace_folders:
        return [folder.uri for folder in params.workspace_folders]
    if params.root_uri:
        return [params.root_uri]
    return (
        [Path(params.root_path).as_uri()]
        if params.root_path and os.path.isabs(params.root_path)
        else []
    )


def _register_features(server: GooseServer, client: lsp.ClientCapabilities) -> None:
    """Before pygls computes the capabilities it answers with."""
    has_inline = bool(client.text_document and client.text_document.inline_completion)
    if has_inline:
        # Without options pygls 2.1 does not advertise the feature.
        options = lsp.InlineCompletionOptions()
        server.feature(lsp.TEXT_DOCUMENT_INLINE_COMPLETION, options)(_inline_completion)
    wants_completion = server.session.options.wants_completion
    if not has_inline if wants_completion is None else wants_completion:
        server.feature(lsp.TEXT_DOCUMENT_COMPLETION, lsp.CompletionOptions())(_completion)


def _initialized(server: GooseServer, _params: lsp.InitializedParams) -> None:
    if server.problems:
        message = f"goose-lsp ignores part of its options: {'; '.join(server.problems)}"
        server.window_show_message(lsp.ShowMessageParams(lsp.MessageType.Warning, message))


async def _inline_completion(
    server: GooseServer, params: lsp.InlineCompletionParams
) -> lsp.InlineCompletionList:
    is_invoked = params.context.trigger_kind == lsp.InlineCompletionTriggerKind.Invoked
    request = CursorRequest(
        params.text_document.uri,
        params.position,
        server.session.options,
        trigger=Trigger.INVOKED if is_invoked else Trigger.AUTOMATIC,
        selected=params.context.selected_completion_info,
        formatting=params.formatting_options if isinstance(params, InlineParams) else None,
    )
    answer = await server.session.complete(request)
    return to_inline_list(answer.document, answer.completion, server.session.encoding)


async def _completion(server: GooseServer, params: lsp.CompletionParams) -> lsp.CompletionList:
    request = CursorRequest(
        params.text_document.uri,
        params.position,
        server.session.options,
        deadline_ms=MENU_DEADLINE_MS,
    )
    answer = await server.session.complete(request)
    return to_completion_list(
        answer.document, answer.completion, answer.point, server.session.encoding
    )


async def _why(server: GooseServer, _arguments: list[Any]) -> dict[str, Any] | None:
    last = server.session.last
    if last is None:
        return None
    return {
        "reason": last.reason,
        "detail": last.detail,
        "stats": last.stats,
        "text": last.text,
    }


async def _complete(server: GooseServer, arguments: list[Any]) -> dict[str, Any]:
    """One completion with everything known about it, for demonstrations and measurements."""
    request = _parse_complete(arguments, server.session.options)
    answer = await server.session.complete(request)
    return _described(answer, server.session.encoding)


def _described(answer: Answer, encoding: Encoding) -> dict[str, Any]:
    completion = answer.completion
    document = answer.document
    start, end = document.clamp(completion.start), document.clamp(completion.end)
    return {
        "text": completion.text,
        "range": to_range(document, start, end, encoding),
        "reason": completion.reason,
        "detail": completion.detail,
        "stats": completion.stats,
    }


async def _status(server: GooseServer, _arguments: list[Any]) -> dict[str, Any] | None:
    status = await server.session.daemon.status()
    return asdict(status) if status else None


async def _accept(server: GooseServer, arguments: list[Any]) -> None:
    """What every item carries as its command: the editor has inserted it."""
    server.session.accept(*_parse_verdict(ACCEPT_COMMAND, arguments))


async def _reject(server: GooseServer, arguments: list[Any]) -> None:
    server.session.reject(*_parse_verdict(REJECT_COMMAND, arguments))


def _parse_verdict(command: str, arguments: list[Any]) -> tuple[str, str]:
    match arguments:
        case [str(uri), str(text)]:
            return uri, text
        case _:
            raise invalid_params(f"{command} takes a document's uri and the item's text")


def _parse_complete(arguments: list[Any], defaults: ClientOptions) -> CursorRequest:
    match arguments:
        case [{"uri": str(uri), "line": int(line), "character": int(character), **rest}]:
            options, problems = parse_options(rest, defaults)
            if problems:
                raise invalid_params("; ".join(problems))
            # A bool is an int to Python, and the protocol's numbers end at 2^31 - 1.
            if any(type(n) is not int or not 0 <= n < 2**31 for n in (line, character)):
                raise invalid_params(f"line {line!r}, character {character!r} is no position")
            position = lsp.Position(line, character)
            return CursorRequest(uri, position, options, trigger=Trigger.INVOKED)
        case _:
            raise invalid_params("goose-lsp.complete takes one {uri, line, character, ...}")
