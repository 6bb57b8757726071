"""Asking running work to stop, from another thread, without a lock."""

from collections.abc import Callable
from time import monotonic

from goose_lsp.errors import CancelledError


class CancelToken:
    """Set by the asking side, polled by the working side between steps.

    `deadline_s` is a point on `clock`'s scale after which the token counts as cancelled.
    """

    __slots__ = ("_cancelled", "_clock", "_deadline_s")

    def __init__(
        self, deadline_s: float | None = None, clock: Callable[[], float] = monotonic
    ) -> None:
        self._cancelled = False
        self._deadline_s = deadline_s
        self._clock = clock

    def cancel(self) -> None:
        self._cancelled = True

    def follow(self, other: "CancelToken") -> None:
        """The other's deadline, on the same clock, takes the place of this one's."""
        self._deadline_s = other._deadline_s

    @property
    def is_cancelled(self) -> bool:
        return self._cancelled or self.is_expired

    @property
    def is_expired(self) -> bool:
        return self._deadline_s is not None and self._clock() >= self._deadline_s

    def check(self) -> None:
        """Raise `CancelledError` if asked to stop."""
        if self.is_cancelled:
            raise CancelledError("deadline passed" if not self._cancelled else "cancelled")
