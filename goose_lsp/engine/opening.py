"""Making the model's text begin with what the prompt left out: it shares a token with what follows."""

from collections.abc import Callable, Sequence


class Opening:
    """Chooses tokens until `left`, the text still owed, is written. Has one owner.

    A draft changes nothing here: the choice depends on what the target wants most alone.
    """

    def __init__(self, text: str, piece: Callable[[int], str]) -> None:
        self.left = text
        self._piece = piece  # a token's text

    def choose(self, token_ids: Sequence[int]) -> int:
        """The first of the target's best tokens, best first, that goes on with what is owed; else simply the best."""
        for token in token_ids:
            text = self._piece(token)
            if text and (text.startswith(self.left) or self.left.startswith(text)):
                self.left = self.left[len(text) :]
                return token
        self.left = ""
        return token_ids[0]
