import pytest

from benchmarks import latency
from goose_lsp.errors import GooseError


class Suggesting:
    """A server that suggests what is left of `texts` in turn, or forgets it once typed along."""

    def __init__(self, texts: list[str], *, forgets: bool = False) -> None:
        self.texts, self.forgets, self.left = ["", *texts], forgets, ""

    def notify(self, method: str, params: dict[str, object]) -> None:
        match params:
            case {"contentChanges": [{"text": str(typed)}]} if len(typed) == 1:
                self.left = "" if self.forgets else self.left.removeprefix(typed)
            case _:
                self.left = self.texts.pop(0) if self.texts else ""

    def request(self, method: str, params: object) -> dict[str, object]:
        return {"items": [{"insertText": self.left}] if self.left else []}


def test_every_character_but_the_last_is_typed_along() -> None:
    answers, typed = latency._type_along(Suggesting(["abc", "de\nf"]), 3, 2)  # type: ignore[arg-type]
    assert (len(answers), len(typed)) == (2, 3)


@pytest.mark.parametrize("server", [Suggesting([]), Suggesting(["abc"], forgets=True)])
def test_a_figure_without_suggestions_is_none(server: Suggesting) -> None:
    with pytest.raises(GooseError):
        latency._type_along(server, 3, 1)  # type: ignore[arg-type]


def test_shares_of_times() -> None:
    assert latency.shares([5.0]) == {"p50": 5.0, "p95": 5.0}
    assert latency.shares([float(n) for n in range(1, 101)])["p50"] == 50.5
