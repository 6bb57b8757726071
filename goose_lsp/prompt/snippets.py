"""Which of the offered snippets a prompt takes: each line of another file at most once."""

from collections.abc import Iterable

from goose_lsp.request import Snippet

# One line in common, often a lone bracket, does not make two places one; two lines do.
MIN_OVERLAP_LINES = 2


def merge_snippets(snippets: Iterable[Snippet], own_path: str) -> list[Snippet]:
    """In the given order, without the document's own file; texts that overlap are joined.

    A joined text stands where the first of its pieces stood. Every text ends with a line end.
    """
    merged: list[Snippet] = []
    for snippet in snippets:
        if snippet.path == own_path or not snippet.text.strip():
            continue
        text = snippet.text if snippet.text.endswith("\n") else f"{snippet.text}\n"
        _add(merged, Snippet(snippet.path, text))
    return merged


def _add(merged: list[Snippet], snippet: Snippet) -> None:
    """Join `snippet` with whatever it overlaps; what grew by that may reach a further one."""
    place = len(merged)
    i = 0
    while i < len(merged):
        other = merged[i]
        joined = _joined(other.text, snippet.text) if other.path == snippet.path else None
        if joined is None:
            i += 1
            continue
        del merged[i]
        place, i = min(place, i), 0
        snippet = Snippet(snippet.path, joined)
    merged.insert(place, snippet)


def _joined(first: str, second: str) -> str | None:
    """Both texts with what they share once; None where they do not overlap."""
    one, two = first.splitlines(keepends=True), second.splitlines(keepends=True)
    for outer, inner in ((one, two), (two, one)):
        if _contains(outer, inner):
            return "".join(outer)
    for head, tail in ((one, two), (two, one)):
        for n in range(min(len(head), len(tail)), MIN_OVERLAP_LINES - 1, -1):
            if head[-n:] == tail[:n]:
                return "".join(head + tail[n:])
    return None


def _contains(outer: list[str], inner: list[str]) -> bool:
    n = len(inner)
    return any(outer[i : i + n] == inner for i in range(len(outer) - n + 1))
