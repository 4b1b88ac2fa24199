"""Frames and synchronisation records of the agent channel, the same code at both ends.

    SYNC   marker[16]  nonce[16]  0x00
    FRAME  0x00  type  length u16  stream u24  0x00  payload[length]  0x00

The channel may be cut at any byte and continued elsewhere (a restored machine goes on with the half frame that it
had received when it was captured), and neither end sees a hang-up. So a new beginning is told in band: the marker
never occurs but in a SYNC. It has no zero byte while a header and a trailer end in one, so it can only lie wholly
inside one payload, and the sender cuts such a payload in two. And as every record ends in a zero byte, bytes of a
marker can never complete what was cut off before it.

Only the standard library, and little of it: this runs in the guest, where imports are slow.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

MARKER = bytes.fromhex("e7b0d3c9a9f18e95dafb83c6f59cd1ea")
SYNC_SIZE = 33
SYNC_ME = b"\x01" * 16
"""The nonce of an agent that has just started, or lost its place: "begin an epoch with me"."""

MAX_PAYLOAD = 32_759
"""Makes a full frame 32 KiB, the most that the guest's driver takes in one write."""

OVERHEAD = 9
STREAM_WINDOW = 256 * 1024
"""Bytes of data that may be under way on a stream in one direction without being confirmed."""
OUTPUT_WINDOW = 128 * 1024
"""The same for output of commands: smaller, because what is queued delays everyone else's answers."""
VISIT_WINDOW = 64 * 1024
"""The same for what a guest sends on a stream that it has opened: the host holds it, for every machine."""
GUEST_STREAM = 0x800000
"""Ids with this bit belong to streams opened by the guest."""
MAX_STREAM = 0x7FFFFF

HELLO, OPEN, RESULT, RESET, CTL, PING, PONG, WIN = 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08
DATA, STDOUT, STDERR, LINE = 0x10, 0x11, 0x12, 0x13
EOF_DATA, EOF_STDOUT, EOF_STDERR = 0x20, 0x21, 0x22
SYNC = 0x100
"""The type under which the parser reports a SYNC; its payload is the nonce. Not a type on the wire."""

_HEADER = struct.Struct(">BBHBHB")
_WIN = struct.Struct(">I")
_PING = struct.Struct(">Q")
_PONG = struct.Struct(">QQQ")

Record = tuple[int, int, bytes]
"""Type, stream, payload."""


def sync(nonce: bytes) -> bytes:
    """A SYNC record; the nonce is 16 bytes without a zero among them."""
    return MARKER + nonce + b"\0"


def frame(kind: int, stream: int, payload: bytes = b"") -> bytes:
    """One frame. The payload must not hold the marker and not exceed MAX_PAYLOAD."""
    return _HEADER.pack(0, kind, len(payload), stream >> 16, stream & 0xFFFF, 0) + payload + b"\0"


def data_frames(kind: int, stream: int, data: bytes) -> Iterator[bytes]:
    """Frames for any bytes: cut where they are too long, and in the middle of every marker in them."""
    start = 0
    while start < len(data):
        end = min(start + MAX_PAYLOAD, len(data))
        mark = data.find(MARKER, start, end)
        if mark >= 0:
            end = mark + len(MARKER) // 2
        yield frame(kind, stream, data[start:end])
        start = end


def win(stream: int, credit: int) -> bytes:
    """Confirm `credit` bytes of a stream."""
    return frame(WIN, stream, _WIN.pack(credit))


def win_credit(payload: bytes) -> int:
    """The bytes a WIN confirms. Raises ValueError."""
    return int(_unpack(_WIN, payload)[0])


def ping(token: int) -> bytes:
    """Ask for a PONG."""
    return frame(PING, 0, _PING.pack(token))


def ping_token(payload: bytes) -> int:
    """The token of a PING. Raises ValueError."""
    return int(_unpack(_PING, payload)[0])


def pong(token: int, realtime_ns: int, monotonic_ns: int) -> bytes:
    """Answer a PING with the own clocks."""
    return frame(PONG, 0, _PONG.pack(token, realtime_ns, monotonic_ns))


def pong_clocks(payload: bytes) -> tuple[int, int, int]:
    """Token, realtime and monotonic clock of a PONG. Raises ValueError."""
    token, realtime, monotonic = _unpack(_PONG, payload)
    return int(token), int(realtime), int(monotonic)


def _unpack(layout: struct.Struct, payload: bytes) -> tuple[int, ...]:
    if len(payload) != layout.size:
        raise ValueError(f"a payload of {len(payload)} bytes where {layout.size} belong")
    return layout.unpack(payload)


class Parser:
    """Turns received bytes into records, whatever was lost in between.

    It is *hunting* when the bytes make no sense: nothing but a SYNC is then reported. It begins so if told to.
    `dropped` counts the bytes that were passed over.
    """

    def __init__(self, hunting: bool = False) -> None:
        self.hunting = hunting
        self.dropped = 0
        self._rest = b""

    def feed(self, data: bytes) -> list[Record]:
        """Take the next bytes; the records they complete."""
        data = self._rest + data
        records: list[Record] = []
        position = 0
        while (mark := data.find(MARKER, position)) >= 0:
            position = self._frames(data, position, mark, records)
            self.dropped += mark - position
            position = mark
            if len(data) < mark + SYNC_SIZE:
                break
            position = self._sync(data, mark, records)
        else:
            position = self._frames(data, position, len(data), records)
            if self.hunting:
                keep = max(position, len(data) - len(MARKER) + 1)
                self.dropped += keep - position
                position = keep
        self._rest = data[position:]
        return records

    def _sync(self, data: bytes, mark: int, records: list[Record]) -> int:
        nonce = data[mark + 16 : mark + 32]
        whole = data[mark + 32] == 0 and 0 not in nonce
        self.hunting = not whole
        if whole:
            records.append((SYNC, 0, nonce))
            return mark + SYNC_SIZE
        self.dropped += 1  # a torn SYNC: its remains are passed over up to the next marker
        return mark + 1

    def _frames(self, data: bytes, position: int, end: int, records: list[Record]) -> int:
        """Read whole frames up to `end`; the position of the first byte that is not in one."""
        while not self.hunting and position < end:
            if data[position] != 0:
                self.hunting = not (end - position < len(MARKER) and MARKER.startswith(data[position:end]))
                break
            if end - position < OVERHEAD:
                break
            _, kind, length, high, low, last = _HEADER.unpack_from(data, position)
            after = position + OVERHEAD + length
            if last != 0 or length > MAX_PAYLOAD or (after <= end and data[after - 1] != 0):
                self.hunting = True
                break
            if after > end:
                break
            records.append((kind, high << 16 | low, data[position + 8 : after - 1]))
            position = after
        return position
