from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goose_lsp.prompt.builder import Frozen, Prompt, build_prompt
from goose_lsp.prompt.fim import detect
from goose_lsp.prompt.frame import Surroundings
from goose_lsp.request import Edit, Point, Snippet
from goose_lsp.text.document import Document
from goose_lsp.text.notebook import Cell, CellKind, join_cells
from goose_lsp.tokenizer import Tokenizer
from tests.vocabularies import joining_tokenizer, marked_tokenizer, sentencepiece_tokenizer

PSM_TOKENS = ["<fim_prefix>", "<fim_suffix>", "<fim_middle>"]
SPM_TOKENS = ["<[fim-prefix]>", "<[fim-suffix]>", "<[fim-middle]>"]
PLAIN, PSM, SPM = (marked_tokenizer(tokens) for tokens in ([], PSM_TOKENS, SPM_TOKENS))
each_layout = pytest.mark.parametrize("tokenizer", [PLAIN, PSM, SPM], ids=["plain", "psm", "spm"])
LINE = "x = f(y)\n"


class Typist:
    """Types into a document and asks for a prompt after every edit."""

    def __init__(self, text: str, cursor: Point, tokenizer: Tokenizer, budget: int = 1000) -> None:
        self.document = Document("file:///a.py", 1, "python", text)
        self.cursor = cursor
        self.tokenizer = tokenizer
        self.budget = budget
        self.frozen: Frozen | None = None

    def ask(self) -> Prompt:
        around = Surroundings(self.document.snapshot(), self.cursor)
        fim = detect(self.tokenizer)
        prompt, self.frozen = build_prompt(around, self.tokenizer, fim, self.budget, self.frozen)
        again, _ = build_prompt(around, self.tokenizer, fim, self.budget, self.frozen)
        assert again == prompt  # what is kept for the next prompt gives this one too
        assert 0 < len(prompt.token_ids) <= self.budget
        return prompt

    def type(self, text: str) -> Prompt:
        self.document.apply(Edit(self.cursor, self.cursor, text))
        first, *further = text.split("\n")
        self.cursor = Point(self.cursor.line, self.cursor.column + len(first))
        if further:
            self.cursor = Point(self.cursor.line + len(further), len(further[-1]))
        return self.ask()

    def delete(self, n: int) -> Prompt:
        start = Point(self.cursor.line, self.cursor.column - n)
        self.document.apply(Edit(start, self.cursor, ""))
        self.cursor = start
        return self.ask()

    def parts(self, prompt: Prompt) -> list[str]:
        """The texts between the control tokens."""
        parts: list[list[int]] = [[]]
        for token in prompt.token_ids:
            if token in self.tokenizer.control_ids:
                parts.append([])
            else:
                parts[-1].append(token)
        return [self.tokenizer.decode(part) for part in parts]

    def prefix(self, prompt: Prompt) -> str:
        """The text before the cursor as the prompt tells it."""
        parts = self.parts(prompt)
        told = {PLAIN: parts[:1], PSM: parts[1::2], SPM: parts[2:3]}
        return "".join(told[self.tokenizer]) + prompt.held_back


def n_new(before: Prompt, after: Prompt) -> int:
    """Tokens of `after` that a cache of `before` does not hold."""
    n = 0
    for old, new in zip(before.token_ids, after.token_ids, strict=False):
        if old != new:
            break
        n += 1
    return len(after.token_ids) - n


def prompt_at_end(text: str, budget: int = 1000, tokenizer: Tokenizer = PLAIN) -> Prompt:
    document = Document("file:///a.py", 1, "python", text)
    last = document.n_lines - 1
    return Typist(text, Point(last, len(document.lines[last])), tokenizer, budget).ask()


def test_a_short_document_is_taken_whole_up_to_the_cursor() -> None:
    prompt = Typist("one\ntwo\nthree\n", Point(1, 2), PLAIN).ask()
    assert prompt == Prompt(PLAIN.encode("one\ntw"), "")


@pytest.mark.parametrize("line_end", ["\r\n", "\r"])
@each_layout
def test_line_ends_of_any_kind_reach_the_model_as_lf(tokenizer: Tokenizer, line_end: str) -> None:
    texts = (end.join(["one", "", "two", "three"]) for end in (line_end, "\n"))
    prompts = [Typist(text, Point(2, 2), tokenizer).ask() for text in texts]
    assert prompts[0] == prompts[1]


