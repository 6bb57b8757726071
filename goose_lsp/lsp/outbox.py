"""News for the daemon, sent in order by one task, so that no editor message waits for a socket."""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable

logger = logging.getLogger(__name__)

Send = Callable[[], Awaitable[None]]


class Outbox:
    """Used on one event loop only."""

    def __init__(self) -> None:
        self._waiting: deque[Send] = deque()
        self._task: asyncio.Task[None] | None = None

    def put(self, send: Send) -> None:
        self._waiting.append(send)
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._send_all())

    async def drained(self) -> None:
        """Return once everything put before has been sent; cancelling the caller stops nothing."""
        while self._task is not None and not self._task.done():
            await asyncio.shield(self._task)

    async def _send_all(self) -> None:
        while self._waiting:
            send = self._waiting.popleft()
            try:
                await send()
            except Exception:
                logger.exception("the daemon was not told of a change")
