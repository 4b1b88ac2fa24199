"""A gate: the one way in to a port of a machine, which stays while the machine behind it is swapped.

    open ── hold ──► held ── release ──► open         shut: the machine is stopped; everybody is told so
      │                │                  ▲
      └───── shut ─────┴──── shut ──► shut ┘ release

A gate accepts always. While it is held, new connections wait, unread, and are let through at the release; those that
are established get a moment to end and are then cut. It dials the guest as soon as a connection may pass, without
waiting for the client's bytes (in SSH the server may speak first), and pairs the two only once the dial has
succeeded, so a client never notices a dial that was given up for a swap.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from http import HTTPStatus

from openboxd.edge.answers import answer, http_answer
from openboxd.edge.listener import Acceptor
from openboxd.edge.streams import SocketStream, Stream, splice
from openboxd.model import Held

Dial = Callable[[], Awaitable[Stream]]
"""Connects to the guest's port. Raises OSError if the guest refuses or does not answer."""

Used = Callable[[], None]

Waited = Callable[[float], None]
"""Told the seconds that a connection was held."""

log = logging.getLogger(__name__)

_LOOK = 1.0
"""Seconds after which a waiting connection looks whether its client is still there, to free its place."""


class GateState(Enum):
    """What happens to a new connection."""

    OPEN = "open"  # it is let through
    HELD = "held"  # it waits
    SHUT = "shut"  # it is turned away with a reason


@dataclass(frozen=True)
class Limits:
    """What a gate allows.

    Attributes:
        held: connections that may wait at one time.
        connections: connections at one time, whatever they do.
        wait: seconds one may wait.
        dials: dials at one time, so that a release is no flood.
        patience: seconds for which a held connection's dial is repeated after a refusal: what listens in a guest
            that has just been swapped or booted may need a moment.
        starting: the same for every connection, held or not, where what listens is known to come.
        retry: seconds between such dials.
    """

    held: int = 1000
    connections: int = 2000
    wait: float = 60.0
    dials: int = 64
    patience: float = 1.0
    starting: float = 0.0
    retry: float = 0.02


class _TurnedAway(Exception):
    """A connection that cannot be let through."""

    def __init__(self, status: HTTPStatus, sentence: str, retry_after: int = 0) -> None:
        super().__init__(sentence)
        self.answer = http_answer(status, sentence, retry_after)


