"""News reaches the daemon in order, whatever happens to single messages."""

import asyncio

import pytest

from goose_lsp.lsp.outbox import Outbox, Send


def test_news_is_sent_in_order_although_the_first_takes_longest() -> None:
    async def scenario() -> list[str]:
        sent: list[str] = []
        gate = asyncio.Event()
        outbox = Outbox()
        outbox.put(recording(sent, "open", gate))
        outbox.put(recording(sent, "change"))
        waiting = asyncio.create_task(outbox.drained())
        await asyncio.sleep(0)
        assert not waiting.done()
        gate.set()
        await waiting
        return sent

    assert asyncio.run(scenario()) == ["open", "change"]


def test_news_that_fails_does_not_stop_what_follows(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> list[str]:
        sent: list[str] = []
        outbox = Outbox()
        outbox.put(failing)
        outbox.put(recording(sent, "change"))
        await outbox.drained()
        return sent

    assert asyncio.run(scenario()) == ["change"]
    assert "was not told" in caplog.text


def test_someone_who_stops_waiting_stops_nothing() -> None:
    async def scenario() -> list[str]:
        sent: list[str] = []
        gate = asyncio.Event()
        outbox = Outbox()
        outbox.put(recording(sent, "open", gate))
        waiting = asyncio.create_task(outbox.drained())
        await asyncio.sleep(0)
        waiting.cancel()
        gate.set()
        await outbox.drained()
        return sent

    assert asyncio.run(scenario()) == ["open"]


def recording(sent: list[str], name: str, gate: asyncio.Event | None = None) -> Send:
    async def send() -> None:
        if gate is not None:
            await gate.wait()
        sent.append(name)

    return send


async def failing() -> None:
    raise OSError("no daemon")
