"""Two sockets made one: what comes in at either goes out at the other, at the pace of the slower one.

An end of data is passed on in its direction alone, as TCP does, and once both directions have ended both sockets are
closed. TLS cannot end one direction: there an end is the end of both.
"""

from __future__ import annotations

import asyncio

HELD = 128 * 1024
"""Bytes that wait for a slow reader before its writer is made to wait, in each direction."""

LINGER = 30.0
"""Seconds that a side gets to take what was sent to it before the other one left, or the server had enough."""


class Side(asyncio.Protocol):
    """One of the two sockets; it begins to read when both are there.

    Once a `decisive` side has ended its direction, the other one has `LINGER` seconds to end too: a server that has
    closed its connection looks just like one that ended its half.
    """

    def __init__(self, *, decisive: bool) -> None:
        self.other: Side = self
        self.lost = asyncio.Event()
        self._transport: asyncio.Transport | None = None
        self._decisive = decisive
        self._ended = False
        self._closing = False
        self._abort: asyncio.TimerHandle | None = None

    # -- what the loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.set_write_buffer_limits(high=HELD)
        if self.other._transport is None:
            transport.pause_reading()
        else:
            self.other.set_reading(True)

    def data_received(self, data: bytes) -> None:
        self.other.send(data)

    def pause_writing(self) -> None:
        self.other.set_reading(False)

    def resume_writing(self) -> None:
        self.other.set_reading(True)

    def eof_received(self) -> bool:
        self._ended = True
        if self.other._ended:
            self.other.close()
            return False
        if self._decisive:
            self.other.abort_later()
        # True keeps our own way out open. Without one, with TLS, the loop closes us, and so the other.
        return self.other.send_end() and self._transport is not None and self._transport.can_write_eof()

    def connection_lost(self, error: Exception | None) -> None:
        if self._abort is not None:
            self._abort.cancel()
        self.lost.set()
        self.other.close()

    # -- what the other side calls

    def set_reading(self, on: bool) -> None:
        """Take more from the peer, or leave it waiting."""
        if self._transport is not None and not self._transport.is_closing():
            (self._transport.resume_reading if on else self._transport.pause_reading)()

    def send(self, data: bytes) -> None:
        """Pass data on to the peer; one that is leaving gets none."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    def send_end(self) -> bool:
        """Tell the peer that no more will come; False if that took the whole connection down."""
        if self._transport is None or self._transport.is_closing():
            return False
        if self._transport.can_write_eof():
            self._transport.write_eof()
            return True
        self.close()
        return False

    def close(self) -> None:
        """Close once the peer has taken what is held for it, or after a while in any case."""
        if self._transport is not None and not self._closing and not self.lost.is_set():
            self._closing = True  # TLS does not bear being closed twice
            self._transport.close()
            self.abort_later()

    def abort_later(self) -> None:
        """Give up in a while."""
        if self._abort is None:
            self._abort = asyncio.get_running_loop().call_later(LINGER, self.abort)

    def abort(self) -> None:
        """Close now, whatever is held. Harmless when all is over."""
        if self._transport is not None and not self.lost.is_set():
            self._transport.abort()


def joined() -> tuple[Side, Side]:
    """The client's and the server's side of a splice, to be given a transport each."""
    client, server = Side(decisive=False), Side(decisive=True)
    client.other, server.other = server, client
    return client, server
