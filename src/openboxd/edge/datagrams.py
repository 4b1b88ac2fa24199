"""The gate of a UDP port: passes datagrams on while it is open, and drops them otherwise.

Nobody waits for a datagram: its sender says it again, or does not care. Each client has a flow of its own, so that
the service in the guest can tell clients apart; a flow ends when nothing has gone through it for a while.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Protocol

from openboxd.errors import BoxdError
from openboxd.model import Held

LARGEST = 65_507
"""Bytes of the largest datagram."""

MAX_FLOWS = 256
"""Clients of one port at a time; the one that was silent longest makes room for another."""

MAX_QUEUED = 128 * 1024
"""Bytes of one client that may wait for the guest; more are dropped."""

IDLE = 120.0
"""Seconds after which a silent flow ends: what routers on the way give it as well (RFC 4787)."""

BATCH = 64
"""Datagrams that are taken at one go, so that a flood leaves time for others."""

log = logging.getLogger(__name__)


class Datagrams(Protocol):
    """See ports.GuestDatagrams."""

    async def receive(self) -> bytes | None: ...
    async def send(self, datagram: bytes) -> None: ...
    def close(self) -> None: ...


Reach = Callable[[], Awaitable[Datagrams]]
"""A socket of the guest for one client. Raises OSError, BoxdError if the guest cannot be reached."""


class Flow:
    """One client's datagrams and the answers to them."""

    def __init__(self) -> None:
        self.used = time.monotonic()
        self._queue: deque[bytes] = deque()
        self._queued = 0
        self._news = asyncio.Event()

    def put(self, datagram: bytes) -> None:
        """Take one on its way; what does not fit is dropped."""
        self.used = time.monotonic()
        if self._queued + len(datagram) <= MAX_QUEUED:
            self._queue.append(datagram)
            self._queued += len(datagram) + 1
            self._news.set()

    async def pass_on(self, guest: Datagrams) -> None:
        """Send what comes, without end."""
        while True:
            while self._queue:
                datagram = self._queue.popleft()
                self._queued -= len(datagram) + 1
                await guest.send(datagram)
            self._news.clear()
            await self._news.wait()


class DatagramGate:
    """One listening UDP socket and its flows. Must be made inside a running loop. Held and shut as a Gate is.

    Args:
        listener: listens already; the gate closes it.
        reach: how to reach the guest.
        name: what is behind it, for people.
        used: told whenever somebody sends something.
    """

    def __init__(
        self,
        listener: socket.socket,
        reach: Reach,
        name: str,
        idle: float = IDLE,
        used: Callable[[], None] = lambda: None,
    ) -> None:
        self.name, self._used = name, used
        self._listener, self._reach, self._idle = listener, reach, idle
        self._open = True
        self._flows: OrderedDict[Any, tuple[Flow, asyncio.Task[None]]] = OrderedDict()  # least recently used first
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(listener, self._readable)

    @property
    def established(self) -> int:
        """Clients that have a flow now."""
        return len(self._flows)

    @property
    def waiting(self) -> int:
        """Nobody waits for a datagram."""
        return 0

    @property
    def in_use(self) -> bool:
        """Each datagram is told; that a flow is kept for a while says nothing."""
        return False

    def turn_away(self, reason: str) -> None:
        """Nobody waits."""

    def begin_hold(self) -> None:
        """Drop what comes from now on."""
        self._open = False

    async def drain(self, seconds: float) -> None:
        """End the flows: what is under way needs no moment, as it may be lost anyhow."""
        await self._end_flows()

    def release(self) -> Held:
        """Pass datagrams on again; nobody has waited."""
        self._open = True
        return Held()

    async def shut(self, reason: str) -> None:
        """Drop what comes; there is nobody to tell why."""
        self.begin_hold()
        await self._end_flows()

    async def close(self) -> None:
        """End the gate and its flows. Harmless twice."""
        if self._listener.fileno() >= 0:
            self._loop.remove_reader(self._listener)
            self._listener.close()
        self._open = False
        await self._end_flows()

    def _readable(self) -> None:
        for _ in range(BATCH):
            try:
                datagram, client = self._listener.recvfrom(LARGEST)
            except BlockingIOError:
                return
            except OSError as error:  # what an earlier answer met on its way; the next call reads on
                log.debug("%s: %s", self.name, error)
                continue
            self._used()
            if self._open:
                self._flow(client).put(datagram)

    def _flow(self, client: Any) -> Flow:
        """The client's flow; a new one takes the place of the one that was silent longest."""
        if client not in self._flows:
            if len(self._flows) >= MAX_FLOWS:
                _, (_, oldest) = self._flows.popitem(last=False)
                oldest.cancel()
            flow = Flow()
            self._flows[client] = (flow, asyncio.create_task(self._serve(flow, client)))
        self._flows.move_to_end(client)
        return self._flows[client][0]

    async def _serve(self, flow: Flow, client: Any) -> None:
        try:
            guest = await self._reach()
            try:
                await self._exchange(flow, client, guest)
            finally:
                guest.close()
        except (OSError, BoxdError) as error:
            log.debug("%s: a client's datagrams are dropped: %s", self.name, error)
        finally:
            if self._flows.get(client, (None,))[0] is flow:
                del self._flows[client]

    async def _exchange(self, flow: Flow, client: Any, guest: Datagrams) -> None:
        """Both directions, until nothing has gone through for a while."""
        work = [
            asyncio.create_task(flow.pass_on(guest)),
            asyncio.create_task(self._answer(flow, client, guest)),
        ]
        try:
            while (left := flow.used + self._idle - time.monotonic()) > 0:
                done, _ = await asyncio.wait(work, timeout=left, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    task.result()
                if done:
                    return
        finally:
            for task in work:
                task.cancel()
            await asyncio.gather(*work, return_exceptions=True)

    async def _answer(self, flow: Flow, client: Any, guest: Datagrams) -> None:
        while (datagram := await guest.receive()) is not None:
            flow.used = time.monotonic()
            with suppress(OSError):  # a full buffer, a client that is gone: it is lost, as on any way
                self._listener.sendto(datagram, client)

    async def _end_flows(self) -> None:
        tasks = [task for _, task in self._flows.values()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
