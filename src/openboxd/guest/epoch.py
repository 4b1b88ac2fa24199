"""One epoch of a channel: from a SYNC that the guest answered until either side begins anew.

The guest is not trusted. What it may send is bounded by credit and by count; anything else is a `Violation`, which
ends the epoch.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from openboxd.errors import BoxdError, Exhausted, Interrupted, InvalidArgument, OutcomeUnknown
from openboxd.guest import wire
from openboxd.guest.requests import GuestRequests, Respond
from openboxd.guest.useless import SMALL_CREDIT, Useless
from openboxd.guest.violation import Violation, parse

MAX_CALLS = 1024
MAX_CREDIT = 1 << 31
MERGE_BELOW = 4096


class Call:
    """One stream opened by the host: data both ways under credit, then a result or an error.

    Attributes:
        patient: the guest may be silent for as long as it likes, as a command may. Else it has to give some sign of
            life while it is waited for, or the call fails.
    """

    def __init__(self, epoch: Epoch, ident: int, window: int) -> None:
        self.result: dict[str, Any] | None = None
        self.patient = False
        self._epoch = epoch
        self._ident = ident
        self._window = window
        self._receivable = window
        self._unconfirmed = 0
        self._credit = wire.STREAM_WINDOW
        self._inbox: deque[tuple[int, bytearray]] = deque()  # bounded by the window
        self._control: dict[str, Any] | None = None
        self._error: BoxdError | None = None
        self._news = asyncio.Event()  # something has changed; whoever waits looks what
        self._eof_sent = False
        self._eof_received = False

    @property
    def over(self) -> bool:
        """The guest, or the epoch, has ended it."""
        return self.result is not None or self._error is not None

    # -- from the guest
    def receive(self, kind: int, payload: bytes) -> None:
        """Raises Violation."""
        if kind in (wire.DATA, wire.STDOUT, wire.STDERR):
            self._receive_data(kind, payload)
        elif kind == wire.WIN:
            credit = wire.win_credit(payload)
            if credit < SMALL_CREDIT:
                self._epoch.useless.count()
            self._credit += credit
            if self._credit > MAX_CREDIT:
                raise Violation("it granted more credit than it can have")
        elif kind == wire.CTL:
            if self._control is None:
                self._control = parse(payload)
            else:
                self._epoch.useless.count()
        elif kind in (wire.RESULT, wire.RESET):
            self.result = parse(payload) if kind == wire.RESULT else {"error": "failed", "message": "it was reset"}
            self._epoch.forget(self._ident)
        elif kind == wire.EOF_DATA:
            self._eof_received = True
        elif kind not in (wire.EOF_STDOUT, wire.EOF_STDERR):
            raise Violation(f"it sent a frame of the unknown type {kind}")
        self._news.set()

    def _receive_data(self, kind: int, payload: bytes) -> None:
        self._receivable -= len(payload)
        if self._receivable < 0:
            raise Violation("it sent more than it had credit for")
        if self._inbox and self._inbox[-1][0] == kind and len(self._inbox[-1][1]) < MERGE_BELOW:
            self._inbox[-1][1].extend(payload)  # else many tiny pieces would take much more memory than they hold
        elif payload:
            self._inbox.append((kind, bytearray(payload)))
        if not payload:
            self._epoch.useless.count()

    def fail(self, error: BoxdError) -> None:
        """The epoch is over: what has not been read is not delivered any more."""
        if not self.over:
            self._error = error
            self._inbox.clear()
            self._news.set()

    # -- for the caller
    async def next(self) -> tuple[int, bytes] | None:
        """The next piece of data and its kind; None when there is no more: then `result` is set."""
        while not self._inbox:
            if self._error is not None:
                raise self._error
            if self.result is not None:
                return None
            await self._wait()
        return self._take()

    async def read(self) -> bytes:
        """The next piece of data; nothing once the guest has ended its direction, or the call."""
        while not self._inbox:
            if self._error is not None:
                raise self._error
            if self._eof_received or self.result is not None:
                return b""
            await self._wait()
        return self._take()[1]

    def _take(self) -> tuple[int, bytes]:
        kind, data = self._inbox.popleft()
        self._unconfirmed += len(data)
        if self._unconfirmed >= self._window // 4 and not self.over:
            self._receivable += self._unconfirmed
            self._epoch.send(wire.win(self._ident, self._unconfirmed))
            self._unconfirmed = 0
        return kind, bytes(data)

    async def control(self) -> dict[str, Any] | None:
        """The guest's first control message; None if there is a result instead."""
        while self._control is None and self.result is None:
            if self._error is not None:
                raise self._error
            await self._wait()
        return self._control

    async def finished(self) -> dict[str, Any]:
        """The result; data that still comes is passed over."""
        while await self.next() is not None:
            pass
        assert self.result is not None
        return self.result

    async def send(self, kind: int, data: bytes) -> None:
        """Send all of `data` as credit allows; the rest is dropped once the guest has ended the call."""
        view = memoryview(data)
        while view and self.result is None:
            if self._error is not None:
                raise self._error
            if self._credit <= 0:
                await self._wait()
                continue
            await self._epoch.writable()
            if self.over:
                continue
            piece = bytes(view[: min(self._credit, wire.MAX_PAYLOAD)])
            self._credit -= len(piece)
            for frame in wire.data_frames(kind, self._ident, piece):
                self._epoch.send(frame)
            view = view[len(piece) :]

    def send_eof(self) -> None:
        """No more data from here; harmless twice."""
        if not self.over and not self._eof_sent:
            self._eof_sent = True
            self._epoch.send(wire.frame(wire.EOF_DATA, self._ident))

    def send_control(self, **message: Any) -> None:
        if not self.over:
            self._epoch.send(wire.frame(wire.CTL, self._ident, json.dumps(message).encode("ascii")))

    def reset(self) -> None:
        """Nobody waits for this any more; harmless if it is over."""
        if not self.over:
            self._epoch.send(wire.frame(wire.RESET, self._ident, b"{}"))
            self._epoch.forget(self._ident)
            self.result = {"error": "failed", "message": "it was cancelled"}
            self._inbox.clear()
            self._news.set()

    async def _wait(self) -> None:
        """Until something has changed. Raises OutcomeUnknown if the guest does not give a sign of life meanwhile."""
        self._news.clear()
        began = time.monotonic()
        while True:
            try:
                async with asyncio.timeout(None if self.patient else self._epoch.silence / 4):
                    await self._news.wait()
                return  # also if another who waits has cleared it again
            except TimeoutError:
                self._epoch.look_for_life(began)


class Epoch:
    """The calls of one epoch, and what belongs to no call."""

    def __init__(
        self,
        send: Callable[[bytes], None],
        writable: Callable[[], Any],
        respond: Respond,
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
        self._requests = GuestRequests(send, respond)

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
            if kind != wire.OPEN:
                self.useless.count()
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
        self._requests.close()
