"""A command that runs in a machine, seen from the client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc

from openboxd.client.connection import BOXD_API, Connection
from openboxd.errors import OutcomeUnknown
from openboxd.model import ExecOutput, ExecRequest
from openboxd.wire import boxd_api_pb2 as pb


class Execution:
    """Iterate `output` to its end, then read `exit_code`. `cancel` ends the command with its whole process group."""

    def __init__(self, connection: Connection, ref: str, request: ExecRequest) -> None:
        self.exit_code: int | None = None
        self._sending = asyncio.Lock()
        self._over = False
        self._connection = connection
        self._call: grpc.aio.StreamStreamCall[Any, pb.ExecChunk] = connection.duplex(f"{BOXD_API}Exec", pb.ExecChunk)
        self._first = pb.ExecChunk(
            vm_id=ref, command=request.command, tty=request.tty, cols=request.cols, rows=request.rows
        )

    async def start(self) -> None:
        """Send the command. A refusal is raised by `output`."""
        await self._write(self._first)

    async def output(self) -> AsyncIterator[ExecOutput]:
        """Pieces of output, until the command has ended."""
        last = None
        with self._connection.translated():
            async for chunk in self._call:
                last = chunk
                if chunk.data:
                    yield ExecOutput(chunk.data, chunk.is_stderr)
                else:
                    # The last chunk: the daemon closes the call once it knows that nothing more is coming.
                    self._over = True
                    await self.write_eof()
        if last is None:
            raise OutcomeUnknown("the command ended without an exit status")
        self.exit_code = last.exit_code

    async def write(self, data: bytes) -> None:
        """Feed stdin; waits while the other end is full. Dropped once the command is over."""
        await self._write(pb.ExecChunk(data=data, stdin=True))

    async def resize(self, cols: int, rows: int) -> None:
        """Tell the terminal's new size."""
        await self._write(pb.ExecChunk(cols=cols, rows=rows, window_change=True))

    async def write_eof(self) -> None:
        """End stdin. Harmless twice."""
        async with self._sending:
            if not self._call.done():
                await self._call.done_writing()

    def cancel(self) -> None:
        """Hang up, which ends the command. Harmless when it is over."""
        self._call.cancel()

    async def _write(self, chunk: pb.ExecChunk) -> None:
        async with self._sending:
            try:
                if not (self._over or self._call.done()):
                    await self._call.write(chunk)
            except (grpc.aio.AioRpcError, grpc.aio.UsageError):
                pass  # the call is over; `output` says how
