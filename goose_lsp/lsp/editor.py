"""What the server asks of its client, as far as the client knows how to answer."""

import logging
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

if TYPE_CHECKING:
    from pygls.lsp.server import LanguageServer

logger = logging.getLogger(__name__)

SECTION = "goose-lsp"
_WATCHED, _CONFIGURATION = "goose-lsp-files", "goose-lsp-settings"


class Editor:
    """Belongs to one connection, on its event loop. Nothing here raises for what a client answers."""

    def __init__(self, server: "LanguageServer") -> None:
        self._server = server
        self.can_show_progress = False
        self._can_ask_settings = False
        self._registers: list[lsp.Registration] = []

    def read_capabilities(self, client: lsp.ClientCapabilities) -> None:
        workspace, window = client.workspace, client.window
        self.can_show_progress = bool(window and window.work_done_progress)
        self._can_ask_settings = bool(workspace and workspace.configuration)
        watched = workspace and workspace.did_change_watched_files
        if watched and watched.dynamic_registration:
            # Where the system tells of no changes, on network drives say, the client may.
            everything = lsp.FileSystemWatcher("**/*")
            self._registers.append(
                lsp.Registration(
                    _WATCHED,
                    lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES,
                    lsp.DidChangeWatchedFilesRegistrationOptions([everything]),
                )
            )
        settings = workspace and workspace.did_change_configuration
        if settings and settings.dynamic_registration:
            self._registers.append(
                lsp.Registration(
                    _CONFIGURATION,
                    lsp.WORKSPACE_DID_CHANGE_CONFIGURATION,
                    lsp.DidChangeConfigurationRegistrationOptions(SECTION),
                )
            )

    async def register(self) -> None:
        """What can only be asked for once the connection stands."""
        if self._registers:
            params = lsp.RegistrationParams(self._registers)
            await _answer(self._server.client_register_capability_async(params))

    async def settings(self) -> Any:
        """The editor's settings for us; None where it has none or cannot be asked."""
        if not self._can_ask_settings:
            return None
        params = lsp.ConfigurationParams([lsp.ConfigurationItem(section=SECTION)])
        answer = await _answer(self._server.workspace_configuration_async(params))
        return answer[0] if isinstance(answer, list | tuple) and answer else None

    def warn(self, text: str) -> None:
        params = lsp.ShowMessageParams(lsp.MessageType.Warning, text)
        self._server.window_show_message(params)

    async def choose(self, text: str, actions: list[str]) -> str | None:
        """Which of the actions the user takes; None for neither."""
        params = lsp.ShowMessageRequestParams(
            lsp.MessageType.Info, text, [lsp.MessageActionItem(title) for title in actions]
        )
        answer = await _answer(self._server.window_show_message_request_async(params))
        return getattr(answer, "title", None)

    async def begin_progress(self, title: str) -> str | None:
        """A token for the reports to come; None where the client shows no progress."""
        if not self.can_show_progress:
            return None
        token = f"goose-lsp-{uuid4()}"
        try:
            await self._server.work_done_progress.create_async(token)
        except JsonRpcException as error:
            logger.info("the client shows no progress: %s", error)
            return None
        begin = lsp.WorkDoneProgressBegin(title, cancellable=False)
        self._server.work_done_progress.begin(token, begin)
        return token

    def report_progress(self, token: str, text: str, share: float | None) -> None:
        percentage = None if share is None else round(100 * min(max(share, 0.0), 1.0))
        report = lsp.WorkDoneProgressReport(message=text, percentage=percentage)
        self._server.work_done_progress.report(token, report)

    def end_progress(self, token: str, text: str) -> None:
        self._server.work_done_progress.end(token, lsp.WorkDoneProgressEnd(message=text))

    def tell_status(self, kind: str, *, is_busy: bool, message: str) -> None:
        """As Copilot's server tells its clients; sent to those that ask for it."""
        status = {"kind": kind, "busy": is_busy, "message": message}
        self._server.protocol.notify("didChangeStatus", status)


async def _answer(asked: Awaitable[Any]) -> Any:
    try:
        return await asked
    except JsonRpcException as error:
        logger.info("the client does not answer: %s", error)
        return None
