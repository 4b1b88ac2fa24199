"""What a gate costs and allows at most: a thousand who wait a minute, and 500 connections in little memory."""

from __future__ import annotations

import asyncio
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from openboxd.edge.limits import Limits
from tests.edge.guests import Client, guarded, until

HELD = 1000


@pytest.fixture
def many_descriptors() -> Iterator[None]:
    """Both ends of a thousand connections are in this process."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(8192, hard), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def test_a_thousand_wait_and_the_next_one_is_told(many_descriptors: None) -> None:
    assert (Limits().held, Limits().wait) == (HELD, 60.0)
    async with guarded(http=True) as (_, gate):
        await gate.hold()
        clients = [await Client.connect(gate.port) for _ in range(HELD)]
        await until(lambda: gate.waiting == HELD, "a thousand waiting connections")
        one_more = await Client.connect(gate.port)
        answer = await one_more.rest()
        assert answer.startswith(b"HTTP/1.1 503 ")
        assert b"Retry-After: 1\r\n" in answer
        assert answer.endswith(b"too many requests wait for port 8000 of machine 'web'\n")
        assert gate.release().connections == HELD
        assert await asyncio.gather(*[client.ask(b"x") for client in clients]) == [b"x"] * HELD
        for client in (*clients, one_more):
            client.close()


GATE = """
import asyncio, resource, sys
from openboxd.edge.gate import Gate
from openboxd.edge.listener import listen_tcp
from tests.edge.guests import dial_tcp

async def main():
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    gate = Gate(listen_tcp("127.0.0.1", 0), lambda: dial_tcp(int(sys.argv[1])), "a port")
    print(gate.port, flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


@contextmanager
def gate_before(guest: int) -> Iterator[tuple[int, int]]:
    """A gate in a process of its own: its port and its pid."""
    argv = [sys.executable, "-c", GATE, str(guest)]
    program = subprocess.Popen(argv, cwd=Path(__file__).parents[2], stdout=subprocess.PIPE, text=True)
    assert program.stdout is not None
    try:
        yield int(program.stdout.readline()), program.pid
    finally:
        program.kill()
        program.wait()
        program.stdout.close()


def resident(pid: int) -> int:
    """Bytes of memory that a process has."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


async def test_five_hundred_connections_that_nobody_reads_cost_little_memory(many_descriptors: None) -> None:
    """Each sends and is sent to, and nobody takes anything: the gate holds a piece in each direction, no more."""
    stuck = asyncio.Event()

    async def flood(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(bytes(4 * 1024 * 1024))
        await stuck.wait()

    async with guarded(flood) as (guest, _):
        with gate_before(guest.port) as (port, pid):
            before = resident(pid)
            sockets = [await asyncio.open_connection("127.0.0.1", port, limit=1024) for _ in range(500)]
            for _, writer in sockets:
                writer.write(bytes(1024 * 1024))
            await until(lambda: guest.accepted == 500, "five hundred connections")
            seen, last = resident(pid), -1
            while seen != last:  # until nothing moves any more
                await asyncio.sleep(0.5)
                last, seen = seen, resident(pid)
            each = (seen - before) // 500
            print(f"\n{each / 1024:.0f} KiB for each of 500 connections that are stuck in both directions")
            assert each < 400 * 1024
            for _, writer in sockets:
                writer.transport.abort()
        stuck.set()
