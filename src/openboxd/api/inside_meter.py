"""What the calls of a machine make the daemon hold, counted on the bytes of its HTTP/2 connections as they pass.

gRPC collects a message until it is whole, and keeps it until the call has ended. A machine could begin many, and end
none. So every connection is walked frame by frame, and one that takes its machine over its share is ended. Nothing is
kept of what passes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from openboxd.errors import Exhausted, InvalidArgument
from openboxd.model import MIB

SHARE = 48 * MIB
"""Bytes of requests that the calls of one machine may hold at a time."""

OPEN_STREAMS = 64
"""Streams of one connection that are begun and not ended; gRPC allows fewer, and ends a connection that has more."""

PREFACE = len(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
FRAME_HEAD, MESSAGE_HEAD = 9, 5
DATA, HEADERS, RST_STREAM = 0, 1, 3
END_STREAM, PADDED = 0x1, 0x8


class Shares:
    """What each machine's calls hold now, by the run that they came from."""

    def __init__(self) -> None:
        self._held: defaultdict[str, int] = defaultdict(int)

    def held(self, origin: str) -> int:
        """Bytes."""
        return self._held.get(origin, 0)

    def take(self, origin: str, size: int) -> None:
        """Raises Exhausted: that is more than its share."""
        self._held[origin] += size
        if self._held[origin] > SHARE:
            raise Exhausted(f"the calls of a machine hold more than {SHARE // MIB} MiB; its connection was ended")

    def give_back(self, origin: str, size: int) -> None:
        """What a connection took."""
        self._held[origin] -= size
        if not self._held[origin]:
            del self._held[origin]


@dataclass
class _Frame:
    kind: int = DATA
    flags: int = 0
    stream: int = 0


class _Walk:
    """The frames of one direction, however they are cut."""

    def __init__(self, skip: int = 0) -> None:
        self._skip, self._left = skip, 0
        self._head = b""
        self._frame = _Frame()

    def parts(self, data: bytes) -> Iterator[tuple[_Frame, memoryview, bool]]:
        """Pieces of frames, and whether their frame ends with them."""
        view = memoryview(data)
        while view:
            if self._skip or self._left:
                size = min(self._skip or self._left, len(view))
                part, view = view[:size], view[size:]
                if self._skip:
                    self._skip -= size
                    continue
                self._left -= size
                yield self._frame, part, not self._left
                continue
            missing = FRAME_HEAD - len(self._head)
            self._head, view = self._head + bytes(view[:missing]), view[missing:]
            if len(self._head) == FRAME_HEAD:
                self._begin(self._head)
                self._head = b""
                if not self._left:
                    yield self._frame, view[:0], True

    def _begin(self, head: bytes) -> None:
        self._left = int.from_bytes(head[:3], "big")
        self._frame = _Frame(head[3], head[4], int.from_bytes(head[5:9], "big") & 0x7FFF_FFFF)


@dataclass
class _Stream:
    """The message that is on its way in, and what the stream holds: that, and the one before."""

    head: bytes = b""
    left: int = 0
    came: int = 0
    before: int = 0

    def take(self, part: memoryview) -> int:
        """By how many bytes it holds more now; fewer are negative."""
        held = self.before + self.came
        while part:
            if not self.left:
                missing = MESSAGE_HEAD - len(self.head)
                self.head, part = self.head + bytes(part[:missing]), part[missing:]
                if len(self.head) == MESSAGE_HEAD:
                    self.left = int.from_bytes(self.head[1:], "big")
                    self.head = b""
                continue
            size = min(self.left, len(part))
            part = part[size:]
            self.left, self.came = self.left - size, self.came + size
            if not self.left:
                self.before, self.came = self.came, 0
        return self.before + self.came - held

    @property
    def held(self) -> int:
        return self.before + self.came


class Meter:
    """One connection of a machine's. `close` it in the end."""

    def __init__(self, shares: Shares, origin: str) -> None:
        self._shares, self._origin = shares, origin
        self._inwards, self._outwards = _Walk(PREFACE), _Walk()
        self._streams: dict[int, _Stream] = {}

    def inwards(self, data: bytes) -> None:
        """Count what the machine sends. Raises Exhausted, InvalidArgument: the connection must be ended."""
        for frame, part, is_end in self._inwards.parts(data):
            if is_end and frame.kind == HEADERS:
                self._begin(frame.stream)
            if frame.kind == DATA and part:
                if frame.flags & PADDED:
                    raise InvalidArgument("no client of gRPC pads its data")
                self._take(frame.stream, part)
            if is_end and frame.kind == RST_STREAM:
                self._drop(frame.stream)

    def outwards(self, data: bytes) -> None:
        """Note which calls the daemon has ended."""
        for frame, _, is_end in self._outwards.parts(data):
            ended = frame.kind in (DATA, HEADERS) and frame.flags & END_STREAM
            if is_end and (ended or frame.kind == RST_STREAM):
                self._drop(frame.stream)

    def close(self) -> None:
        """Nothing of the connection is held any more."""
        for number in list(self._streams):
            self._drop(number)

    def _begin(self, number: int) -> None:
        """A call begins, under whatever number: which ones gRPC takes up depends on more than a machine sends."""
        self._streams.setdefault(number, _Stream())
        if len(self._streams) > OPEN_STREAMS:
            self.close()
            raise Exhausted("a connection of a machine began too many calls and was ended")

    def _take(self, number: int, part: memoryview) -> None:
        """Data of a call that has ended was on its way when the daemon ended it: gRPC drops that."""
        stream = self._streams.get(number)
        if stream is None:
            return
        try:
            self._shares.take(self._origin, stream.take(part))
        except Exhausted:
            self.close()  # at once, so that the machine's other connections go on
            raise

    def _drop(self, number: int) -> None:
        stream = self._streams.pop(number, None)
        if stream is not None:
            self._shares.give_back(self._origin, stream.held)
