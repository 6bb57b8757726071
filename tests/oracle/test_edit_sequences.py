"""The server's text after any sequence of edits is the editor's own, in every encoding and with every line end."""

import os
import re

from hypothesis import given, settings
from hypothesis import strategies as st
from lsprotocol import types as lsp

from goose_lsp.lsp.convert import Encoding, apply_changes
from goose_lsp.text.document import Document

N_EXAMPLES = int(os.environ.get("GOOSE_LSP_EDIT_SEQUENCES", "300"))
_UNIT_BYTES = {Encoding.UTF8: 1, Encoding.UTF16: 2, Encoding.UTF32: 4}
_CODECS = {Encoding.UTF8: "utf-8", Encoding.UTF16: "utf-16-le", Encoding.UTF32: "utf-32-le"}
# All planes, the separators that are no line ends here, and letters that take 1, 2, 3 and 4 bytes.
CHARACTERS = st.sampled_from("a\n\r\t \f\v\x1c\x85\u2028é漢🥸\U000e0001\U0010fffd\u0301")
TEXTS = st.text(
    CHARACTERS | st.characters(exclude_categories=["Cs"]), max_size=12
) | st.sampled_from(["\r\n", "a\r\nb\r\n", "\r", "\n\n"])
PLACES = st.integers(0, 40)


class Buffer:
    """An editor's text as one string, edited by slicing; knows nothing of `Document`."""

    def __init__(self, text: str) -> None:
        self.text = text

    def starts(self) -> list[int]:
        """Where lines begin."""
        return [0, *(match.end() for match in re.finditer("\r\n|\n|\r", self.text))]

    def position(self, offset: int, encoding: Encoding) -> lsp.Position:
        """Of a place that an editor can have its cursor at: never within a line end."""
        starts = self.starts()
        line = max(i for i, start in enumerate(starts) if start <= offset)
        before = self.text[starts[line] : offset]
        n_bytes = len(before.encode(_CODECS[encoding]))
        return lsp.Position(line, n_bytes // _UNIT_BYTES[encoding])

    def cursor(self, place: int) -> int:
        offset = min(place, len(self.text))
        is_within = self.text[offset - 1 : offset + 1] == "\r\n"
        return offset - is_within

    def replace(self, start: int, end: int, text: str) -> None:
        self.text = self.text[:start] + text + self.text[end:]


@settings(max_examples=N_EXAMPLES, deadline=None)
@given(
    TEXTS,
    st.lists(st.tuples(PLACES, PLACES, TEXTS, st.booleans()), max_size=12),
    st.sampled_from(list(Encoding)),
)
def test_any_edits_leave_the_server_with_the_editors_text(
    text: str, edits: list[tuple[int, int, str, bool]], encoding: Encoding
) -> None:
    buffer, document = Buffer(text), Document("file:///a", 1, "python", text)
    for one, other, new, is_whole in edits:
        start, end = sorted((buffer.cursor(one), buffer.cursor(other)))
        change: lsp.TextDocumentContentChangeEvent
        if is_whole and not new:
            change = lsp.TextDocumentContentChangeWholeDocument(new)
            buffer.text = new
        else:
            span = lsp.Range(buffer.position(start, encoding), buffer.position(end, encoding))
            change = lsp.TextDocumentContentChangePartial(span, new)
            buffer.replace(start, end, new)
        apply_changes(document, [change], encoding)
        assert document.text == buffer.text
        assert document.n_lines == len(buffer.starts())
