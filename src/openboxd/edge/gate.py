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
from http import HTTPStatus

from openboxd.edge.answers import answer
from openboxd.edge.dials import Dial, Dials
from openboxd.edge.limits import Limits
from openboxd.edge.listener import Acceptor
from openboxd.edge.streams import SocketStream, Stream, splice
from openboxd.edge.turns import GateState, TurnedAway, Turns, Used, Waited
from openboxd.model import Held

log = logging.getLogger(__name__)


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
        self._http, self._used = http, used
        self._turns = Turns(self._limits, waited, used)
        self._dials = Dials(self._limits.dials)
        self._tasks: set[asyncio.Task[None]] = set()
        self._established: dict[asyncio.Task[bool], asyncio.Task[None]] = {}  # a splice, and whose it is
        self._acceptor = Acceptor(listener, self._take)

    @property
    def state(self) -> GateState:
        """What happens to a new connection now."""
        return self._turns.state

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
        return self._turns.waiting

    async def hold(self, drain: float = 0.15) -> None:
        """Let nobody through from now on; those who are get `drain` seconds to end and are then cut."""
        self.begin_hold()
        await self.drain(drain)

    def begin_hold(self) -> None:
        """Let nobody through from now on; those who are are not touched."""
        if self._turns.become(GateState.HELD):
            self._dials.give_up()  # they lead to what was

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
        return self._turns.release()

    async def shut(self, reason: str) -> None:
        """Turn everybody away with this sentence, those who wait and those who are let through as well."""
        if self._turns.shut(reason):
            self._dials.give_up()
        await self.cut()

    @property
    def in_use(self) -> bool:
        """Whether there is any connection, let through or waiting."""
        return bool(self._tasks)

    def turn_away(self, reason: str) -> None:
        """Turn those away who wait now, with this sentence; who comes later waits again."""
        self._turns.turn_away(reason)

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
        except TurnedAway as refusal:
            if self._http:
                await answer(client, refusal.answer)
                whole = True
        finally:
            client.close(reset=not whole)

    async def _reach_guest(self, client: SocketStream) -> Stream:
        """Wait until the gate is open, and dial; again if it was held meanwhile.

        Raises:
            TurnedAway: it is shut, too many wait, the wait took too long, or the guest refuses.
        """
        began = time.monotonic()
        patience, patient_until, silence_until = self._limits.starting, 0.0, began + self._limits.wait
        while True:
            if self._turns.state is not GateState.OPEN:
                await self._turns.wait(client, began, self.name)
                patience, patient_until = max(self._limits.patience, self._limits.starting), 0.0
            async with self._dials.places:
                if self._turns.state is not GateState.OPEN:
                    continue
                # Counted from its own first dial: a release may let many go before it.
                patient_until = patient_until or time.monotonic() + patience
                epoch = self._turns.epoch
                guest = await self._dial_once(patient_until, silence_until)
            if guest is not None and epoch == self._turns.epoch:
                return guest
            if guest is not None:
                guest.close(reset=True)
            elif epoch == self._turns.epoch:
                await asyncio.sleep(self._limits.retry)

    async def _dial_once(self, patient_until: float, silence_until: float) -> Stream | None:
        """The guest, or None if it may be asked again, or if a hold made us give up.

        It may be if it refused before `patient_until`, or did not answer in time before `silence_until`.

        Raises:
            TurnedAway: the guest refuses, and there is no reason for patience.
        """
        found = await self._dials.once(self.dial)
        if not isinstance(found, OSError):
            return found
        limit = max(patient_until, silence_until) if isinstance(found, TimeoutError) else patient_until
        if time.monotonic() < limit or self._turns.state is not GateState.OPEN:
            return None
        log.info("a client of %s was turned away: %s", self.name, found)
        raise TurnedAway(HTTPStatus.BAD_GATEWAY, f"nothing answers on {self.name}")

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
