"""The resolver of machines with an egress list, while the host's own is down."""

from __future__ import annotations

import asyncio
import logging
import struct

import pytest

from openboxd.network import resolver
from openboxd.network.resolver import TELL_EVERY, Resolver

LIMIT = 30
SERVER_FAILED = 2
"""Of the header's second pair of bytes, the last four bits."""


def a_question(name: str) -> bytes:
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    return struct.pack(">6H", 7, 0x0100, 1, 0, 0, 0) + labels + b"\0" + struct.pack(">2H", 1, 1)


class Client(asyncio.DatagramProtocol):
    """Notes what it is answered."""

    def __init__(self) -> None:
        self.answers = asyncio.Queue[bytes]()

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        self.answers.put_nowait(data)


async def nobody(upstream: str, query: bytes) -> bytes:
    raise ConnectionRefusedError(111, "Connection refused")


async def learn(address: str, name: str, found: list[str]) -> None:
    raise AssertionError("nothing was found")


async def test_questions_without_answers_are_told_once_a_minute(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A machine asks as often as it likes, and must not fill the host's journal."""
    clock = [1000.0]
    monkeypatch.setattr(resolver, "_ask", nobody)
    monkeypatch.setattr(resolver, "monotonic", lambda: clock[0])
    caplog.set_level(logging.WARNING, resolver.__name__)
    served = Resolver("192.0.2.1", lambda address, name: True, learn)
    await served.listen("127.0.0.1", 0)
    assert served._transport is not None
    loop = asyncio.get_running_loop()
    transport, client = await loop.create_datagram_endpoint(
        Client, remote_addr=served._transport.get_extra_info("sockname")
    )
    try:
        async with asyncio.timeout(LIMIT):
            for wait in (*[0.0] * 50, TELL_EVERY, 0.0, TELL_EVERY, TELL_EVERY):
                clock[0] += wait
                transport.sendto(a_question("www.example.com"))
                answer = await client.answers.get()
                assert answer[3] & 15 == SERVER_FAILED
    finally:
        transport.close()
        await served.close()
    said = "a machine's question for 'www.example.com' has no answer: [Errno 111] Connection refused"
    assert [record.getMessage() for record in caplog.records] == [
        said,
        f"{said}; 49 more had none since the last one that was told",
        f"{said}; 1 more had none since the last one that was told",
        said,
    ]
