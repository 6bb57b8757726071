from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from goose_lsp.daemon.workspace import Vocabulary
from goose_lsp.daemon.workspaces import MAX_WORKSPACES, Folders, Workspaces
from goose_lsp.index.live import LiveStore
from goose_lsp.text.document import Document

VOCABULARY = cast(Vocabulary, object())


class FakeWorkspace:
    def __init__(self, folders: Folders) -> None:
        self.progress: dict[str, Any] = {"folders": list(folders)}
        self.live = cast(LiveStore, folders)
        self.texts: dict[str, str | None] = {}
        self.touched: list[str] = []
        self.state = "made"

    def start(self) -> None:
        self.state = "running"

    def close(self) -> None:
        self.state = "closed"

    def document_changed(self, path: str, document: Document | None) -> None:
        self.texts[path] = document.text if document else None

    def touch(self, paths: Sequence[str]) -> None:
        self.touched += paths


class Rig:
    def __init__(self) -> None:
        self.made: list[FakeWorkspace] = []
        self.workspaces = Workspaces(Path("/cache"), self._make)

    def _make(self, folders: Folders, _cache_dir: Path, _vocabulary: object) -> FakeWorkspace:
        self.made.append(FakeWorkspace(folders))
        return self.made[-1]

    def type(self, session: int, path: str, text: str | None) -> None:
        document = None if text is None else Document(f"file://{path}", 1, "", text)
        self.workspaces.document_changed(session, f"file://{path}", document)


@pytest.fixture
def rig() -> Rig:
    rig = Rig()
    rig.workspaces.provide(VOCABULARY)
    return rig


def test_clients_with_the_same_folders_share_one_store(rig: Rig) -> None:
    rig.workspaces.open(1, ["/w", "/v/"])
    rig.workspaces.open(2, ["/v", "/w"])
    rig.workspaces.open(3, ["/u"])
    assert [w.progress["folders"] for w in rig.made] == [["/v", "/w"], ["/u"]]
    assert rig.workspaces.live(1) is rig.workspaces.live(2) is rig.made[0].live
    assert len(rig.workspaces.status()) == 2


def test_before_a_model_is_known_nothing_runs_and_nothing_is_forgotten() -> None:
    rig = Rig()
    rig.workspaces.open(1, ["/w"])
    rig.type(1, "/w/a", "text")
    assert not rig.made
    assert rig.workspaces.live(1) is None
    rig.workspaces.provide(VOCABULARY)
    assert (rig.made[0].state, rig.made[0].texts) == ("running", {"/w/a": "text"})


def test_what_is_typed_reaches_the_clients_workspace_alone(rig: Rig) -> None:
    rig.workspaces.open(1, ["/w"])
    rig.workspaces.open(2, ["/v"])
    rig.type(1, "/w/a", "one")
    rig.type(1, "/w/a", "two")
    rig.workspaces.document_changed(1, "untitled:x", Document("untitled:x", 1, "", "no file"))
    rig.workspaces.touch(2, ["/v/b"])
    assert (rig.made[0].texts, rig.made[1].texts) == ({"/w/a": "two"}, {})
    assert (rig.made[0].touched, rig.made[1].touched) == ([], ["/v/b"])


def test_with_its_last_client_a_workspace_ends(rig: Rig) -> None:
    rig.workspaces.open(1, ["/w"])
    rig.workspaces.open(2, ["/w"])
    rig.type(1, "/w/a", "text")
    rig.workspaces.leave(1)
    assert (rig.made[0].state, rig.made[0].texts) == ("running", {"/w/a": None})
    rig.workspaces.leave(2)
    assert rig.workspaces.status() == []


def test_a_client_that_changes_its_folders_leaves_the_old_ones(rig: Rig) -> None:
    rig.workspaces.open(1, ["/w"])
    rig.workspaces.open(1, ["/w", "/v"])
    assert [w["folders"] for w in rig.workspaces.status()] == [["/v", "/w"]]


def test_folders_that_are_none_open_nothing(rig: Rig) -> None:
    rig.workspaces.open(1, [])
    rig.workspaces.open(2, ["relative"])
    assert not rig.made


def test_more_workspaces_than_the_limit_go_without_a_store(rig: Rig) -> None:
    for session in range(MAX_WORKSPACES + 1):
        rig.workspaces.open(session, [f"/w{session}"])
    assert len(rig.made) == MAX_WORKSPACES
    assert rig.workspaces.live(MAX_WORKSPACES) is None


def test_at_the_end_all_are_closed(rig: Rig) -> None:
    rig.workspaces.open(1, ["/w"])
    rig.workspaces.close()
    assert rig.made[0].state == "closed"
