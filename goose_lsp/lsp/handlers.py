"""The language server: what it offers to which client, and one handler per request."""

import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException, PyglsError
from pygls.lsp.server import LanguageServer

from goose_lsp import __version__
from goose_lsp.lsp.busy import BusyWatch
from goose_lsp.lsp.commands import COMMANDS
from goose_lsp.lsp.consent import Consent, MissingModel
from goose_lsp.lsp.convert import choose_encoding, to_completion_list, to_inline_list
from goose_lsp.lsp.copilot import COPILOT
from goose_lsp.lsp.editor import SECTION, Editor
from goose_lsp.lsp.options import parse_options, parse_settings
from goose_lsp.lsp.protocol import GooseProtocol, InlineParams
from goose_lsp.lsp.session import Answer, CursorRequest, Session
from goose_lsp.lsp.stdio import exit_with_process
from goose_lsp.request import Reason, Trigger

logger = logging.getLogger(__name__)

# A menu waits for all servers together, so the fallback answers "nothing" rather than late.
MENU_DEADLINE_MS = 500


_NOT_READY = (
    Reason.MODEL_LOADING,
    Reason.MODEL_MISSING,
    Reason.MODEL_BROKEN,
    Reason.DAEMON_UNAVAILABLE,
)

# All cells of any notebook.
NOTEBOOKS = lsp.NotebookDocumentSyncOptions(
    [lsp.NotebookDocumentFilterWithNotebook("*")], save=False
)


class GooseServer(LanguageServer):
    """One per editor connection. The handlers live on the event loop; none of them blocks it."""

    protocol: GooseProtocol

    def __init__(self, session: Session, model: MissingModel | None = None) -> None:
        super().__init__(
            "goose-lsp",
            __version__,
            protocol_cls=GooseProtocol,
            notebook_document_sync=NOTEBOOKS,
        )
        self.session = session
        self.problems: list[str] = []
        self.editor = Editor(self)
        self.busy = BusyWatch(
            self.editor,
            session.daemon.status,
            wants_status=lambda: session.options.wants_status,
        )
        self.consent = Consent(self.editor, model)
        self._told: set[str] = set()
        self._is_first = True  # nothing has been answered since the daemon was last not ready
        self.base_options = session.options  # the editor's settings come on top
        self.feature(lsp.INITIALIZE)(_initialize)
        self.feature(lsp.INITIALIZED)(_initialized)
        self.feature(lsp.WORKSPACE_DID_CHANGE_CONFIGURATION)(_change_settings)
        for method, handler in COPILOT.items():
            self.feature(method)(handler)
        for name, command in COMMANDS.items():
            self.command(name)(command)

    def tell_problems(self, problems: Sequence[str]) -> None:
        """Each once: settings are read again and again."""
        news = [problem for problem in problems if problem not in self._told]
        self._told.update(news)
        if news:
            self.editor.warn(f"goose-lsp ignores part of its options: {'; '.join(news)}")

    async def completed(self, request: CursorRequest) -> Answer:
        """The session's answer, with what the user should see while it is missing."""
        if self._is_first:
            self.busy.look()
        answer = await self.session.complete(request)
        reason = answer.completion.reason
        if reason is Reason.MODEL_MISSING:
            self.consent.ask()
        self._is_first = reason in _NOT_READY
        if self._is_first:
            self.busy.look()
        return answer

    async def aclose(self) -> None:
        await self.busy.aclose()
        await self.consent.aclose()
        await self.session.aclose()

    def report_server_error(
        self, error: Exception, source: type[PyglsError] | type[JsonRpcException]
    ) -> None:
        """To the log only: a dialog per failed message would stop people from typing."""
        logger.error("%s", error)


def _initialize(server: GooseServer, params: lsp.InitializeParams) -> None:
    general = params.capabilities.general
    server.session.encoding = choose_encoding(general.position_encodings if general else None)
    server.base_options, server.problems = parse_options(params.initialization_options)
    server.session.options = server.base_options
    server.editor.read_capabilities(params.capabilities)
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
    # Without options pygls 2.1 does not advertise the feature; plugins of editors that do not know it may ask all the
    # same.
    options = lsp.InlineCompletionOptions() if has_inline else None
    server.feature(lsp.TEXT_DOCUMENT_INLINE_COMPLETION, options)(_inline_completion)
    wants_completion = server.session.options.wants_completion
    if not has_inline if wants_completion is None else wants_completion:
        server.feature(lsp.TEXT_DOCUMENT_COMPLETION, lsp.CompletionOptions())(_completion)


async def _initialized(server: GooseServer, _params: lsp.InitializedParams) -> None:
    server.tell_problems(server.problems)
    await server.editor.register()
    await _read_settings(server, None)


async def _change_settings(server: GooseServer, params: lsp.DidChangeConfigurationParams) -> None:
    await _read_settings(server, params.settings)


async def _read_settings(server: GooseServer, told: object) -> None:
    """The editor's settings as it told them, or else as it answers when asked."""
    section = told.get(SECTION) if isinstance(told, Mapping) else None
    if section is None:
        section = await server.editor.settings()
    if section is not None:
        options, problems = parse_settings(section, server.base_options)
        server.session.options = options
        server.tell_problems(problems)


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
    answer = await server.completed(request)
    return to_inline_list(answer.document, answer.completion, server.session.encoding)


async def _completion(server: GooseServer, params: lsp.CompletionParams) -> lsp.CompletionList:
    request = CursorRequest(
        params.text_document.uri,
        params.position,
        server.session.options,
        deadline_ms=MENU_DEADLINE_MS,
    )
    answer = await server.completed(request)
    return to_completion_list(
        answer.document, answer.completion, answer.point, server.session.encoding
    )
