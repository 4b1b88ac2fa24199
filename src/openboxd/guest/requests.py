"""Streams that the guest opens: questions to the daemon, each with one answer.

The guest is not trusted: questions are short, few at a time, and not without end. Which machine asks is known by the
channel, not by what it says.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any

from openboxd.errors import BoxdError
from openboxd.guest import wire
from openboxd.guest.violation import Violation, parse

Respond = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]
"""Answers a question; a BoxdError becomes a refusal. The result must fit into one frame."""

MAX_QUESTION = 8 * 1024
MAX_OPEN = 32
MAX_RATE = 1000
RATE_WINDOW = 60.0
LIMIT = 10.0  # seconds for an answer

log = logging.getLogger(__name__)


async def refuse_all(request: dict[str, Any]) -> dict[str, Any]:
    """Nothing is offered."""
    return {"error": "unknown", "message": "nothing is offered here"}


class GuestRequests:
    """The questions of one epoch."""

    def __init__(self, send: Callable[[bytes], None], respond: Respond) -> None:
        self._send = send
        self._respond = respond
        self._open: dict[int, asyncio.Task[None]] = {}
        self._count = 0
        self._since = time.monotonic()

    def receive(self, kind: int, ident: int, payload: bytes) -> None:
        """A frame on a stream of the guest's. Raises Violation."""
        if kind == wire.RESET:
            task = self._open.get(ident)
            if task is not None:
                task.cancel()
        elif kind == wire.OPEN:
            self._count_one()
            if ident in self._open or len(payload) > MAX_QUESTION:
                raise Violation("it asked in a way that no agent asks")
            if len(self._open) >= MAX_OPEN:
                self._send(wire.frame(wire.RESET, ident, b"{}"))
                return
            task = asyncio.create_task(self._answer(ident, parse(payload)), name="question of a guest")
            self._open[ident] = task
            task.add_done_callback(lambda _: self._open.pop(ident, None))
        # else: data for a question, of which there is none yet

    def _count_one(self) -> None:
        now = time.monotonic()
        if now > self._since + RATE_WINDOW:
            self._since, self._count = now, 0
        self._count += 1
        if self._count > MAX_RATE:
            raise Violation("it opened too many streams")

    async def _answer(self, ident: int, question: dict[str, Any]) -> None:
        try:
            async with asyncio.timeout(LIMIT):
                result = await self._respond(question)
        except BoxdError as error:
            result = {"error": "refused", "message": error.message}
        except TimeoutError:
            result = {"error": "refused", "message": "it took too long"}
        except Exception:
            log.exception("a question of a guest could not be answered")
            result = {"error": "failed", "message": "the daemon failed"}
        answer = json.dumps(result).encode("ascii")
        fits = len(answer) <= wire.MAX_PAYLOAD
        self._send(wire.frame(wire.RESULT, ident, answer) if fits else wire.frame(wire.RESET, ident, b"{}"))

    def close(self) -> None:
        """The epoch is over; nobody waits for answers."""
        for task in list(self._open.values()):
            task.cancel()
