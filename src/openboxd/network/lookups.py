"""What of a DNS message a resolver for restricted machines has to understand. Pure."""

from __future__ import annotations

import ipaddress
import struct

HEADER = 12
REFUSED, SERVER_FAILURE = 5, 2

_A, _IN = 1, 1
_RESPONSE = 0x8000
_POINTER = 0xC0
_LONGEST = 255


class Malformed(ValueError):
    """It is no DNS message."""


def question(message: bytes) -> str:
    """The name that a query asks for, in lower case and without a dot at its end.

    Raises:
        Malformed: it is not a query with one question.
    """
    _, flags, questions = struct.unpack_from(">HHH", _at_least(message, HEADER))
    if flags & _RESPONSE or questions != 1:
        raise Malformed("it is no query with one question")
    name, position = _name(message, HEADER)
    _at_least(message, position + 4)
    return name


def refusal(query: bytes, code: int) -> bytes:
    """The answer that there is none."""
    _, position = _name(query, HEADER)
    ident, flags = struct.unpack_from(">HH", query)
    head = struct.pack(">HHHHHH", ident, _RESPONSE | (flags & 0x7900) | 0x0080 | code, 1, 0, 0, 0)
    return head + query[HEADER : position + 4]


def addresses(answer: bytes) -> list[str]:
    """The IPv4 addresses in an answer. Raises Malformed."""
    counts = struct.unpack_from(">HHHH", _at_least(answer, HEADER), 4)
    position = HEADER
    for _ in range(counts[0]):
        position = _name(answer, position)[1] + 4
    found = []
    for _ in range(counts[1]):
        position = _name(answer, position)[1]
        kind, net, _, length = struct.unpack_from(">HHIH", _at_least(answer, position + 10), position)
        position += 10
        _at_least(answer, position + length)
        if (kind, net, length) == (_A, _IN, 4):
            found.append(str(ipaddress.IPv4Address(answer[position : position + 4])))
        position += length
    return found


def _name(message: bytes, position: int) -> tuple[str, int]:
    """A name, and where it ends. What a pointer stands for is left out: only a question's name is wanted whole."""
    labels: list[str] = []
    while True:
        length = _at_least(message, position + 1)[position]
        if length >= _POINTER:
            return ".".join(labels), position + 2
        position += 1
        if length == 0:
            return ".".join(labels), position
        label = _at_least(message, position + length)[position : position + length]
        labels.append(label.decode("ascii", "replace").lower())
        position += length
        if sum(map(len, labels)) > _LONGEST:
            raise Malformed("a name is too long")


def _at_least(message: bytes, size: int) -> bytes:
    if len(message) < size:
        raise Malformed("it ends too early")
    return message
