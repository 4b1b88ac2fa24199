"""A connection between the daemon and a process of the guest, whoever has made it."""

from __future__ import annotations

from openboxd.errors import Interrupted
from openboxd.guest import wire
from openboxd.guest.call import Call


class Connection:
    """Implements ports.GuestConnection but for `close`.

    Args:
        call: the stream that carries it.
        label: names the machine in errors.
        cut: what the call's result holds if the connection was cut off rather than ended.
        cut_text: what that means, for people.
    """

    def __init__(self, call: Call, label: str, cut: str, cut_text: str) -> None:
        self._call, self._label = call, label
        self._cut, self._cut_text = cut, cut_text

    async def read(self) -> bytes:
        data = await self._call.read()
        if not data and (self._call.result or {}).get(self._cut):
            raise Interrupted(f"machine {self._label}: {self._cut_text}")
        return data

    async def write(self, data: bytes) -> None:
        await self._call.send(wire.DATA, data)

    def write_eof(self) -> None:
        self._call.send_eof()