@pytest.mark.parametrize("tokenizer", [PLAIN, PSM, SPM, sentencepiece_tokenizer(PSM_TOKENS)])
@pytest.mark.parametrize("budget", [2, 8, 1000])
def test_an_empty_document_still_gives_the_model_something_to_continue(
    tokenizer: Tokenizer, budget: int
) -> None:
    assert prompt_at_end("", budget, tokenizer).token_ids


def test_a_cursor_past_the_end_means_the_end() -> None:
    assert Typist("one", Point(7, 7), PSM).ask() == Typist("one", Point(0, 3), PSM).ask()


def test_without_a_format_other_files_and_the_path_stand_before_the_text_as_comments() -> None:
    document = Document("file:///w/b.ts", 1, "typescript", "let y")
    around = Surroundings(document, Point(0, 5), "b.ts", "w", (Snippet("a.ts", "let x\n"),))
    prompt, _ = build_prompt(around, PLAIN, None, 1000)
    assert PLAIN.decode(prompt.token_ids) == "// a.ts\nlet x\n// b.ts\nlet y"


@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.text("ab \té\U0001f600<>", max_size=40), max_size=80),
    st.integers(1, 400),
    st.sampled_from([PLAIN, PSM, SPM]),
)
def test_a_prompt_tells_the_end_of_the_text_within_its_budget(
    lines: list[str], budget: int, tokenizer: Tokenizer
) -> None:
    text = "\n".join(lines)
    typist = Typist(text, Point(len(lines), 99), tokenizer, budget)
    told = "".join(typist.parts(typist.ask()))
    assert text.endswith(told) or told == "\n"


@pytest.mark.parametrize(
    "tokenizer", [PLAIN, PSM, SPM, joining_tokenizer()], ids=["plain", "psm", "spm", "joining"]
)
def test_a_line_of_megabytes_is_bounded_on_both_sides(tokenizer: Tokenizer) -> None:
    typist = Typist("ab " * 1_700_000, Point(0, 2_500_000), tokenizer, 400)
    first = typist.ask()
    assert n_new(first, typist.type("c")) <= 2


@each_layout
@settings(deadline=None, max_examples=40)
@given(
    n_before=st.integers(0, 199), n_after=st.integers(0, 99), typed=st.text("ab =\n", max_size=60)
)
def test_only_what_is_typed_is_new(
    tokenizer: Tokenizer, n_before: int, n_after: int, typed: str
) -> None:
    """But for the one time the window moves or a new anchor is due."""
    text = LINE * n_before + "\n" + LINE * n_after
    typist = Typist(text, Point(n_before, 0), tokenizer)
    prompts = [typist.ask(), *(typist.type(character) for character in typed)]
    n_moves = sum(n_new(before, after) > 2 for before, after in pairwise(prompts))
    assert n_moves <= (3 if tokenizer is PSM else 1)


def test_typing_behind_an_anchor_appends_ids_and_changes_none() -> None:
    typist = Typist("def f(\n    return 1\n", Point(0, 6), PSM)
    before = typist.ask()
    assert before.token_ids == [
        *(256, *PSM.encode("def f("), 257, *PSM.encode("\n    return 1\n"), 258)
    ]
    for n, character in enumerate(typed := "self, x):", start=1):
        assert typist.type(character).token_ids == before.token_ids + PSM.encode(typed[:n])


def test_brackets_that_the_editor_closes_are_no_news() -> None:
    typist = Typist("print\nnext\n", Point(0, 5), PSM)
    before = typist.ask()
    typist.document.apply(Edit(typist.cursor, typist.cursor, "()"))
    typist.cursor = Point(0, 6)
    assert typist.ask().token_ids == before.token_ids + PSM.encode("(")


def test_stepping_back_behind_the_anchor_moves_it_to_the_line_start_once() -> None:
    typist = Typist(f"{LINE * 50}value = one\n{LINE * 50}", Point(50, 11), PSM)
    typist.ask()
    prompts = [typist.delete(1), typist.delete(1), typist.delete(3), typist.type("t")]
    assert typist.parts(prompts[-1])[1::2] == [LINE * 50, "value t"]
    assert [n_new(before, after) for before, after in pairwise(prompts)] == [0, 0, 1]


