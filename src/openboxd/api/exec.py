"""Exec: a command in the guest, as a stream both ways.

The first chunk says what to run; later ones carry stdin or a new terminal size. The caller's half-close is the end
of stdin and nothing more, so the command goes on; hanging up is what ends it. Only the last chunk carries the exit
status, because a client takes the last one it has seen.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import suppress

from openboxd.api.door import Method
from openboxd.api.ports import Service
from openboxd.api.streams import reading
from openboxd.errors import BoxdError, InvalidArgument, OutcomeUnknown
from openboxd.model import Caller, ExecRequest
from openboxd.ports import ExecSession
from openboxd.wire import boxd_api_pb2 as pb

log = logging.getLogger(__name__)

MAX_CELLS = 65535
"""Columns or rows of a terminal: the kernel keeps them in 16 bits."""

DRAIN_STEP = 0.25
DRAIN_LIMIT = 5.0
"""Seconds of silence from the caller, and altogether, until a call whose command has ended is closed."""


class Stdin:
    """What the caller sends after the first chunk, on its way into the session."""

    def __init__(self, session: ExecSession, first: pb.ExecChunk, requests: AsyncIterator[pb.ExecChunk]) -> None:
        self.chunks = 0
        self._task = asyncio.create_task(self._all(session, first, requests))

    async def drain(self) -> None:
        """Swallow what a caller still sends to a command that has ended.

        Closing the call at once would fail the write that is under way, and some gRPC clients (grpc.aio) then report
        that failure in place of the exit status or of our error. A caller who ends stdin, as ours does on the last
        chunk, is not kept waiting; one who holds it open waits for one step.
        """
        seen = -1
        with suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_LIMIT):
                while not self._task.done() and self.chunks > seen:
                    seen = self.chunks
                    await asyncio.wait([self._task], timeout=DRAIN_STEP)

    def close(self) -> None:
        """Stop reading from the caller."""
        self._task.cancel()

    async def _all(self, session: ExecSession, first: pb.ExecChunk, requests: AsyncIterator[pb.ExecChunk]) -> None:
        await self._feed(session, first, requests)
        try:
            async for _ in requests:
                self.chunks += 1
        except Exception:
            log.debug("the caller of an exec that is over broke off", exc_info=True)

    async def _feed(self, session: ExecSession, first: pb.ExecChunk, requests: AsyncIterator[pb.ExecChunk]) -> None:
        """Pass stdin and sizes on. A failure here is told by the output, which the caller reads."""
        try:
            if first.data:
                await session.write(first.data)
            async for chunk in requests:
                self.chunks += 1
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


async def exec_(
    service: Service, caller: Caller, requests: AsyncIterator[pb.ExecChunk]
) -> AsyncIterator[pb.ExecChunk]:
    first = await anext(aiter(requests), None)
    if first is None or not first.command:
        raise InvalidArgument("the first chunk of an exec must name a machine and a command")
    session = await service.exec(caller, first.vm_id, _request(first))
    stdin = Stdin(session, first, requests)
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
        await stdin.drain()
    except BoxdError:
        await stdin.drain()
        raise
    finally:
        stdin.close()
        if not ended:
            await session.cancel()


def _request(first: pb.ExecChunk) -> ExecRequest:
    return ExecRequest(
        command=first.command,
        tty=first.tty,
        cols=min(first.cols, MAX_CELLS) or 80,
        rows=min(first.rows, MAX_CELLS) or 24,
    )


METHODS: dict[str, Method] = {"Exec": exec_}
