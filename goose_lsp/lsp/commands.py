"""What editors run by name: `workspace/executeCommand`."""

from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from lsprotocol import types as lsp

from goose_lsp.lsp.convert import ACCEPT_COMMAND, REJECT_COMMAND, Encoding, to_range
from goose_lsp.lsp.options import ClientOptions, parse_options
from goose_lsp.lsp.protocol import invalid_params
from goose_lsp.lsp.session import Answer, CursorRequest
from goose_lsp.request import Trigger

if TYPE_CHECKING:
    from goose_lsp.lsp.handlers import GooseServer


async def _why(ls: "GooseServer", _arguments: list[Any]) -> dict[str, Any] | None:
    """The reason of the last answer; null before the first."""
    last = ls.session.last
    if last is None:
        return None
    return {"reason": last.reason, "detail": last.detail, "stats": last.stats, "text": last.text}


async def _complete(ls: "GooseServer", arguments: list[Any]) -> dict[str, Any]:
    """One completion with everything known about it, for demonstrations and measurements."""
    request = _parse_complete(arguments, ls.session.options)
    answer = await ls.completed(request)
    return _described(answer, ls.session.encoding)


async def _status(ls: "GooseServer", _arguments: list[Any]) -> dict[str, Any] | None:
    status = await ls.session.daemon.status()
    return asdict(status) if status else None


async def _accept(ls: "GooseServer", arguments: list[Any]) -> None:
    """What every item carries as its command: the editor has inserted it."""
    ls.session.accept(*_parse_verdict(ACCEPT_COMMAND, arguments))


async def _reject(ls: "GooseServer", arguments: list[Any]) -> None:
    ls.session.reject(*_parse_verdict(REJECT_COMMAND, arguments))


async def _toggle(ls: "GooseServer", arguments: list[Any]) -> dict[str, bool]:
    """Suggestions of this editor on or off; without an argument the other way round."""
    match arguments:
        case []:
            is_enabled = not ls.session.options.is_enabled
        case [bool(is_enabled)]:
            pass
        case _:
            raise invalid_params("goose-lsp.toggle takes nothing, true or false")
    ls.session.enable(is_enabled)
    return {"enabled": is_enabled}


Command = Callable[["GooseServer", list[Any]], Awaitable[Any]]

COMMANDS: dict[str, Command] = {
    "goose-lsp.why": _why,
    "goose-lsp.complete": _complete,
    "goose-lsp.status": _status,
    "goose-lsp.toggle": _toggle,
    ACCEPT_COMMAND: _accept,
    REJECT_COMMAND: _reject,
}


def _described(answer: Answer, encoding: Encoding) -> dict[str, Any]:
    completion, document = answer.completion, answer.document
    start, end = document.clamp(completion.start), document.clamp(completion.end)
    return {
        "text": completion.text,
        "range": to_range(document, start, end, encoding),
        "reason": completion.reason,
        "detail": completion.detail,
        "stats": completion.stats,
    }


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
