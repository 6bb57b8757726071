import json
import stat
from contextlib import closing
from pathlib import Path

import pytest

from goose_lsp.lsp.recorder import CLIENT, SERVER, Recorder, RecordingWriter


class Sink:
    def __init__(self) -> None:
        self.data = b""

    def write(self, data: bytes) -> int:
        self.data += data
        return len(data)

    def close(self) -> None:
        self.data += b"closed"


def test_both_sides_are_noted_in_order_and_passed_on(tmp_path: Path) -> None:
    file, sink, clock = tmp_path / "a.jsonl", Sink(), iter([5.0, 5.5, 6.0])
    recorder = Recorder(file, lambda: next(clock))
    recorder.note(CLIENT, b'{"id": 1}')
    writer = RecordingWriter(sink, recorder)
    writer.write(b'Content-Length: 9\r\n\r\n{"id": 1}')
    writer.close()
    recorder.close()
    assert sink.data == b'Content-Length: 9\r\n\r\n{"id": 1}closed'
    assert [json.loads(line) for line in file.read_text().splitlines()] == [
        {"at": 0.5, "from": CLIENT, "message": {"id": 1}},
        {"at": 1.0, "from": SERVER, "message": {"id": 1}},
    ]


def test_what_is_no_json_is_kept_as_text(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    with closing(Recorder(file)) as recorder:
        recorder.note(CLIENT, b"{\xff")
    assert json.loads(file.read_text())["message"] == {"raw": "{\ufffd"}


def test_the_file_is_its_owners_alone_and_no_link(tmp_path: Path) -> None:
    file, link = tmp_path / "a", tmp_path / "b"
    Recorder(file).close()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    link.symlink_to(file)
    with pytest.raises(OSError, match=r".+"):
        Recorder(link)
