from collections.abc import Mapping

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from goose_lsp.index.overlay import Overlay
from goose_lsp.index.retrieve import Retriever
from goose_lsp.index.windows import NamedStore
from goose_lsp.request import Point, Snippet
from goose_lsp.text.document import Document
from tests.vocabularies import marked_tokenizer

TOKENIZER = marked_tokenizer([])
HELPER = "def checksum(block):\n    return sum(block) % 255\n"
FILLER = {f"other{i}.py": f"class Other{i}:\n    pass\n" * 20 for i in range(8)}
CURRENT = "value = checksum(data)\n" * 9 + "print("


def store_of(files: Mapping[str, str]) -> NamedStore:
    overlay = Overlay()
    for path, text in files.items():
        overlay.put(path, np.array(TOKENIZER.encode(text), np.int32))
    return NamedStore(overlay.view(), tuple(overlay.delta_paths))


def ask(
    retriever: Retriever, files: Mapping[str, str], text: str = CURRENT, budget: int = 200
) -> tuple[Snippet, ...]:
    document = Document("file:///w/a.py", 1, "python", text)
    cursor = Point(document.n_lines - 1, len(document.lines[-1]))
    return retriever.snippets(store_of(files), document, cursor, "a.py", budget)


def test_the_definition_of_a_name_used_here_is_found() -> None:
    (snippet, *_) = ask(Retriever(TOKENIZER), {**FILLER, "helper.py": HELPER, "a.py": CURRENT})
    assert (snippet.path, snippet.text) == ("helper.py", HELPER)


def test_typing_on_a_line_changes_nothing() -> None:
    retriever = Retriever(TOKENIZER)
    files = {**FILLER, "helper.py": HELPER, "a.py": CURRENT}
    first = ask(retriever, files)
    assert ask(retriever, {**files, "a.py": CURRENT + "x"}, CURRENT + "x") is first


def test_a_changed_source_is_read_again() -> None:
    retriever = Retriever(TOKENIZER)
    files = {**FILLER, "helper.py": HELPER, "a.py": CURRENT}
    ask(retriever, files)
    changed = HELPER.replace("255", "256")
    assert ask(retriever, {**files, "helper.py": changed})[0].text == changed


def test_lines_of_the_current_document_are_never_shown() -> None:
    copy = "value = checksum(data)\n" * 9
    found = ask(Retriever(TOKENIZER), {**FILLER, "copy.py": copy, "a.py": CURRENT})
    assert not any("value = checksum(data)" in snippet.text for snippet in found)


def test_an_empty_store_has_no_snippets() -> None:
    assert ask(Retriever(TOKENIZER), {}) == ()


@given(st.integers(0, 120), st.integers(0, 12))
def test_no_number_of_files_exceeds_the_budget_or_shows_a_line_twice(budget: int, n: int) -> None:
    files = {f"h{i}.py": f"def checksum{i}(data):\n    return {i}\n" + HELPER for i in range(n)}
    found = ask(Retriever(TOKENIZER), {**FILLER, **files, "a.py": CURRENT}, budget=budget)
    assert sum(len(TOKENIZER.encode(f"{s.path}\n{s.text}")) for s in found) <= budget
    lines = [
        line.strip() for snippet in found for line in snippet.text.splitlines() if len(line) > 4
    ]
    assert all(
        lines.count(line) == 1 for line in lines if "checksum" in line and "(block)" not in line
    )
