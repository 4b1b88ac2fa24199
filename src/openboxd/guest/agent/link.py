"""The agent's end of the channel: records in, frames out, streams between them.

An epoch begins with a SYNC of the host, at any time and wherever the bytes stand. Everything of the epoch before is
then gone: what is queued for sending, and every stream. What happened in between (nothing, a new daemon, a restore
to an earlier instant) cannot be seen from here and does not matter.
"""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

from openboxd.guest import wire
from openboxd.guest.agent.loop import Loop, report_fault
from openboxd.guest.agent.port import Port
from openboxd.guest.agent.stream import Refusal, Stream, to_json

READ_SIZE = 64 * 1024
GATHER = 8  # reads that are parsed together; the driver gives 4 KiB each, a socket more
FRAMES_A_TURN = 16  # then input is looked at again
QUEUE_LIMIT = 64 * 1024  # data waiting for the port; more would only delay answers
WRITE_SIZE = 32 * 1024  # the driver takes no more, and each write costs one of its 128 descriptors


class Source(Protocol):
    """Something that has data to send."""

    def produce(self) -> bool:
        """Send at most one frame's worth; whether there is more at once. False: it will be offered again."""
        ...


class Epochs(Protocol):
    """Who wants to know about the connection itself."""

    def greeting(self) -> dict[str, Any]: ...
    def hello(self, link: Link, message: dict[str, Any]) -> None: ...
    def control(self, message: dict[str, Any]) -> None: ...


Opener = Callable[["Link", int, dict[str, Any]], Stream]
Answered = Callable[[dict[str, Any]], None]


