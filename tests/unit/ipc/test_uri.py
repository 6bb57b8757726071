import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goose_lsp.ipc.uri import origin_of, path_of, selection_of


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///w/a.py", "/w/a.py"),
        ("file:///w/a%20b.py", "/w/a b.py"),
        ("file:///w/%2541.py", "/w/%41.py"),
        ("file:///w/%23x.py", "/w/#x.py"),
        ("file:///w/#x.py", "/w/#x.py"),
        ("file:///w/c++.py?x", "/w/c++.py?x"),
        ("file:///w/%C3%A9.py", "/w/é.py"),
        ("file:///w/é.py", "/w/é.py"),
        ("file:///w/../a.py", "/a.py"),
        ("file://localhost/w/a.py", "/w/a.py"),
        ("file:/w/a.py", "/w/a.py"),
        ("file:///w/%FF.py", "/w/\udcff.py"),
        ("file:///w/a%00b", None),
        ("file://other/w/a.py", None),
        ("untitled:Untitled-1", None),
        ("vscode-notebook-cell:/w/a.ipynb#1", None),
        ("http://[", None),
        ("", None),
    ],
)
def test_a_uri_names_a_path_or_nothing(uri: str, path: str | None) -> None:
    assert path_of(uri) == path


@given(
    st.binary(min_size=1, max_size=12).filter(
        lambda b: b"\0" not in b and b"/" not in b and b.strip(b".")
    )
)
def test_any_file_name_comes_back_from_its_uri(name: bytes) -> None:
    path = Path("/w") / os.fsdecode(name)
    assert path_of(path.as_uri()) == str(path)


def test_a_passing_copy_knows_its_origin() -> None:
    for uri in ("file:///a.py", "vscode-notebook-cell:/a.ipynb#W0sZmlsZQ"):
        assert selection_of(uri, 1) != selection_of(uri, 2)
        assert origin_of(selection_of(uri, 1)) == origin_of(uri) == uri
