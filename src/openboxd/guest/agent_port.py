"""One connection to the agent port: bytes in, records out, and how much waits to be sent."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol

from openboxd.guest import wire

WRITE_HIGH = 256 * 1024


class Reader(Protocol):
    """Who is told what comes."""

    def received(self, records: Sequence[wire.Record], nonsense: bool, dropped: int = 0) -> None: ...
    def lost(self, connection: AgentPort) -> None: ...


class AgentPort(asyncio.Protocol):
    """The connection, as asyncio serves it; everything is read at once."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._parser = wire.Parser(hunting=True)
        self._writable = asyncio.Event()
        self._writable.set()
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.set_write_buffer_limits(high=WRITE_HIGH)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        before = self._parser.dropped
        records = self._parser.feed(data)
        self._reader.received(records, self._parser.hunting, self._parser.dropped - before)

    def connection_lost(self, exc: Exception | None) -> None:
        self._writable.set()
        self._reader.lost(self)

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    async def writable(self) -> None:
        await self._writable.wait()

    def write(self, data: bytes) -> int:
        """Queue; how many bytes are queued now."""
        if self._transport is None or self._transport.is_closing():
            return 0
        self._transport.write(data)
        return self._transport.get_write_buffer_size()

    def close(self) -> None:
        self._writable.set()
        if self._transport is not None:
            self._transport.abort()  # what is still queued belongs to an epoch that is over
