"""Exec: a command in the guest, as a stream both ways.

The first chunk says what to run; later ones carry stdin or a new terminal size. The caller's half-close is the end
of stdin and nothing more, so the command goes on; hanging up is what ends it. Only the last chunk carries the exit
status, because a client takes the last one it has seen.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator

from openboxd.api.door import Method
from openboxd.api.ports import ExecSession, Service
from openboxd.api.streams import reading
from openboxd.errors import BoxdError, InvalidArgument, OutcomeUnknown
from openboxd.model import Caller, ExecRequest
from openboxd.wire import boxd_api_pb2 as pb

log = logging.getLogger(__name__)

MAX_CELLS = 65535
"""Columns or rows of a terminal: the kernel keeps them in 16 bits."""


async def exec_(
    service: Service, caller: Caller, requests: AsyncIterator[pb.ExecChunk]
) -> AsyncIterator[pb.ExecChunk]:
    first = await anext(aiter(requests), None)
    if first is None or not first.command:
        raise InvalidArgument("the first chunk of an exec must name a machine and a command")
    session = await service.exec(caller, first.vm_id, _request(first))
    feeder = asyncio.create_task(_feed(session, first, requests))
    ended = False
    try:
        async with reading(session.output()) as output:
            async for piece in output:
                if piece.data:
                    # On a terminal the two are one stream, whatever the guest says.
                    yield pb.ExecChunk(data=piece.data, is_stderr=piece.is_stderr and not first.tty)
        ended = True
        if session.exit_code is None:
            raise OutcomeUnknown("the command ended without an exit status")
        yield pb.ExecChunk(exit_code=session.exit_code)
    finally:
        feeder.cancel()
        if not ended:
            await session.cancel()


def _request(first: pb.ExecChunk) -> ExecRequest:
    return ExecRequest(
        command=first.command,
        tty=first.tty,
        cols=min(first.cols, MAX_CELLS) or 80,
        rows=min(first.rows, MAX_CELLS) or 24,
    )


async def _feed(session: ExecSession, first: pb.ExecChunk, requests: AsyncIterator[pb.ExecChunk]) -> None:
    """Pass stdin and sizes on. A failure here is told by the output, which the caller reads."""
    try:
        if first.data:
            await session.write(first.data)
        async for chunk in requests:
            if chunk.window_change:
                await session.resize(min(chunk.cols, MAX_CELLS) or 80, min(chunk.rows, MAX_CELLS) or 24)
            elif chunk.data:
                await session.write(chunk.data)
        await session.write_eof()
    except BoxdError as error:
        log.debug("stdin of an exec ended: %s", error)
    except Exception:
        log.exception("stdin of an exec broke; the command is ended")
        await session.cancel()


METHODS: dict[str, Method] = {"Exec": exec_}
