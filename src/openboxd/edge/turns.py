"""The state of a gate, and those who wait for it to be open."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from enum import Enum
from http import HTTPStatus

from openboxd.edge.answers import http_answer
from openboxd.edge.limits import Limits
from openboxd.edge.streams import SocketStream
from openboxd.model import Held

Used = Callable[[], None]

Waited = Callable[[float], None]
"""Told the seconds that a connection was held."""

_LOOK = 1.0
"""Seconds after which a waiting connection looks whether its client is still there, to free its place."""


class GateState(Enum):
    """What happens to a new connection."""

    OPEN = "open"  # it is let through
    HELD = "held"  # it waits
    SHUT = "shut"  # it is turned away with a reason


class TurnedAway(Exception):
    """A connection that cannot be let through."""

    def __init__(self, status: HTTPStatus, sentence: str, retry_after: int = 0) -> None:
        super().__init__(sentence)
        self.answer = http_answer(status, sentence, retry_after)


class Turns:
    """Who may pass, who waits, and what waiting cost.

    Args:
        waited: told the seconds that each held connection waited.
        used: told while somebody waits.

    Attributes:
        state: what happens to a new connection now; `become` changes it.
        epoch: counts the times it ceased to be open: a dial of an earlier epoch leads to what was.
    """

    def __init__(self, limits: Limits, waited: Waited, used: Used) -> None:
        self._limits, self._waited, self._used = limits, waited, used
        self.state = GateState.OPEN
        self.epoch = 0
        self._reason = ""
        self._turns = 0  # how often those who waited were turned away
        self._changed = asyncio.Event()
        self._waiting: dict[SocketStream, float] = {}  # since when
        self._hold = Held()

    @property
    def waiting(self) -> int:
        """Connections that wait now."""
        return len(self._waiting)

    def become(self, state: GateState) -> bool:
        """Enter a state and wake those whom it concerns; whether it is another one."""
        if state is self.state:
            return False
        self.epoch += self.state is GateState.OPEN
        self.state = state
        self._tell()
        return True

    def release(self) -> Held:
        """Let everybody go on; what the hold cost."""
        now = time.monotonic()
        for since in self._waiting.values():
            self._count(now - since)
        report, self._hold = self._hold, Held()
        self.become(GateState.OPEN)
        return report

    def shut(self, reason: str) -> bool:
        """Turn everybody away with this sentence; whether it was not shut before."""
        self._reason = reason
        self._hold = Held()
        return self.become(GateState.SHUT)

    def turn_away(self, reason: str) -> None:
        """Turn those away who wait now, with this sentence; who comes later waits again."""
        self._reason, self._turns = reason, self._turns + 1
        self._tell()

    async def wait(self, client: SocketStream, began: float, name: str) -> None:
        """Until the gate is open. `name`: what is behind it, for people.

        Raises:
            TurnedAway: it is shut, too many wait, the client has left, or the wait took too long.
        """
        if self.state is GateState.HELD and len(self._waiting) >= self._limits.held:
            raise TurnedAway(HTTPStatus.SERVICE_UNAVAILABLE, f"too many requests wait for {name}", 1)
        self._waiting[client], turn = began, self._turns
        try:
            while self.state is GateState.HELD:
                self._used()
                left = began + self._limits.wait - time.monotonic()
                if left <= 0:
                    self._count(time.monotonic() - began)
                    sentence = f"{name} has not answered for {self._limits.wait:.0f} s; try again"
                    raise TurnedAway(HTTPStatus.SERVICE_UNAVAILABLE, sentence, 5)
                if turn != self._turns:
                    raise TurnedAway(HTTPStatus.SERVICE_UNAVAILABLE, self._reason, 5)
                if client.gone:
                    raise TurnedAway(HTTPStatus.REQUEST_TIMEOUT, "the client has left")
                await _either(self._changed, min(left, _LOOK))
        finally:
            del self._waiting[client]
        if self.state is GateState.SHUT:
            raise TurnedAway(HTTPStatus.SERVICE_UNAVAILABLE, self._reason, 30)

    def _tell(self) -> None:
        """Let those who wait look again."""
        self._changed.set()
        self._changed = asyncio.Event()

    def _count(self, waited: float) -> None:
        self._waited(waited)
        self._hold = self._hold.and_also(Held(1, round(waited * 1000)))


async def _either(event: asyncio.Event, timeout: float) -> None:
    """Until the event, or `timeout` seconds."""
    with suppress(TimeoutError):
        async with asyncio.timeout(timeout):
            await event.wait()
