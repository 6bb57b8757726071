"""A daemon without a model: mirrors documents over the real socket and wire, answers from a script."""

import socket
import struct
from collections.abc import Callable
from pathlib import Path
from threading import Event, Lock, Thread

from goose_lsp.ipc.messages import (
    PROTOCOL_VERSION,
    Accepted,
    AskStatus,
    Cancel,
    ChangeDocument,
    CloseDocument,
    Complete,
    CompleteReply,
    Hello,
    Message,
    OpenDocument,
    OpenWorkspace,
    Status,
    Welcome,
    decode,
    encode,
)
from goose_lsp.request import Edit, Point, Reason
from goose_lsp.text.document import Document

VERSION = "0"


class FakeDaemon:
    """Answers each `Complete` with `reply(document, point)` once `gate` is open."""

    def __init__(self, folder: Path) -> None:
        self.documents: dict[str, Document] = {}
        self.asked: list[Complete] = []
        self.folders: list[str] = []
        self.cancelled: list[int] = []
        self.accepted: list[Accepted] = []
        self.reply: Callable[[Document, Point], str] = lambda _document, _point: ""
        self.gate = Event()
        self.gate.set()
        self.has_asked, self.has_cancelled = Event(), Event()
        self._write_lock = Lock()
        folder.chmod(0o700)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(folder / "daemon.sock"))
        self._listener.listen()
        self._connections: list[socket.socket] = []
        self._threads: list[Thread] = []
        self._spawn(self._accept)

    def close(self) -> None:
        self.gate.set()
        for end in (self._listener, *self._connections):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue
        for thread in self._threads:
            thread.join(10)
        for end in (self._listener, *self._connections):
            end.close()

    def _spawn(self, work: Callable[..., None], *arguments: object) -> None:
        thread = Thread(target=work, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._connections.append(connection)
            self._spawn(self._serve, connection)

    def _serve(self, connection: socket.socket) -> None:
        with connection.makefile("rb") as stream:
            while len(header := stream.read(4)) == 4:
                self._handle(connection, decode(stream.read(*struct.unpack(">I", header))))

    def _handle(self, connection: socket.socket, message: Message) -> None:
        match message:
            case Hello():
                self._send(connection, Welcome(PROTOCOL_VERSION, message.version, 1))
            case OpenDocument():
                self.documents[message.uri] = Document(
                    message.uri, message.version, message.language, message.text
                )
            case ChangeDocument():
                self._change(message)
            case CloseDocument():
                self.documents.pop(message.uri)
            case Complete():
                self.asked.append(message)
                self.has_asked.set()
                snapshot = self.documents[message.uri].snapshot()
                self._spawn(self._complete, connection, message, snapshot)
            case Cancel():
                self.cancelled.append(message.request_id)
                self.has_cancelled.set()
            case Accepted():
                self.accepted.append(message)
            case OpenWorkspace():
                self.folders = message.folders
            case AskStatus():
                self._send(connection, self._status(message))
            case _:
                raise AssertionError(f"the daemon should not get a {type(message).__name__}")

    def _change(self, message: ChangeDocument) -> None:
        document = self.documents[message.uri]
        assert document.version == message.from_version
        for line, column, end_line, end_column, text in message.edits:
            document.apply(Edit(Point(line, column), Point(end_line, end_column), text))
        document.version = message.version

    def _complete(self, connection: socket.socket, ask: Complete, document: Document) -> None:
        self.gate.wait(30)
        text = self.reply(document, Point(ask.line, ask.column))
        places = (ask.line, ask.column, ask.line, ask.column)
        reason = Reason.OK if text else Reason.NOTHING_TO_ADD
        self._send(
            connection,
            CompleteReply(ask.request_id, ask.uri, ask.version, text, *places, str(reason)),
        )

    def _status(self, ask: AskStatus) -> Status:
        n_documents = len(self.documents)
        return Status(ask.request_id, 1, VERSION, "fake", "ready", "", 1.0, 1, n_documents)

    def _send(self, connection: socket.socket, message: Message) -> None:
        payload = encode(message)
        with self._write_lock:
            try:
                connection.sendall(struct.pack(">I", len(payload)) + payload)
            except OSError:
                return  # the client has gone, as some tests want
