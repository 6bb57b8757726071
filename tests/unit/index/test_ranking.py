from goose_lsp.index.imports import Imports
from goose_lsp.index.ranking import Viewpoint, rank
from goose_lsp.index.windows import WINDOW_TOKENS, Window

NOWHERE = Imports(frozenset(), frozenset())
LONG = 10_000


FILES = ["lib/b.py", "lib/c.py", "app/c.py"]


def window(path: str, start: int, score: float = 1.0) -> Window:
    file_idx = FILES.index(path)
    first = file_idx * LONG
    start += first
    return Window(path, False, file_idx, first, first + LONG, start, start + WINDOW_TOKENS, score)


def ranked(
    *windows: Window, imports: Imports = NOWHERE, recent: tuple[tuple[str, int], ...] = ()
) -> list[str]:
    viewpoint = Viewpoint("app/a.py", imports, recent)
    return [found.path for found in rank(windows, viewpoint, lambda _window: 100)]


def test_imports_nearness_and_recent_edits_count() -> None:
    far, near = window("lib/b.py", 0), window("app/c.py", 0)
    assert ranked(far, near) == ["app/c.py", "lib/b.py"]
    assert ranked(far, near, imports=Imports(frozenset({"lib/b"}), frozenset())) == [
        "lib/b.py",
        "app/c.py",
    ]
    assert ranked(far, near, recent=(("lib/b.py", 105),)) == ["lib/b.py", "app/c.py"]
    assert ranked(far, near, recent=(("lib/b.py", 900),)) == ["app/c.py", "lib/b.py"]


def test_windows_that_touch_become_one() -> None:
    (found,) = rank(
        [window("lib/b.py", 1000), window("lib/b.py", 1000 + WINDOW_TOKENS // 2, 0.9)],
        Viewpoint("a.py", NOWHERE, ()),
        lambda _window: 0,
    )
    assert found.stop - found.start > WINDOW_TOKENS


def test_what_has_little_in_common_is_left_out() -> None:
    assert ranked(window("lib/b.py", 0), window("lib/c.py", 0, 0.1)) == ["lib/b.py"]
    assert ranked() == []
