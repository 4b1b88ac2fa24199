"""A connection that a process of the guest has made to a door of the daemon, through the agent."""

from __future__ import annotations

from openboxd.errors import Interrupted
from openboxd.guest import wire
from openboxd.guest.call import Call


class Visit:
    """Implements ports.GuestConnection."""

    def __init__(self, call: Call, label: str) -> None:
        self._call = call
        self._label = label

    async def read(self) -> bytes:
        data = await self._call.read()
        if not data and (self._call.result or {}).get("error"):
            raise Interrupted(f"machine {self._label}: the process that had made the connection is gone")
        return data

    async def write(self, data: bytes) -> None:
        await self._call.send(wire.DATA, data)

    def write_eof(self) -> None:
        self._call.send_eof()

    def close(self) -> None:
        self._call.conclude()
