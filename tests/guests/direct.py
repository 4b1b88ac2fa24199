"""The daemon's own client inside a test: a call costs a millisecond, where the CLI costs half a second."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from openboxd.client.client import Client, open_client
from openboxd.client.endpoint import Endpoint, parse_url
from openboxd.model import ExecRequest
from tests.lab import GOLDEN, Daemon

CALL = 60.0
"""Seconds for any call of a test, on a busy host."""


@asynccontextmanager
async def direct(daemon: Daemon) -> AsyncIterator[Client]:
    """A client on one connection, with the owner's key."""
    async with open_client(Endpoint(parse_url(daemon.url), daemon.key)) as client:
        yield client


async def sh(client: Client, command: str, machine: str = GOLDEN) -> str:
    """Run a shell line in a machine; its stdout. Fails if the line does."""
    execution = await client.exec(machine, ExecRequest(command))
    await execution.write_eof()
    pieces = [piece async for piece in execution.output()]
    said = b"".join(piece.data for piece in pieces if not piece.is_stderr).decode()
    assert execution.exit_code == 0, (command, said, [piece.data for piece in pieces if piece.is_stderr])
    return said


async def save(client: Client, checkpoint: str, machine: str = GOLDEN) -> str:
    """Save and wait; the checkpoint's status."""
    await client.save(machine, checkpoint)
    return str((await client.checkpoint_done(machine, checkpoint)).status)
