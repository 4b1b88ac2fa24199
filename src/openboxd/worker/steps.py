"""The named steps of one operation, and how to take them back.

Progress, the journal, logs and fault points share the step names. An undo is registered BEFORE the step it
reverts: a step that raised may still have happened. Every undo is therefore harmless when there is nothing to
undo, and when it runs twice. A killed daemon is the journal's matter, not this module's: see `recovery`.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import TypeVar

T = TypeVar("T")
Undo = Callable[[], Awaitable[object]]
Fault = Callable[[str], None]
Enter = Callable[[str], Awaitable[None]]

UNDO_LIMIT = 60.0
"""Seconds one undo may take; the next one runs whatever became of it."""

log = logging.getLogger(__name__)


def no_fault(point: str) -> None:
    """The fault hook of a real daemon: nothing fails on purpose."""


async def no_journal(step: str) -> None:
    """The journal of an operation that needs no recovery."""


async def to_the_end(work: Coroutine[object, object, T]) -> T:
    """Carry `work` to its end also if the caller is cancelled meanwhile; the cancellation follows afterwards."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise


class Steps:
    """Runs steps in order; `unwind` takes back what was armed since the last `commit`."""

    def __init__(self, operation: str, *, enter: Enter = no_journal, fault: Fault = no_fault) -> None:
        self.operation = operation
        self._enter = enter
        self._fault = fault
        self._undos: list[tuple[str, Undo]] = []

    def undo(self, name: str, action: Undo) -> None:
        """Arm an undo; the last one armed runs first."""
        self._undos.append((name, action))

    async def run(self, name: str, action: Callable[[], Awaitable[T]]) -> T:
        """Journal, then carry out one step."""
        await self._enter(name)
        self._fault(f"before {name}")
        started = time.monotonic()
        result = await action()
        log.debug("%s: %s took %.1f ms", self.operation, name, 1000 * (time.monotonic() - started))
        self._fault(f"after {name}")
        return result

    def commit(self) -> None:
        """The point of no return: whatever fails from here on, go forward."""
        self._undos.clear()

    async def unwind(self) -> list[BaseException]:
        """Take back; what failed while doing so. Never raises, so that it cannot hide the first error."""
        failures: list[BaseException] = []
        while self._undos:
            name, action = self._undos.pop()
            try:
                async with asyncio.timeout(UNDO_LIMIT):
                    await action()
            except Exception as error:
                log.exception("%s: taking back '%s' failed", self.operation, name)
                failures.append(error)
        return failures
