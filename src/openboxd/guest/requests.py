"""Streams that the guest opens: questions to the daemon, each with one answer, and visits to doors of the daemon.

The guest is not trusted: questions are short, few at a time, and not without end; visits are few, and what they send
is held back by credit. Which machine asks is known by the channel, not by what it says.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any

from openboxd.errors import BoxdError, Interrupted
from openboxd.guest import wire
from openboxd.guest.call import Call, Carrier
from openboxd.guest.violation import Violation, parse

Respond = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]
"""Answers a question; a BoxdError becomes a refusal. The result must fit into one frame."""

Receive = Callable[[str, Call], Awaitable[None]]
"""Serves a visit to the named door. The visit is over when this returns; a BoxdError refuses it."""

MAX_QUESTION = 8 * 1024
MAX_OPEN = 32
MAX_VISITS = 32
MAX_RATE = 1000
RATE_WINDOW = 60.0
LIMIT = 10.0  # seconds for an answer

log = logging.getLogger(__name__)


async def refuse_all(request: dict[str, Any]) -> dict[str, Any]:
    """Nothing is offered."""
    return {"error": "unknown", "message": "nothing is offered here"}


async def receive_none(door: str, visit: Call) -> None:
    """There are no doors."""
    visit.reset()


class GuestRequests:
    """The questions and visits of one epoch. Carries the streams of visits."""

    def __init__(self, epoch: Carrier, respond: Respond, receive: Receive = receive_none) -> None:
        self.send, self.writable = epoch.send, epoch.writable
        self.silence, self.useless = epoch.silence, epoch.useless
        self.look_for_life = epoch.look_for_life
        self._respond = respond
        self._receive = receive
        self._open: dict[int, asyncio.Task[None]] = {}
        self._visits: dict[int, Call] = {}
        self._visiting: set[asyncio.Task[None]] = set()
        self._count = 0
        self._since = time.monotonic()

    def receive(self, kind: int, ident: int, payload: bytes) -> None:
        """A frame on a stream of the guest's. Raises Violation."""
        if kind == wire.OPEN:
            self._opened(ident, payload)
        elif ident in self._visits:
            try:
                self._visits[ident].receive(kind, payload)
            except ValueError as error:
                raise Violation(str(error)) from error
        else:  # a question has one frame; the others are for what is over
            self.useless.count()
            if kind == wire.RESET and ident in self._open:
                self._open[ident].cancel()

    def _opened(self, ident: int, payload: bytes) -> None:
        self._count_one()
        if ident in self._open or ident in self._visits or len(payload) > MAX_QUESTION:
            raise Violation("it asked in a way that no agent asks")
        request = parse(payload)
        visits = request.get("op") == "visit"
        if len(self._visiting) >= MAX_VISITS if visits else len(self._open) >= MAX_OPEN:
            self.send(wire.frame(wire.RESET, ident, b"{}"))
        elif visits:
            self._begin_visit(ident, str(request.get("door")))
        else:
            task = asyncio.create_task(self._answer(ident, request), name="question of a guest")
            self._open[ident] = task
            task.add_done_callback(lambda _: self._open.pop(ident, None))

    def _count_one(self) -> None:
        now = time.monotonic()
        if now > self._since + RATE_WINDOW:
            self._since, self._count = now, 0
        self._count += 1
        if self._count > MAX_RATE:
            raise Violation("it opened too many streams")

    # -- questions
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
        self.send(wire.frame(wire.RESULT, ident, answer) if fits else wire.frame(wire.RESET, ident, b"{}"))

    # -- visits
    def _begin_visit(self, ident: int, door: str) -> None:
        visit = self._visits[ident] = Call(self, ident, wire.VISIT_WINDOW)
        visit.patient = True
        task = asyncio.create_task(self._serve(visit, door), name="visit of a guest")
        self._visiting.add(task)
        task.add_done_callback(self._visiting.discard)

    async def _serve(self, visit: Call, door: str) -> None:
        try:
            await self._receive(door, visit)
        except BoxdError as error:
            log.debug("a visit of a guest was ended: %s", error)
        except Exception:
            log.exception("a visit of a guest failed")
            visit.reset()
        finally:
            visit.conclude()

    def forget(self, ident: int) -> None:
        """See call.Carrier."""
        self._visits.pop(ident, None)

    def close(self, reason: str) -> None:
        """The epoch is over; nobody waits for answers. Who serves a visit is told."""
        for task in list(self._open.values()):
            task.cancel()
        for visit in list(self._visits.values()):
            visit.fail(Interrupted(reason))
        self._visits.clear()
