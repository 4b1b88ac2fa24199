"""Requests to the kernel by netlink, as much of it as a new identity needs. No program is started for it."""

from __future__ import annotations

import _socket
import os
import struct
from collections.abc import Iterator

ROUTE, SOCK_DIAG = 0, 4
"""Families of messages."""

REQUEST, ACK, DUMP = 0x1, 0x4, 0x300
REPLACE, CREATE = 0x100, 0x400

_HEADER = struct.Struct("=IHHII")
_ATTRIBUTE = struct.Struct("=HH")
_ERROR, _DONE = 2, 3
_MOST = 64 * 1024


class Netlink:
    """A socket of one family. Close it, or leave its `with` block."""

    def __init__(self, family: int) -> None:
        self._socket = _socket.socket(_socket.AF_NETLINK, _socket.SOCK_RAW | _socket.SOCK_CLOEXEC, family)
        self._number = 0

    def __enter__(self) -> Netlink:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def change(self, kind: int, payload: bytes, flags: int = 0) -> None:
        """Have something done. Raises OSError with the kernel's reason."""
        for _ in self._ask(kind, REQUEST | ACK | flags, payload):
            pass

    def dump(self, kind: int, payload: bytes) -> list[bytes]:
        """Payloads of all messages of an answer. Raises OSError."""
        return list(self._ask(kind, REQUEST | DUMP, payload))

    def _ask(self, kind: int, flags: int, payload: bytes) -> Iterator[bytes]:
        self._number += 1
        header = _HEADER.pack(_HEADER.size + len(payload), kind, flags, self._number, 0)
        self._socket.send(header + payload)
        while True:
            data = self._socket.recv(_MOST)
            while data:
                length, answer, _, number, _ = _HEADER.unpack_from(data)
                body, data = data[_HEADER.size : length], data[(length + 3) & ~3 :]
                if number != self._number:
                    continue
                if answer == _DONE:
                    return
                if answer == _ERROR:
                    error = -struct.unpack_from("=i", body)[0]
                    if error:
                        raise OSError(error, os.strerror(error))
                    return
                yield body


def attribute(kind: int, data: bytes) -> bytes:
    """One attribute, padded."""
    return _ATTRIBUTE.pack(_ATTRIBUTE.size + len(data), kind) + data + bytes(-len(data) % 4)


def attributes(data: bytes) -> dict[int, bytes]:
    """The attributes in the rest of a message."""
    found: dict[int, bytes] = {}
    while len(data) >= _ATTRIBUTE.size:
        length, kind = _ATTRIBUTE.unpack_from(data)
        if length < _ATTRIBUTE.size:
            break
        found[kind & 0x3FFF] = data[_ATTRIBUTE.size : length]
        data = data[(length + 3) & ~3 :]
    return found