class Link:
    def __init__(self, loop: Loop, port: Port, epochs: Epochs, opener: Opener) -> None:
        self.loop = loop
        self._port = port
        self._epochs = epochs
        self._opener = opener
        self._parser = wire.Parser()
        self._streams: dict[int, Stream] = {}
        self._queue: deque[bytes] = deque()
        self._queued = 0
        self._offset = 0  # of the first queued piece: that much is written already
        self._sources: deque[Source] = deque()
        self._unread = False
        self._requests: dict[int, Answered] = {}
        self._last_request = 0

    def start(self) -> None:
        self._port.attach(self.loop, self._edge)
        self.send(wire.sync(wire.SYNC_ME))

    # -- sending
    def send(self, frame: bytes) -> None:
        self._queue.append(frame)
        self._queued += len(frame)

    def offer(self, source: Source) -> None:
        """`source` has something to send; it is asked when there is room."""
        if source not in self._sources:
            self._sources.append(source)

    def remove(self, stream: Stream) -> None:
        self._streams.pop(stream.ident, None)

    def request(self, message: dict[str, Any], answered: Answered) -> None:
        """Ask the host something. `answered` gets the result; nothing in it means that there is none (refused, or
        the epoch is over)."""
        ident = self._next_own()
        self._requests[ident] = answered
        self.send(wire.frame(wire.OPEN, ident, to_json(message)))

    def visit(self, door: str, make: Callable[[Link, int], Stream]) -> None:
        """Open a stream to a door of the host. Refused or over: the host ends it."""
        stream = make(self, self._next_own())
        self._streams[stream.ident] = stream
        self.send(wire.frame(wire.OPEN, stream.ident, to_json({"op": "visit", "door": door})))
        stream.opened()

    def _next_own(self) -> int:
        self._last_request = self._last_request % wire.MAX_STREAM + 1
        return wire.GUEST_STREAM | self._last_request

    def turn(self) -> bool:
        """Let the sources fill the queue, one frame each in turn, and write; whether to come again at once."""
        if self._unread:
            self._edge()
        self._flush()
        for _ in range(FRAMES_A_TURN):
            if not self._sources or self._queued >= QUEUE_LIMIT:
                return self._unread
            source = self._sources.popleft()
            if _guard(source.produce):
                self._sources.append(source)
            self._flush()
        return True

    def _flush(self) -> None:
        while self._queue:
            piece = self._gather()
            written = self._port.write(memoryview(piece)[self._offset :] if self._offset else piece)
            if written == 0:
                return
            self._offset += written
            self._queued -= written
            if self._offset == len(piece):
                self._queue.popleft()
                self._offset = 0

    def _gather(self) -> bytes:
        """The first piece, joined with those that fit into the same write."""
        piece = self._queue[0]
        if self._offset == 0 and len(self._queue) > 1 and len(piece) + len(self._queue[1]) <= WRITE_SIZE:
            pieces, size = [], 0
            while self._queue and size + len(self._queue[0]) <= WRITE_SIZE:
                size += len(self._queue[0])
                pieces.append(self._queue.popleft())
            piece = b"".join(pieces)
            self._queue.appendleft(piece)
        return piece

    # -- receiving
    def _edge(self) -> None:
        chunks: list[bytes] = []
        self._unread = True
        while len(chunks) < GATHER * 16:
            chunk = self._port.read(READ_SIZE)
            if not chunk:
                self._unread = False
                break
            chunks.append(chunk)
            if len(chunk) == READ_SIZE and len(chunks) >= GATHER:
                break
        was_hunting = self._parser.hunting
        for record in self._parser.feed(b"".join(chunks)):
            self._take(*record)
        if self._parser.hunting and not was_hunting:
            self.send(wire.sync(wire.SYNC_ME))  # lost in the bytes: only a new epoch helps
        self._flush()

    def _take(self, kind: int, ident: int, payload: bytes) -> None:
        if kind == wire.SYNC:
            self._begin(payload)
        elif ident == 0:
            self._connection(kind, payload)
        elif ident in self._streams:
            self._dispatch(self._streams[ident], kind, payload)
        elif ident & wire.GUEST_STREAM:
            self._answer(kind, ident, payload)
        elif kind == wire.OPEN:
            self._open(ident, payload)
        # else: on its way when the stream ended

    def _begin(self, nonce: bytes) -> None:
        ended, purged = len(self._streams), self._queued
        self._queue.clear()
        self._queued = self._offset = 0
        for stream in list(self._streams.values()):
            _guard(stream.lost)
        self._streams.clear()
        self._sources.clear()
        for ident in list(self._requests):
            self._answer(wire.RESET, ident, b"{}")
        self.send(wire.sync(nonce))
        report = {"dropped": self._parser.dropped, "purged": purged, "ended": ended}
        self.send(wire.frame(wire.HELLO, 0, to_json(self._epochs.greeting() | report)))

    def _connection(self, kind: int, payload: bytes) -> None:
        if kind == wire.PING:
            self.send(wire.pong(wire.ping_token(payload), time.time_ns(), time.monotonic_ns()))
        elif kind == wire.HELLO:
            _guard(lambda: self._epochs.hello(self, json.loads(payload)))
        elif kind == wire.CTL:
            _guard(lambda: self._epochs.control(json.loads(payload)))

    def _answer(self, kind: int, ident: int, payload: bytes) -> None:
        answered = self._requests.pop(ident, None)
        if answered is not None:
            _guard(lambda: answered(json.loads(payload) if kind == wire.RESULT else {}))

    def _open(self, ident: int, payload: bytes) -> None:
        stream = Stream(self, ident, 0)  # to answer with, if there will be no other
        try:
            stream = self._opener(self, ident, json.loads(payload))
            self._streams[ident] = stream
            stream.opened()
        except Exception as error:
            _refuse(stream, error)

    def _dispatch(self, stream: Stream, kind: int, payload: bytes) -> None:
        try:
            if kind in (wire.DATA, wire.LINE):
                stream.on_data(kind, payload)
            elif kind == wire.EOF_DATA:
                stream.on_eof(kind)
            elif kind == wire.WIN:
                stream.credit += wire.win_credit(payload)
                stream.on_credit()
            elif kind == wire.CTL:
                stream.on_control(json.loads(payload))
            elif kind == wire.RESULT:
                stream.on_result()
            elif kind == wire.RESET:
                stream.end()
        except Exception as error:
            _refuse(stream, error)


def _refuse(stream: Stream, error: Exception) -> None:
    """A fault of one stream ends that stream only."""
    if not isinstance(error, Refusal):
        report_fault()
        error = Refusal("failed", f"the agent failed: {type(error).__name__}: {error}")
    _guard(lambda: stream.refuse(error))


def _guard(action: Callable[[], Any]) -> bool:
    try:
        return bool(action())
    except Exception:
        report_fault()
        return False
