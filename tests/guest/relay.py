"""QEMU's part between the daemon and the agent: takes connections one after the other and passes bytes on, while the
agent's end stays open. Tests can add bytes, swallow them, or hang up."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path


class Relay:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.connections = 0
        self.stale = b""  # sent to whoever connects next, before anything else
        self.cut_after = -1  # bytes of the agent to let pass before the next are swallowed
        self._daemon: asyncio.StreamWriter | None = None
        self._agent: asyncio.StreamWriter | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        self._server = await asyncio.start_unix_server(self._connected, self.path)

    async def plug(self) -> int:
        """A new agent's end; the descriptor to hand to it (and to close)."""
        if self._agent is not None:
            self._agent.close()
        ours, theirs = socket.socketpair()
        reader, self._agent = await asyncio.open_unix_connection(sock=ours)
        self._go(self._from_agent(reader))
        return theirs.detach()

    def _go(self, work: asyncio.coroutines.Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._daemon = writer
        writer.write(self.stale)
        self.stale = b""
        try:
            while data := await reader.read(1 << 16):
                if self._agent is not None:
                    self._agent.write(data)
                    await self._agent.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()

    async def _from_agent(self, reader: asyncio.StreamReader) -> None:
        while data := await reader.read(1 << 16):
            if self.cut_after >= 0:
                data, self.cut_after = data[: self.cut_after], max(0, self.cut_after - len(data))
            if self._daemon is not None and not self._daemon.is_closing():
                self._daemon.write(data)

    def to_agent(self, data: bytes) -> None:
        assert self._agent is not None
        self._agent.write(data)

    def to_daemon(self, data: bytes) -> None:
        assert self._daemon is not None
        self._daemon.write(data)

    def hang_up(self) -> None:
        """On the daemon; the agent does not notice."""
        if self._daemon is not None:
            self._daemon.close()
            self._daemon = None

    async def stop(self) -> None:
        self.hang_up()
        if self._agent is not None:
            self._agent.close()
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
