"""One client's documents, mirrored as its editor holds them, and what was offered in them."""

from goose_lsp.daemon.suggestions import Suggestions
from goose_lsp.errors import ProtocolError
from goose_lsp.ipc.messages import ChangeDocument, CloseDocument, OpenDocument
from goose_lsp.ipc.uri import origin_of
from goose_lsp.ipc.values import edits_from_wire
from goose_lsp.text.document import Document

# A client that opens more than this at once does not close any.
MAX_DOCUMENTS = 10_000


class Session:
    """Lives as long as its connection."""

    def __init__(self, number: int, client: str) -> None:
        self.number = number
        self.client = client
        self.documents: dict[str, Document] = {}
        self._suggestions: dict[str, Suggestions] = {}

    def suggestions(self, uri: str) -> Suggestions:
        """Of a document that is open; a passing copy shares those of its origin."""
        return self._suggestions.setdefault(origin_of(uri), Suggestions())

    def open(self, message: OpenDocument) -> None:
        if len(self.documents) >= MAX_DOCUMENTS and message.uri not in self.documents:
            raise ProtocolError(f"more than {MAX_DOCUMENTS} open documents")
        self._suggestions.pop(message.uri, None)
        self.documents[message.uri] = Document(
            message.uri, message.version, message.language, message.text
        )

    def change(self, message: ChangeDocument) -> bool:
        """Apply the edits; False if the document is unknown or of another version than theirs."""
        edits = edits_from_wire(message.edits)
        document = self.documents.get(message.uri)
        if document is None or document.version != message.from_version:
            return False
        for edit in edits:
            document.apply(edit)
        document.version = message.version
        self.suggestions(message.uri).see(edits)
        return True

    def close(self, message: CloseDocument) -> None:
        self.documents.pop(message.uri, None)
        if (origin := origin_of(message.uri)) not in self.documents:
            self._suggestions.pop(origin, None)
