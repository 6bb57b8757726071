"""The project's values from wire messages, and back."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from goose_lsp.errors import ProtocolError
from goose_lsp.ipc.messages import CompleteReply
from goose_lsp.request import Completion, Edit, Point, Reason


def empty_completion(point: Point, reason: Reason, detail: str = "") -> Completion:
    return Completion("", point, point, reason, detail)


def edits_to_wire(edits: Sequence[Edit]) -> list[list[Any]]:
    return [
        [edit.start.line, edit.start.column, edit.end.line, edit.end.column, edit.text]
        for edit in edits
    ]


def edits_from_wire(edits: list[list[Any]]) -> list[Edit]:
    """Raises `ProtocolError` for anything but four numbers and a text each."""
    return [_edit_from_wire(edit) for edit in edits]


def _edit_from_wire(edit: list[Any]) -> Edit:
    if [type(part) for part in edit] != [int, int, int, int, str]:
        raise ProtocolError("an edit must be [line, column, line, column, text]")
    start_line, start_column, end_line, end_column, text = edit
    return Edit(Point(start_line, start_column), Point(end_line, end_column), text)


def completion_to_wire(
    request_id: int, uri: str, version: int, completion: Completion
) -> CompleteReply:
    return CompleteReply(
        request_id=request_id,
        uri=uri,
        version=version,
        text=completion.text,
        start_line=completion.start.line,
        start_column=completion.start.column,
        end_line=completion.end.line,
        end_column=completion.end.column,
        reason=completion.reason.value,
        detail=completion.detail,
        stats=completion.stats,
    )


def completion_from_wire(reply: CompleteReply) -> Completion:
    """A reason this version does not know becomes `internal-error`, with the word as its detail."""
    completion = Completion(
        text=reply.text,
        start=Point(reply.start_line, reply.start_column),
        end=Point(reply.end_line, reply.end_column),
        reason=Reason.INTERNAL_ERROR,
        detail=reply.detail,
        stats=reply.stats,
    )
    try:
        return replace(completion, reason=Reason(reply.reason))
    except ValueError:
        return replace(completion, text="", detail=f"unknown reason {reply.reason[:40]!r}")
