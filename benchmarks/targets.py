"""The two targets a policy is measured on: the model itself, and a recording of it."""

from collections.abc import Iterator, Sequence
from functools import partial
from time import perf_counter

from benchmarks.common import n_common
from benchmarks.prompts import Prompt
from benchmarks.streams import Recording, Stream
from goose_lsp.cancel import CancelToken
from goose_lsp.draft.budget import StepCost
from goose_lsp.draft.tree import DraftTree
from goose_lsp.engine.decode import DecodeLimits
from goose_lsp.engine.forward import Forward, Scored
from goose_lsp.engine.verify import Target

N_HARVESTED = DecodeLimits(0, 0, frozenset()).n_harvested


class LiveTarget(Target):
    """A model that runs each prompt once, whoever decodes it, and can record all its passes.

    A prompt's slots and scores are the same for every policy, so that only decoding is repeated.
    """

    def __init__(self, forward: Forward, top_k: int, recording: Recording | None = None) -> None:
        super().__init__(forward, top_k)
        self.recording = recording
        self.clock = perf_counter
        self._prompt_rows: list[tuple[int, Scored]] | None = None
        self._passes: list[tuple[int, DraftTree, Scored]] = []

    def begin(self, prompt: Prompt) -> None:
        """Go over to another prompt."""
        self.clear()
        self._prompt_rows = None
        self._passes = []

    def prefill(
        self, token_ids: Sequence[int], cancel: CancelToken, n_scored: int = 0
    ) -> Iterator[tuple[int, Scored]]:
        if self._prompt_rows is None:
            self._prompt_rows = list(super().prefill(token_ids, cancel, N_HARVESTED))
        assert self.n_cached == len(token_ids), "begin comes before another prompt"
        yield from self._prompt_rows if n_scored else ()

    def verify(self, tree: DraftTree) -> Scored:
        scored = super().verify(tree)
        if self.recording is not None:
            self._passes.append((self.n_cached + 1, tree, scored))
        return scored

    def end_run(self, prompt: Prompt, token_ids: Sequence[int]) -> None:
        """Record the passes of a run that gave these tokens; the first run of a prompt is plain."""
        if self.recording is None:
            return
        stream = self.recording.find(prompt.set_name, prompt.token_ids)
        if stream is None:
            stream = self._new_stream(prompt, self.recording)
            self.recording.start(stream)
        # Where a run left plain decoding's path, its rows belong to another text.
        n_valid = len(prompt.token_ids) + n_common(list(token_ids), stream.choices)
        for n_context, tree, scored in self._passes:
            if n_context <= n_valid:
                stream.add(n_context, tree, scored)
        self._passes = []

    def _new_stream(self, prompt: Prompt, recording: Recording) -> Stream:
        rows = self._prompt_rows or []
        return Stream(
            prompt.set_name,
            prompt.token_ids,
            prompt.max_new_tokens,
            recording.end_ids[0] if recording.end_ids else 0,
            self._top_k,
            choices=[scored.choices[0] for _, _, scored in self._passes],
            prompt_start=rows[0][0] if rows else 0,
            prompt_rows=[scored for _, scored in rows],
        )


class ReplayTarget:
    """What a decoder uses of a `Target`, answered from a recording.

    `clock` runs as if every pass had taken the recorded T(n), so that rates come out as they would on the
    machine of the recording; drafting and learning take the time they take here.
    """

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.max_tokens = self.max_rows = recording.max_tokens
        self.n_vocab = 1 << 31  # which tokens exist, a recording does not say
        self.n_cached = 0
        self.n_rows = self.n_unknown = 0
        self._cost = StepCost(tuple(recording.sizes), tuple(recording.times_ms))
        self._skew_s = 0.0
        self._stream: Stream | None = None

    def clock(self) -> float:
        return perf_counter() + self._skew_s

    def begin(self, prompt: Prompt) -> None:
        self._stream = self.recording.find(prompt.set_name, prompt.token_ids)
        assert self._stream is not None, "the prompt is one of the recording's"

    def reuse(self, token_ids: Sequence[int]) -> int:
        del token_ids
        self.n_cached = 0
        return 0

    def prefill(
        self, token_ids: Sequence[int], cancel: CancelToken, n_scored: int = 0
    ) -> Iterator[tuple[int, Scored]]:
        del cancel
        assert self._stream is not None
        self.n_cached = len(token_ids)
        start = self._stream.prompt_start
        for scored in self._stream.prompt_rows if n_scored else ():
            yield start, scored
            start += len(scored.choices)

    def verify(self, tree: DraftTree) -> Scored:
        assert self._stream is not None
        began = perf_counter()
        scored = self._stream.look_up(self.n_cached + 1, tree)
        self.n_rows += len(tree)
        self.n_unknown += int((scored.top_probabilities[:, 0] == 0).sum())
        self._skew_s += self._cost.at(len(tree)) / 1e3 - (perf_counter() - began)
        return scored

    def commit(self, tree: DraftTree, nodes: Sequence[int]) -> None:
        del tree
        self.n_cached += 1 + len(nodes)

    def end_run(self, prompt: Prompt, token_ids: Sequence[int]) -> None:
        pass


def replay_prompts(recording: Recording) -> list[Prompt]:
    """The recorded prompts; each stops where its recording does."""

    def stop_after(n_tokens: int, token_ids: Sequence[int]) -> bool:
        return len(token_ids) >= n_tokens

    recording.put_away()
    return [
        Prompt(
            set_name,
            list(prompt_ids),
            int(arrays["numbers"][0]),
            partial(stop_after, len(arrays["choices"])),
        )
        for (set_name, prompt_ids), arrays in recording.packed.items()
    ]
