import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goose_lsp.draft.recall import NO_TOKEN
from goose_lsp.index.collection import Collection
from goose_lsp.index.persist import Snapshot
from goose_lsp.index.scan import Scanner
from tests.vocabularies import marked_tokenizer

TOKENIZER = marked_tokenizer([])


def collection(root: Path, kept: Snapshot | None = None) -> Collection:
    return Collection(
        Scanner([root], None, {"HOME": "/nowhere", "PATH": os.environ["PATH"]}), TOKENIZER, kept
    )


def texts(found: Collection) -> dict[str, str]:
    return {
        os.path.basename(p): TOKENIZER.decode(e.tokens.tolist()) for p, e in found.entries.items()
    }


def check_same(one: Snapshot, other: Snapshot) -> None:
    assert one.files == other.files
    np.testing.assert_array_equal(one.library.segment.tokens, other.library.segment.tokens)
    np.testing.assert_array_equal(one.library.segment.order, other.library.segment.order)
    np.testing.assert_array_equal(one.library.counts.keys, other.library.counts.keys)
    np.testing.assert_array_equal(one.library.counts.counts, other.library.counts.counts)


def test_a_first_scan_reads_everything(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    (tmp_path / "b.py").write_bytes(b"y = 2\r\n")
    found = collection(tmp_path)
    changed, gone = found.rescan()
    assert {os.path.basename(path) for path in changed} == {"a.py", "b.py"}
    assert not gone
    assert texts(found) == {"a.py": "x = 1\n", "b.py": "y = 2\n"}


def test_line_ends_make_no_difference(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"def f():\n    return 1\n")
    (tmp_path / "b.py").write_bytes(b"def f():\r\n    return 1\r\n")
    found = collection(tmp_path)
    found.rescan()
    one, other = (entry.tokens.tolist() for entry in found.entries.values())
    assert one == other


def test_a_restart_reads_only_what_has_changed(tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / name).write_text(f"{name} = 1\n")
    (tmp_path / "d").write_bytes(b"\0\1")
    first = collection(tmp_path)
    first.rescan()
    (tmp_path / "b").write_text("b = 2 and more\n")
    (tmp_path / "c").unlink()
    again = collection(tmp_path, first.snapshot())
    changed, gone = again.rescan()
    assert {os.path.basename(path) for path in changed} == {"b"}
    assert {os.path.basename(path) for path in gone} == {"c"}
    assert again.n_read == 1


def test_a_touched_file_with_the_same_text_has_not_changed(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a = 1\n")
    found = collection(tmp_path)
    found.rescan()
    os.utime(tmp_path / "a", (1, 1))
    assert found.update([str(tmp_path / "a")]) == (set(), set())
    assert found.n_read == 2


def test_a_file_that_turns_into_a_secret_loses_its_tokens(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a = 1\n")
    found = collection(tmp_path)
    found.rescan()
    (tmp_path / "a").write_text("-----BEGIN RSA " + "PRIVATE KEY-----\nabc\n")
    changed, _ = found.update([str(tmp_path / "a")])
    assert changed == {str(tmp_path / "a")}
    assert texts(found) == {"a": ""}


def test_a_file_reached_through_a_link_is_known_by_its_own_path(tmp_path: Path) -> None:
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "a").write_text("a = 1\n")
    (tmp_path / "link").symlink_to("w")
    found = collection(tmp_path / "link")
    found.rescan()
    (tmp_path / "w" / "a").write_text("a = 22\n")
    assert found.update([str(tmp_path / "link" / "a")]) == ({str(tmp_path / "w" / "a")}, set())
    assert found.update(["/w/\0"]) == (set(), set())


def test_the_left_out_are_counted_by_reason_after_a_restart_too(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\0\1")
    (tmp_path / "b").write_bytes(b"\0\1")
    (tmp_path / ".env").write_text("x")
    first = collection(tmp_path)
    first.rescan()
    again = collection(tmp_path, first.snapshot())
    again.rescan()
    assert first.n_refused() == again.n_refused() == {"binary": 2, "secret": 1}
    assert again.n_read == 0


def test_a_file_that_becomes_ignored_is_gone(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a = 1\n")
    found = collection(tmp_path)
    found.rescan()
    (tmp_path / ".gitignore").write_text("a\n")
    _, gone = found.rescan()
    assert gone == {str(tmp_path / "a")}


def test_files_are_apart_in_the_snapshot(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1")
    (tmp_path / "b").write_text("22")
    found = collection(tmp_path)
    found.rescan()
    library = found.snapshot().library
    assert library.starts.tolist() == [0, 2, 5]
    assert library.segment.tokens[[1, 4]].tolist() == [NO_TOKEN, NO_TOKEN]


EDITS = st.lists(
    st.tuples(st.sampled_from("abc"), st.text("xy\n", max_size=6) | st.none()), max_size=6
)


@settings(max_examples=30)
@given(EDITS)
def test_whatever_happened_the_snapshot_is_that_of_a_fresh_scan(
    tmp_path_factory: pytest.TempPathFactory, edits: list[tuple[str, str | None]]
) -> None:
    root = tmp_path_factory.mktemp("w")
    followed = collection(root)
    followed.rescan()
    for i, (name, text) in enumerate(edits):
        if text is None:
            (root / name).unlink(missing_ok=True)
        else:
            (root / name).write_text(text)
            os.utime(root / name, ns=(i, i))  # as coarse clocks do not tell two writes apart
        followed.update([str(root / name)])
    fresh = collection(root)
    fresh.rescan()
    check_same(followed.snapshot(), fresh.snapshot())
