"""One epoch of a channel: from a SYNC that the guest answered until either side begins anew.

The guest is not trusted. What it may send is bounded by credit and by count; anything else is a `Violation`, which
ends the epoch.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import Callable
from typing import Any

from openboxd.errors import Exhausted, Interrupted, InvalidArgument, OutcomeUnknown
from openboxd.guest import wire
from openboxd.guest.call import Call
from openboxd.guest.requests import GuestRequests, Receive, Respond, receive_none
from openboxd.guest.useless import Useless
from openboxd.guest.violation import Violation, parse

MAX_CALLS = 1024


class Epoch:
    """The calls of one epoch, and what belongs to no call."""

    def __init__(
        self,
        send: Callable[[bytes], None],
        writable: Callable[[], Any],
        respond: Respond,
        receive: Receive = receive_none,
        *,
        label: str = "",
        silence: float = 20.0,
        useless: Useless | None = None,
    ) -> None:
        """`silence`: seconds without a sign of life from machine `label` until who waits for it is told so."""
        self.nonce = bytes(1 + secrets.randbelow(255) for _ in range(16))
        self.answered = False  # the guest has returned the nonce
        self.ready = False
        self.hello: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self.identified: asyncio.Future[str] = asyncio.get_running_loop().create_future()  # empty, or why not
        self.refusal = ""
        self.over: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.reconnect = False
        self.send = send
        self.writable = writable
        self.label = label
        self.silence = silence
        self.useless = useless or Useless()
        self.resting = False  # the vCPUs stand still: no sign of life is expected
        self.heard_at = time.monotonic()
        self._calls: dict[int, Call] = {}
        self._last = 0
        self._pings: dict[int, asyncio.Future[tuple[int, int, int]]] = {}
        self._requests = GuestRequests(self, respond, receive)

    # -- calls
    def open(self, request: dict[str, Any], window: int = wire.STREAM_WINDOW) -> Call:
        """Open a stream. Raises Exhausted if too many are open."""
        if len(self._calls) >= MAX_CALLS:
            raise Exhausted(f"{MAX_CALLS} commands and transfers run on the machine already; wait for one to end")
        payload = json.dumps({**request, "window": window}).encode("ascii")
        if len(payload) > wire.MAX_PAYLOAD:
            raise InvalidArgument("the path is too long")
        self._last += 1
        if self._last >= wire.MAX_STREAM:
            self.end("the channel was renewed", reconnect=False)
        call = self._calls[self._last] = Call(self, self._last, window)
        self.send(wire.frame(wire.OPEN, self._last, payload))
        return call

    def forget(self, ident: int) -> None:
        self._calls.pop(ident, None)

    def ping(self) -> tuple[int, asyncio.Future[tuple[int, int, int]]]:
        """Send a PING; its token and what will hold the answer's clocks."""
        token = secrets.randbits(64)
        self._pings = {token: asyncio.get_running_loop().create_future()}  # one at a time; late answers are ignored
        self.send(wire.ping(token))
        return token, self._pings[token]

    def look_for_life(self, since: float) -> None:
        """Ask for a sign of life. Raises OutcomeUnknown if there was none for long, counted from `since` at most."""
        if self.resting:
            self.heard_at = time.monotonic()
        elif time.monotonic() - max(since, self.heard_at) >= self.silence:
            raise OutcomeUnknown(
                f"machine {self.label} has given no sign of life for {self.silence:.0f} s; what was asked for may "
                "still happen: look at the machine, and restore a checkpoint or reboot it if it stays so"
            )
        else:
            self.send(wire.ping(secrets.randbits(64)))

    # -- records
    def receive(self, kind: int, ident: int, payload: bytes) -> None:
        """A frame of the guest. Raises Violation."""
        if ident == 0:
            self.useless.count()  # the few that are of use are within the allowance as well
            self._receive_own(kind, payload)
        elif ident & wire.GUEST_STREAM:
            self._requests.receive(kind, ident, payload)
        elif ident in self._calls:
            try:
                self._calls[ident].receive(kind, payload)
            except ValueError as error:
                raise Violation(str(error)) from error
        elif ident > self._last:
            raise Violation("it answered a request that was never made")
        else:  # one that was given up
            self.useless.count()

    def _receive_own(self, kind: int, payload: bytes) -> None:
        if kind == wire.HELLO:
            if not self.hello.done():
                self.hello.set_result(parse(payload))
        elif kind == wire.PONG:
            try:
                clocks = wire.pong_clocks(payload)
            except ValueError as error:
                raise Violation(str(error)) from error
            waiting = self._pings.get(clocks[0])
            if waiting is not None and not waiting.done():
                waiting.set_result(clocks)
        elif kind == wire.CTL:
            message = parse(payload)
            if "identity" in message and not self.identified.done():
                self.identified.set_result(str(message["identity"]))
        else:
            raise Violation(f"it sent a frame of type {kind} on no stream")

    def end(self, reason: str, *, reconnect: bool) -> None:
        """The epoch is over; open calls are interrupted. Harmless twice."""
        self.ready = False
        if not self.over.done():
            self.reconnect = reconnect
            self.over.set_result(reason)
        for call in list(self._calls.values()):
            call.fail(Interrupted(reason))
        self._calls.clear()
        self._requests.close(reason)
