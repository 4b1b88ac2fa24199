"""Connections to services of a guest, through its agent, and what its services are."""

from __future__ import annotations

from collections.abc import Sequence

from openboxd.errors import Interrupted, InvalidArgument
from openboxd.guest import wire
from openboxd.guest.call import Call
from openboxd.guest.channel import Channel
from openboxd.guest.connection import Connection
from openboxd.guest.refusals import raise_refusal

WINDOW = 128 * 1024
"""Bytes that may wait here for a slow client of one connection."""

DATAGRAM_WINDOW = 256 * 1024
"""The same for datagrams: the agent sends one only when there is room for the largest."""

PREFIX = 2
"""Bytes of a datagram's length, which go before it."""


class GuestConnection(Connection):
    """Implements ports.GuestConnection."""

    def __init__(self, call: Call, label: str, port: int) -> None:
        super().__init__(call, label, "reset", f"the service on port {port} cut the connection off")

    def close(self) -> None:
        self._call.reset()


class GuestDatagrams:
    """Implements ports.GuestDatagrams."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._rest = b""

    async def receive(self) -> bytes | None:
        while True:
            end = PREFIX + int.from_bytes(self._rest[:PREFIX], "big")
            if PREFIX <= end <= len(self._rest):
                datagram, self._rest = self._rest[PREFIX:end], self._rest[end:]
                return datagram
            piece = await self._call.read()
            if not piece:
                return None
            self._rest += piece

    async def send(self, datagram: bytes) -> None:
        await self._call.send(wire.DATA, len(datagram).to_bytes(PREFIX, "big") + datagram)

    def close(self) -> None:
        self._call.reset()


async def dial(channel: Channel, port: int) -> GuestConnection:
    """Connect to a port on the guest's loopback.

    Raises:
        InvalidArgument: no port has that number.
        WrongState: nothing answers there.
        Unavailable, Interrupted: the agent is not there.
    """
    call = await _connected(channel, "dial", port, WINDOW)
    return GuestConnection(call, channel.label, port)


async def datagrams(channel: Channel, port: int) -> GuestDatagrams:
    """A socket of its own for datagrams to a port on the guest's loopback.

    Raises:
        InvalidArgument: no port has that number.
        NotSupported: the agent is older than this.
        Unavailable, Interrupted: the agent is not there.
    """
    return GuestDatagrams(await _connected(channel, "datagrams", port, DATAGRAM_WINDOW))


async def _connected(channel: Channel, request: str, port: int, window: int) -> Call:
    """A stream that the agent has said to be connected."""
    if not 0 < port < 65536:
        raise InvalidArgument(f"{port} is no port; ports go from 1 to 65535")
    call = channel.epoch.open({"op": request, "port": port}, window=window)
    try:
        if await call.control() is None:
            raise_refusal(call.result or {}, channel.label)
            raise Interrupted(f"machine {channel.label}: the connection to port {port} was cut off")
    except BaseException:
        call.reset()
        raise
    call.patient = True
    return call


async def listeners(channel: Channel) -> Sequence[int]:
    """TCP ports somebody listens on in the guest, lowest first."""
    call = channel.epoch.open({"op": "listeners"})
    try:
        result = await call.finished()
    finally:
        call.reset()
    raise_refusal(result, channel.label)
    ports = result.get("ports")
    found = ports if isinstance(ports, list) else []
    return sorted({port for port in found if isinstance(port, int) and 0 < port < 65536})
