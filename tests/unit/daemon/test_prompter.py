import numpy as np

from goose_lsp.daemon.completer import Ask
from goose_lsp.daemon.prompter import Prompter
from goose_lsp.index.live import LiveStore, folders_of
from goose_lsp.index.overlay import Overlay
from goose_lsp.request import Point
from goose_lsp.text.document import Document
from tests.vocabularies import marked_tokenizer

TOKENIZER = marked_tokenizer([])
FIM = marked_tokenizer(
    [
        "<|fim_prefix|>",
        "<|fim_middle|>",
        "<|fim_suffix|>",
        "<|endoftext|>",
        "<|repo_name|>",
        "<|file_sep|>",
    ]
)
HELPER = "def checksum(block):\n    return sum(block)\n"


def live(**opened: str) -> LiveStore:
    overlay = Overlay()
    for name, text in opened.items():
        overlay.put(f"/w/{name}.py", np.array(TOKENIZER.encode(text), np.int32))
    return LiveStore(overlay.view(), (), tuple(overlay.delta_paths), *folders_of(()), ("/w",))


def ask(text: str, store: LiveStore | None = None, *, is_isolated: bool = False) -> Ask:
    point = Point(text.count("\n"), len(text) - text.rfind("\n") - 1)
    document = Document("file:///w/a.py", 1, "python", text)
    return Ask(document, point, is_isolated=is_isolated, store=store, path="/w/a.py")


def test_without_a_workspace_the_prompt_is_the_text_before_the_cursor() -> None:
    prompt = Prompter(TOKENIZER, has_snippets=True).prompt(ask("x = 1\ny ="), 100)
    assert TOKENIZER.decode(prompt.token_ids) == "x = 1\ny ="


def test_useful_lines_of_other_files_come_first_where_they_are_wanted() -> None:
    text = "value = checksum(data)\n" * 10 + "print("
    others = {f"other{i}": f"class Other{i}:\n    pass\n" * 20 for i in range(8)}
    store = live(helper=HELPER, a=text, **others)
    with_them = Prompter(TOKENIZER, has_snippets=True).prompt(ask(text, store), 2000)
    without = Prompter(TOKENIZER, has_snippets=False).prompt(ask(text, store), 2000)
    assert "return sum(block)" in TOKENIZER.decode(with_them.token_ids)
    assert "return sum(block)" not in TOKENIZER.decode(without.token_ids)


def test_an_isolated_request_sees_no_workspace() -> None:
    prompter = Prompter(TOKENIZER, has_snippets=True)
    asked = ask("value = checksum(", live(helper=HELPER), is_isolated=True)
    assert "sum(block)" not in TOKENIZER.decode(prompter.prompt(asked, 2000).token_ids)
    assert len(prompter.store(asked).delta.segment.tokens) == 0


def test_a_model_with_a_format_gets_it_and_ends_at_its_tokens() -> None:
    prompter = Prompter(FIM, has_snippets=False)
    assert prompter.fim is not None
    prompt = prompter.prompt(ask("x = 1\ny ="), 200)
    assert FIM.id_of("<|fim_middle|>") in prompt.token_ids
    assert prompter.end_ids >= prompter.fim.stop_ids


def test_typing_only_adds_to_the_prompt() -> None:
    prompter = Prompter(FIM, has_snippets=False)
    before = prompter.prompt(ask("x = 1\ny ="), 200).token_ids
    after = prompter.prompt(ask("x = 1\ny = "), 200).token_ids
    assert after[: len(before)] == before


def test_drafting_is_told_what_the_workspace_holds_behind_the_cursor() -> None:
    prompter = Prompter(TOKENIZER, has_snippets=False)
    asked = ask("total = checks", live(helper=HELPER + "total = checksum(block)\n"))
    prompt, store = prompter.prompt(asked, 100), prompter.store(asked)
    found = prompter.bridges(asked, prompt, store)
    assert TOKENIZER.decode(found[0]).endswith("total = checksum(block)\n")
    assert prompter.bridges(ask("total = checks"), prompt, store) == []
