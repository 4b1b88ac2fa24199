"""A command in a machine, joined to this process: stdin to it, its output to a sink, its end is ours."""

from __future__ import annotations

import asyncio
import os
import select
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from openboxd.cli.machine import terminal
from openboxd.cli.machine.stdin import forward
from openboxd.errors import OutcomeUnknown
from openboxd.model import ExecOutput, ExecRequest

if TYPE_CHECKING:
    from openboxd.client.client import Client
    from openboxd.client.execution import Execution

Sink = Callable[[ExecOutput], None]

STDIN = 0


async def run(client: Client, ref: str, request: ExecRequest, sink: Sink, *, stdin: bool = True) -> int:
    """Run to the end; the exit status. Leaving early in any way ends the command. Without `stdin` it gets none."""
    execution = await client.exec(ref, request)
    try:
        with _terminal(execution) if request.tty else _nothing():
            feeding = forward(STDIN, execution.write, execution.write_eof) if stdin else execution.write_eof()
            feeder = asyncio.create_task(feeding)
            try:
                async for piece in execution.output():
                    sink(piece)
            finally:
                feeder.cancel()
                await asyncio.wait([feeder])
    finally:
        execution.cancel()
    if execution.exit_code is None:
        raise OutcomeUnknown("the command ended without an exit status")
    return execution.exit_code


def to_standard_streams(piece: ExecOutput) -> None:
    """Write through, unbuffered: bytes are bytes, and a slow reader of ours slows the command."""
    descriptor = 2 if piece.is_stderr else 1
    view = memoryview(piece.data)
    while view:
        try:
            view = view[os.write(descriptor, view) :]
        except BlockingIOError:
            select.select([], [descriptor], [])  # somebody made our stdout non-blocking


@contextmanager
def _terminal(execution: Execution) -> Iterator[None]:
    with terminal.raw(STDIN), terminal.following_size(execution.resize):
        yield


@contextmanager
def _nothing() -> Iterator[None]:
    yield
