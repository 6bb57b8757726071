"""What a request's prompt and drafts are made of: the document, its past prompts, and the workspace."""

import os
from collections import OrderedDict

import numpy as np
import numpy.typing as npt

from goose_lsp.daemon.completer import Ask
from goose_lsp.draft.store import StoreView, empty_view
from goose_lsp.index.bridge import bridges
from goose_lsp.index.retrieve import Retriever
from goose_lsp.index.windows import NamedStore
from goose_lsp.prompt.builder import Frozen, Prompt, build_prompt
from goose_lsp.prompt.fim import FimFormat, detect
from goose_lsp.prompt.frame import Surroundings
from goose_lsp.request import Snippet
from goose_lsp.tokenizer import Tokenizer

# Documents whose last prompt is remembered; about as many contexts are kept warm.
_MAX_FROZEN = 16
_SNIPPET_TOKENS = 256


class Prompter:
    """Used by the inference thread."""

    def __init__(self, tokenizer: Tokenizer, *, has_snippets: bool) -> None:
        self.fim: FimFormat | None = detect(tokenizer)
        self._tokenizer = tokenizer
        self._retriever = Retriever(tokenizer) if has_snippets else None
        self._token_bytes: npt.NDArray[np.int32] = tokenizer.byte_lengths()
        self._frozen: OrderedDict[str, Frozen] = OrderedDict()

    @property
    def end_ids(self) -> frozenset[int]:
        """Tokens at which a completion ends."""
        return self._tokenizer.control_ids | (self.fim.stop_ids if self.fim else frozenset())

    def prompt(self, ask: Ask, budget: int) -> Prompt:
        """At most `budget` tokens; an isolated request's owes nothing to those before it."""
        around = Surroundings(ask.document, ask.point, *self._place(ask), self._snippets(ask))
        if ask.is_isolated:
            return build_prompt(around, self._tokenizer, self.fim, budget)[0]
        uri = ask.document.uri
        prompt, self._frozen[uri] = build_prompt(
            around, self._tokenizer, self.fim, budget, self._frozen.get(uri)
        )
        self._frozen.move_to_end(uri)
        if len(self._frozen) > _MAX_FROZEN:
            self._frozen.popitem(last=False)
        return prompt

    def store(self, ask: Ask) -> StoreView:
        """The workspace as drafting sees it from the cursor."""
        if ask.store is None or ask.is_isolated:
            return empty_view()
        return ask.store.seen_from(ask.path, ask.document, ask.point, self._token_bytes)

    def bridges(self, ask: Ask, prompt: Prompt, store: StoreView) -> list[list[int]]:
        """Places of the store as they read behind this prompt."""
        if ask.store is None or ask.is_isolated:
            return []
        return bridges(store, prompt.token_ids, prompt.held_back, self._tokenizer)

    def _place(self, ask: Ask) -> tuple[str, str]:
        """The document's path in its workspace folder, and the folder's name; told to models that know such."""
        if self.fim is None or ask.store is None:
            return "", ""
        return _in_workspace(ask.path, ask.store.roots)

    def _snippets(self, ask: Ask) -> tuple[Snippet, ...]:
        if self._retriever is None or ask.store is None or ask.is_isolated or not ask.path:
            return ()
        store = NamedStore(ask.store.view, ask.store.paths)
        found = self._retriever.snippets(store, ask.document, ask.point, ask.path, _SNIPPET_TOKENS)
        roots = ask.store.roots
        return tuple(Snippet(_in_workspace(s.path, roots)[0] or s.path, s.text) for s in found)


def _in_workspace(path: str, roots: tuple[str, ...]) -> tuple[str, str]:
    """The path below its workspace folder, and the folder's name; empty outside all of them."""
    for root in roots:
        if path.startswith(root + os.sep):
            return os.path.relpath(path, root).replace(os.sep, "/"), os.path.basename(root)
    return "", ""