def test_going_aside_reads_a_short_suffix_and_settling_there_the_long_one() -> None:
    typist = Typist(LINE * 100, Point(60, 0), PSM, 2000)
    typist.ask()
    typist.cursor = Point(40, 0)
    near = typist.ask()
    [_, _, suffix, _] = typist.parts(near)
    assert len(suffix) <= 125
    settled = [typist.type(character) for character in "ab" * 70][-1]
    [_, _, suffix, _] = typist.parts(settled)
    assert len(suffix) > 400


def test_an_edit_elsewhere_in_the_window_is_told() -> None:
    for tokenizer in (PLAIN, PSM, SPM):
        typist = Typist("import os\n\nx = 1\n", Point(2, 3), tokenizer)
        typist.ask()
        typist.document.apply(Edit(Point(0, 7), Point(0, 9), "sys"))
        assert "import sys" in "".join(typist.parts(typist.ask()))


edits = st.lists(
    st.tuples(
        st.sampled_from(["type", "delete", "go"]),
        st.text("ab( )\n", max_size=12),
        st.integers(0, 40),
        st.integers(0, 12),
    ),
    max_size=25,
)


@pytest.mark.parametrize("tokenizer", [PLAIN, PSM, SPM], ids=["plain", "psm", "spm"])
@settings(deadline=None, max_examples=60)
@given(edits=edits, budget=st.sampled_from([60, 300, 1000]))
def test_whatever_is_edited_the_prompt_tells_the_text_before_the_cursor(
    tokenizer: Tokenizer, edits: list[tuple[str, str, int, int]], budget: int
) -> None:
    """What a frozen prompt says equals what a fresh one says, wherever the anchor lies."""
    typist = Typist(LINE * 20, Point(10, 0), tokenizer, budget)
    for kind, text, line, column in edits:
        if kind == "type":
            prompt = typist.type(text)
        elif kind == "delete":
            prompt = typist.delete(min(column, typist.cursor.column))
        else:
            typist.cursor = typist.document.clamp(Point(line, column))
            prompt = typist.ask()
        told = typist.prefix(prompt)
        whole = "".join(typist.document.lines[: typist.cursor.line])
        whole += typist.document.lines[typist.cursor.line][: typist.cursor.column]
        assert whole.endswith(told) or (told, whole) == ("\n", "")
        assert len(told) >= min(len(whole), budget // 8)


@pytest.mark.parametrize("control_tokens", [[], PSM_TOKENS, SPM_TOKENS])
@settings(deadline=None)
@given(typed=st.text("ab= \n", min_size=1, max_size=12))
def test_tokens_and_what_is_held_back_make_up_the_text_in_every_layout(
    control_tokens: list[str], typed: str
) -> None:
    tokenizer = joining_tokenizer(control_tokens)
    typist = Typist("x = \n", Point(0, 4), tokenizer)
    typist.ask()
    prompt = typist.type(typed)
    parts = typist.parts(prompt)
    told = {0: parts[:1], 1: parts[1::2]}["<fim_prefix>" in control_tokens]
    told = parts[2:3] if control_tokens == SPM_TOKENS else told
    assert "".join(told) + prompt.held_back == f"x = {typed}"


def test_other_snippets_make_another_prompt() -> None:
    document = Document("file:///a.py", 1, "python", "x")
    around = Surroundings(document, Point(0, 1), "a.py", "", (Snippet("b.py", "b\n"),))
    fim = detect(PSM)
    _, frozen = build_prompt(around, PSM, fim, 1000)
    told, _ = build_prompt(
        replace(around, snippets=(Snippet("c.py", "c\n"),)), PSM, fim, 1000, frozen
    )
    assert "c.py" in PSM.decode(told.token_ids)
    assert "b.py" not in PSM.decode(told.token_ids)


def test_a_notebooks_other_cells_are_in_the_prompt_of_the_active_one() -> None:
    cells = [
        Cell(kind, Document(f"nb:/a.ipynb#{i}", 1, language, text))
        for i, (kind, language, text) in enumerate(
            [
                (CellKind.MARKUP, "markdown", "# Load"),
                (CellKind.CODE, "python", "df = load()"),
                (CellKind.CODE, "python", "df."),
                (CellKind.CODE, "python", "plot(df)"),
            ]
        )
    ]
    joined = join_cells(cells, 2, Point(0, 3))
    prompt, _ = build_prompt(Surroundings(*joined), PSM, detect(PSM), 1000)
    assert prompt.token_ids == [
        *(256, *PSM.encode("# # Load\n\ndf = load()\n\ndf."), 257, *PSM.encode("\n\nplot(df)")),
        258,
    ]
