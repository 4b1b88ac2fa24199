"""The calls under way, so that none ends without a word.

When the server stops, or the key of a stream is deleted, the calls concerned are ended with an error of ours. Left to
gRPC they would end UNAVAILABLE, which tells clients that nothing was applied and makes them try again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from openboxd.errors import BoxdError, Interrupted, OutcomeUnknown, Unauthenticated, Unavailable

log = logging.getLogger(__name__)


@dataclass
class Call:
    """One call: its name, the key it came with (or the machine that speaks) once that is known, and why it was ended,
    if it was."""

    name: str
    streams: bool
    key_id: str = ""
    verdict: BoxdError | None = None


class Calls:
    """All calls of one server."""

    def __init__(self) -> None:
        self._calls: dict[asyncio.Task[object], Call] = {}
        self._stopping = False
        self._idle = asyncio.Event()
        self._idle.set()

    @contextmanager
    def under_way(self, name: str, *, streams: bool) -> Iterator[Call]:
        """Count the current task as a call. One that is ended raises its verdict out of the block.

        Raises:
            Unavailable: the server stops; nothing was done.
        """
        if self._stopping:
            raise Unavailable("boxd is stopping; nothing was done; try again when it is back")
        task = asyncio.current_task()
        assert task is not None
        call = self._calls[task] = Call(name, streams)
        self._idle.clear()
        try:
            yield call
        except asyncio.CancelledError:
            if call.verdict is None:
                raise
            task.uncancel()
            raise call.verdict from None
        finally:
            del self._calls[task]
            if not self._calls:
                self._idle.set()

    def revoke(self, key_id: str, why: str = "") -> None:
        """End the streams that came with this key; without a reason it was deleted, else its user may do less now.

        Single answers were admitted and are on their way.
        """
        for task, call in self._calls.items():
            if call.key_id == key_id and call.streams:
                self._end(task, call, _cut_off(call, why))

    async def stop(self, grace: float) -> None:
        """Take no more calls; give those under way `grace` seconds, then end them."""
        self._stopping = True
        try:
            async with asyncio.timeout(grace):
                await self._idle.wait()
        except TimeoutError:
            for task, call in self._calls.items():
                self._end(task, call, _stopped(call))
            try:
                async with asyncio.timeout(grace):
                    await self._idle.wait()
            except TimeoutError:
                log.warning("%d calls do not end; their callers are left without a word", len(self._calls))

    @staticmethod
    def _end(task: asyncio.Task[object], call: Call, verdict: BoxdError) -> None:
        if call.verdict is None and task is not asyncio.current_task():
            call.verdict = verdict
            task.cancel()


def _cut_off(call: Call, why: str) -> BoxdError:
    if why:
        return Interrupted(f"{call.name} was ended: {why}")
    return Unauthenticated(f"{call.name} was ended: its API key was deleted")


def _stopped(call: Call) -> BoxdError:
    if call.streams:
        return Interrupted(f"{call.name} was cut off because boxd stops; machines run on; try again when it is back")
    return OutcomeUnknown(
        f"boxd stops before {call.name} has ended; whether it takes effect is unknown: look before you repeat it"
    )
