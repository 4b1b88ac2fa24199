"""One stream of a channel, as the host sees it: data both ways under credit, whoever has opened it."""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

from openboxd.errors import BoxdError
from openboxd.guest import wire
from openboxd.guest.useless import SMALL_CREDIT, Useless
from openboxd.guest.violation import Violation, parse

MAX_CREDIT = 1 << 31
MERGE_BELOW = 4096


class Carrier(Protocol):
    """What a stream needs of its epoch."""

    send: Callable[[bytes], None]
    writable: Callable[[], Any]
    silence: float
    useless: Useless

    def forget(self, ident: int) -> None:
        """The stream is over; harmless twice."""
        ...

    def look_for_life(self, since: float) -> None:
        """Ask for a sign of life. Raises OutcomeUnknown if there was none for long."""
        ...


class Call:
    """One stream: data both ways under credit, then a result or an error.

    Attributes:
        patient: the guest may be silent for as long as it likes, as a command may. Else it has to give some sign of
            life while it is waited for, or the call fails.
    """

    def __init__(self, epoch: Carrier, ident: int, window: int) -> None:
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
            self._receive_credit(wire.win_credit(payload))
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

    def _receive_credit(self, credit: int) -> None:
        if credit < SMALL_CREDIT:
            self._epoch.useless.count()
        self._credit += credit
        if self._credit > MAX_CREDIT:
            raise Violation("it granted more credit than it can have")

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

    def conclude(self) -> None:
        """End a stream of the guest's: all that was sent is to be delivered first. Harmless if it is over."""
        if not self.over:
            self._epoch.send(wire.frame(wire.RESULT, self._ident, b"{}"))
            self._epoch.forget(self._ident)
            self.result = {}
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