class Gate:
    """One listening socket and the connections that came in by it. Must be made inside a running loop.

    Args:
        listener: listens already; the gate closes it.
        dial: how to reach the guest.
        name: what is behind it, for people: "port 8000 of machine 'web'".
        http: turn clients away with an HTTP answer, rather than by closing.
        waited: told the seconds that each held connection waited.
        used: told whenever a client comes, waits, sends something or leaves; it must cost nothing.
    """

    def __init__(
        self,
        listener: socket.socket,
        dial: Dial,
        name: str,
        *,
        http: bool = False,
        limits: Limits | None = None,
        waited: Waited = lambda seconds: None,
        used: Used = lambda: None,
    ) -> None:
        self.dial = dial
        self._limits = limits or Limits()
        self.name = name
        self._http, self._waited, self._used = http, waited, used
        self._state = GateState.OPEN
        self._reason = ""
        self._turns = 0  # how often those who waited were turned away
        self._changed = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._dialling: set[asyncio.Task[Stream]] = set()
        self._established: dict[asyncio.Task[bool], asyncio.Task[None]] = {}  # a splice, and whose it is
        self._waiting: dict[SocketStream, float] = {}  # since when
        self._epoch = 0  # counts the times it ceased to be open: a dial of an earlier epoch leads to what was
        self._hold = Held()
        self._dials = asyncio.Semaphore(self._limits.dials)
        self._acceptor = Acceptor(listener, self._take)

    @property
    def state(self) -> GateState:
        """What happens to a new connection now."""
        return self._state

    @property
    def port(self) -> int:
        """The TCP port it listens on; 0 for a UNIX socket."""
        return self._acceptor.port

    @property
    def established(self) -> int:
        """Connections that are let through now."""
        return len(self._established)

    @property
    def waiting(self) -> int:
        """Connections that wait now."""
        return len(self._waiting)

    async def hold(self, drain: float = 0.15) -> None:
        """Let nobody through from now on; those who are get `drain` seconds to end and are then cut."""
        self.begin_hold()
        await self.drain(drain)

    def begin_hold(self) -> None:
        """Let nobody through from now on; those who are are not touched."""
        self._become(GateState.HELD)

    async def drain(self, seconds: float) -> None:
        """Give the established connections this long to end, then cut them."""
        if self._established and seconds > 0:
            await asyncio.wait(set(self._established), timeout=seconds)
        await self.cut()

    async def cut(self) -> None:
        """End the established connections now. A new one may follow if the gate is open."""
        doomed = dict(self._established)
        for connection in doomed:
            connection.cancel()
        if doomed:
            await asyncio.wait(doomed.values())

    def release(self) -> Held:
        """Let everybody through again; what the hold cost. Harmless when open."""
        now = time.monotonic()
        for since in self._waiting.values():
            self._count(now - since)
        report, self._hold = self._hold, Held()
        self._become(GateState.OPEN)
        return report

    async def shut(self, reason: str) -> None:
        """Turn everybody away with this sentence, those who wait and those who are let through as well."""
        self._reason = reason
        self._hold = Held()
        self._become(GateState.SHUT)
        await self.cut()

    @property
    def in_use(self) -> bool:
        """Whether there is any connection, let through or waiting."""
        return bool(self._tasks)

    def turn_away(self, reason: str) -> None:
        """Turn those away who wait now, with this sentence; who comes later waits again."""
        self._reason, self._turns = reason, self._turns + 1
        self._tell()

    async def finish(self, seconds: float) -> None:
        """Take nobody in any more, and give those who are in this long to end. Only to be closed afterwards."""
        await self._acceptor.close()
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=seconds)

    async def close(self) -> None:
        """End the gate and its connections. Harmless twice."""
        await self._acceptor.close()
        tasks = set(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    # -- one connection

    def _take(self, connection: socket.socket) -> None:
        client = SocketStream(connection, heard=self._used)
        self._used()
        if len(self._tasks) >= self._limits.connections:
            client.close(reset=True)
            return
        task = asyncio.create_task(self._serve(client))
        self._tasks.add(task)
        task.add_done_callback(self._served)

    def _served(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._used()
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a connection to %s ended by a fault of ours", self.name, exc_info=error)

    async def _serve(self, client: SocketStream) -> None:
        """From accept to the end of one connection."""
        whole = False
        try:
            guest = await self._reach_guest(client)
            try:
                whole = await self._pass_through(client, guest)
            finally:
                guest.close(reset=not whole)
        except _TurnedAway as refusal:
            if self._http:
                await answer(client, refusal.answer)
                whole = True
        finally:
            client.close(reset=not whole)

    async def _reach_guest(self, client: SocketStream) -> Stream:
        """Wait until the gate is open, and dial; again if it was held meanwhile.

        Raises:
            _TurnedAway: it is shut, too many wait, the wait took too long, or the guest refuses.
        """
        began = time.monotonic()
        patience, patient_until, silence_until = self._limits.starting, 0.0, began + self._limits.wait
        while True:
            if self._state is not GateState.OPEN:
                await self._wait_turn(client, began)
                patience, patient_until = max(self._limits.patience, self._limits.starting), 0.0
            async with self._dials:
                if self._state is not GateState.OPEN:
                    continue
                # Counted from its own first dial: a release may let many go before it.
                patient_until = patient_until or time.monotonic() + patience
                epoch = self._epoch
                guest = await self._dial_once(patient_until, silence_until)
            if guest is not None and epoch == self._epoch:
                return guest
            if guest is not None:
                guest.close(reset=True)
            elif epoch == self._epoch:
                await asyncio.sleep(self._limits.retry)

    async def _wait_turn(self, client: SocketStream, began: float) -> None:
        """Until the gate is open."""
        if self._state is GateState.HELD and len(self._waiting) >= self._limits.held:
            raise _TurnedAway(HTTPStatus.SERVICE_UNAVAILABLE, f"too many requests wait for {self.name}", 1)
        self._waiting[client], turn = began, self._turns
        try:
            while self._state is GateState.HELD:
                self._used()
                left = began + self._limits.wait - time.monotonic()
                if left <= 0:
                    self._count(time.monotonic() - began)
                    sentence = f"{self.name} has not answered for {self._limits.wait:.0f} s; try again"
                    raise _TurnedAway(HTTPStatus.SERVICE_UNAVAILABLE, sentence, 5)
                if turn != self._turns:
                    raise _TurnedAway(HTTPStatus.SERVICE_UNAVAILABLE, self._reason, 5)
                if client.gone:
                    raise _TurnedAway(HTTPStatus.REQUEST_TIMEOUT, "the client has left")
                await _either(self._changed, min(left, _LOOK))
        finally:
            del self._waiting[client]
        if self._state is GateState.SHUT:
            raise _TurnedAway(HTTPStatus.SERVICE_UNAVAILABLE, self._reason, 30)

    async def _dial_once(self, patient_until: float, silence_until: float) -> Stream | None:
        """The guest, or None if it may be asked again, or if a hold made us give up.

        It may be if it refused before `patient_until`, or did not answer in time before `silence_until`.

        Raises:
            _TurnedAway: the guest refuses, and there is no reason for patience.
        """
        dialling = asyncio.ensure_future(self.dial())
        self._dialling.add(dialling)
        try:
            await asyncio.wait({dialling})
        except asyncio.CancelledError:
            dialling.cancel()
            dialling.add_done_callback(_drop)
            raise
        finally:
            self._dialling.discard(dialling)
        if dialling.cancelled():
            return None
        error = dialling.exception()
        if error is None:
            return dialling.result()
        if not isinstance(error, OSError):
            raise error
        limit = max(patient_until, silence_until) if isinstance(error, TimeoutError) else patient_until
        if time.monotonic() < limit or self._state is not GateState.OPEN:
            return None
        log.info("a client of %s was turned away: %s", self.name, error)
        raise _TurnedAway(HTTPStatus.BAD_GATEWAY, f"nothing answers on {self.name}")

    async def _pass_through(self, client: Stream, guest: Stream) -> bool:
        """Splice, as a task of its own that `cut` can end. False if it was cut or broke."""
        serving = asyncio.current_task()
        assert serving is not None
        connection = asyncio.create_task(splice(client, guest))
        self._established[connection] = serving
        try:
            await asyncio.wait({connection})
        finally:
            del self._established[connection]
            if not connection.done():  # the gate is being closed
                connection.cancel()
                await asyncio.wait({connection})
        return not connection.cancelled() and connection.result()

    # -- the state

    def _become(self, state: GateState) -> None:
        """Enter a state and wake those whom it concerns. Dials under way lead to what was: they are given up."""
        if state is self._state:
            return
        self._epoch += self._state is GateState.OPEN
        self._state = state
        self._tell()
        if state is not GateState.OPEN:
            for dialling in self._dialling:
                dialling.cancel()

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


def _drop(dialling: asyncio.Future[Stream]) -> None:
    """Close what a dial brought that nobody waits for any more."""
    if not dialling.cancelled() and dialling.exception() is None:
        dialling.result().close(reset=True)
