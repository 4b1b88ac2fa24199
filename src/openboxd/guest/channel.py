"""The daemon's end of the channel to one run's agent: connect, find the agent, keep in step with it.

                      no answer in time: close, connect again, wait twice as long
                     ┌───────────────────────────────────────────────┐
                     ▼                                               │
    connect ──► SYNC + HELLO sent ──► nonce seen ──► HELLO ──► identity taken, clock set ──► ready ──► over
                     ▲                                                                                  │
                     └──────────────────────────────────────────────────────────────────────────────────┘
                       agent started anew: same connection; nonsense or hang-up: a new one

Once connected everything is read at once, whether anybody wants it or not: QEMU must never find the socket full
(each close of a blocked port costs the guest a buffer for good). Memory is bounded by the streams' credit instead.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import secrets
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from openboxd.errors import Interrupted, Unavailable
from openboxd.guest import wire
from openboxd.guest.agent_port import AgentPort
from openboxd.guest.clock import correct
from openboxd.guest.epoch import Epoch
from openboxd.guest.greeting import hello, identified
from openboxd.guest.requests import Receive, Respond, receive_none, refuse_all
from openboxd.guest.timing import Timing
from openboxd.guest.useless import BYTES, Useless
from openboxd.guest.violation import Violation
from openboxd.model import Identity

log = logging.getLogger(__name__)

WRITE_LIMIT = 4 * 1024 * 1024  # answers a guest provokes and never reads


class Channel:
    """See the module. `label` names the machine in errors; `respond` answers what the guest asks, `receive` serves
    its visits; `identity` is what the guest is told to be."""

    def __init__(
        self,
        socket: Path,
        label: str,
        timing: Timing,
        respond: Respond = refuse_all,
        identity: Identity | None = None,
        receive: Receive = receive_none,
    ) -> None:
        self.label = label
        self._socket = socket
        self._timing = timing
        self._respond = respond
        self._receive_visit = receive
        self._identity = identity
        # Tells the agent whether an epoch ended within a run (a lost caller) or between two (a restore).
        self._run = hashlib.sha256(str(socket).encode()).hexdigest()[:16]
        self._connection: AgentPort | None = None
        self._epoch: Epoch | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._restarts: deque[float] = deque()
        self._useless = Useless()
        self._closed = ""
        self._changed = asyncio.Event()
        self._awake = asyncio.Event()  # the vCPUs run: what is asked may be answered
        self._awake.set()

    # -- for callers
    @property
    def epoch(self) -> Epoch:
        """The present epoch. Raises Unavailable if it is not ready, Interrupted if the channel is closed."""
        if self._closed:
            raise Interrupted(self._closed)
        if self._epoch is None or not self._epoch.ready:
            raise Unavailable(f"machine {self.label} does not answer yet; try again in a moment")
        return self._epoch

    @property
    def ready(self) -> bool:
        return not self._closed and self._epoch is not None and self._epoch.ready

    @property
    def identity_refusal(self) -> str:
        """See ports.Agent."""
        return self._epoch.refusal if self._epoch is not None else ""

    async def wait_ready(self, timeout: float) -> None:
        try:
            async with asyncio.timeout(timeout):
                while not self.ready:
                    if self._closed:
                        raise Interrupted(self._closed)
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            text = f"machine {self.label} did not answer within {timeout:g} seconds; it may still be starting"
            raise Unavailable(text) from None

    def rest(self) -> None:
        """The vCPUs stand still from now on. Nothing is asked, since what is would fill the port's buffers; open
        streams wait."""
        self._awake.clear()
        if self._epoch is not None:
            self._epoch.resting = True

    async def awaken(self, timeout: float) -> None:
        """The vCPUs run again: returns when the guest's clock is right. Raises Unavailable, Interrupted."""
        self._awake.set()
        epoch = self._epoch
        if epoch is not None:
            epoch.resting, epoch.heard_at = False, time.monotonic()
        if epoch is not None and epoch.ready:
            try:
                async with asyncio.timeout(timeout):
                    await correct(epoch, first=True)
            except TimeoutError:
                epoch.end(f"machine {self.label} does not answer", reconnect=True)
                raise Unavailable(f"machine {self.label} did not answer within {timeout:g} seconds") from None
        await self.wait_ready(timeout)

    async def start(self) -> None:
        """Connect and begin; from then on the channel is kept."""
        try:
            await self._connect()
        except OSError as error:
            text = f"the agent port of machine {self.label} cannot be reached: {error.strerror or error}"
            raise Unavailable(text) from error
        self._keeper = asyncio.create_task(self._keep(), name=f"agent channel of {self.label}")

    async def close(self, reason: str) -> None:
        self._give_up(reason)
        keeper, self._keeper = self._keeper, None
        if keeper is not None:
            keeper.cancel()
            await asyncio.wait([keeper])

    # -- epochs, one after the other
    async def _keep(self) -> None:
        try:
            await self._run_epochs()
        except Exception:
            log.exception("the agent channel of machine %s failed", self.label)
            self._give_up(f"the channel to machine {self.label} failed; stop and start the machine")

    async def _run_epochs(self) -> None:
        wait = self._timing.first_wait
        while not self._closed:
            await self._awake.wait()
            if self._connection is None:
                await self._reconnect()
            epoch = self._begin()
            if await self._synchronised(epoch, wait):
                wait = self._timing.first_wait
                await self._serve(epoch)
            elif epoch.reconnect:
                wait = min(wait * 2, self._timing.last_wait)
            if epoch.reconnect:
                self._disconnect()

    def _begin(self) -> Epoch:
        assert self._connection is not None
        connection = self._connection
        self._epoch = epoch = Epoch(
            self._send,
            connection.writable,
            self._respond,
            self._receive_visit,
            label=self.label,
            silence=self._timing.silence,
            useless=self._useless,
        )
        self._send(wire.sync(epoch.nonce) + hello(self._run, self._identity))
        return epoch

    async def _synchronised(self, epoch: Epoch, wait: float) -> bool:
        """Whether the agent answered in time and its clock is right. If not, the epoch is over."""
        try:
            async with asyncio.timeout(wait):
                greeting: set[asyncio.Future[Any]] = {epoch.hello, epoch.over}
                await asyncio.wait(greeting, return_when=asyncio.FIRST_COMPLETED)
            if epoch.over.done():
                return False
            await identified(epoch, self._identity, self._timing.identity_wait)
            async with asyncio.timeout(self._timing.clock_wait):
                await correct(epoch, first=True)
        except TimeoutError:
            epoch.end(f"machine {self.label} does not answer", reconnect=True)
        return not epoch.over.done()

    async def _serve(self, epoch: Epoch) -> None:
        """Until the epoch is over; the clock is corrected now and then."""
        epoch.ready = True
        self._changed.set()
        period = self._timing.clock_period
        while not epoch.over.done():
            await asyncio.wait([epoch.over], timeout=period * (1 + secrets.randbelow(1000) / 3000))
            if not epoch.over.done() and self._awake.is_set():
                try:
                    async with asyncio.timeout(period):
                        await correct(epoch, first=False)
                except TimeoutError:
                    pass  # paused or busy: next time
        log.info("machine %s: %s", self.label, epoch.over.result())

    # -- the connection
    async def _connect(self) -> None:
        loop = asyncio.get_running_loop()
        _, self._connection = await loop.create_unix_connection(lambda: AgentPort(self), str(self._socket))

    async def _reconnect(self) -> None:
        pause = 0.02
        while True:
            try:
                await self._connect()
                return
            except OSError:  # QEMU has not noticed the hang-up yet, or is gone: then somebody will close us
                await asyncio.sleep(pause)
                pause = min(pause * 2, 1.0)

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _send(self, data: bytes) -> None:
        if self._connection is not None and self._connection.write(data) > WRITE_LIMIT:
            self._fault("it does not read what it asks for")

    # -- what the connection reports
    def received(self, records: Sequence[wire.Record], nonsense: bool, dropped: int = 0) -> None:
        """`dropped`: bytes that were passed over."""
        try:
            self._useless.count(dropped // BYTES)
            for kind, ident, payload in records:
                self._receive(kind, ident, payload)
        except Violation as error:
            self._fault(str(error))
        if nonsense and self._epoch is not None and self._epoch.answered:
            self._fault("it sent bytes that are no frames")

    def _receive(self, kind: int, ident: int, payload: bytes) -> None:
        epoch = self._epoch
        if epoch is None or epoch.over.done():
            return
        if kind == wire.SYNC:
            self._received_sync(epoch, payload)
        elif epoch.answered:
            epoch.heard_at = time.monotonic()
            epoch.receive(kind, ident, payload)
        else:
            self._useless.count()

    def _received_sync(self, epoch: Epoch, nonce: bytes) -> None:
        if nonce == epoch.nonce:
            if epoch.answered:
                self._fault("it answered twice")
            epoch.answered = True
        elif nonce == wire.SYNC_ME:
            self._restarted()
            epoch.end(f"the agent of machine {self.label} was started anew", reconnect=False)
        else:  # left over from before; what follows it is passed over, too
            self._useless.count()

    def lost(self, connection: AgentPort) -> None:
        if connection is self._connection:
            self._connection = None
            if self._epoch is not None:
                self._epoch.end(f"the connection to machine {self.label} was lost", reconnect=True)

    def _fault(self, what: str) -> None:
        if self._epoch is None or self._epoch.over.done():
            return
        log.warning("the agent of machine %s misbehaves: %s", self.label, what)
        self._epoch.end(f"the agent of machine {self.label} sent nonsense and was cut off", reconnect=True)
        self._restarted()

    def _restarted(self) -> None:
        """Count; a guest that makes us begin anew all the time is given up."""
        now = time.monotonic()
        self._restarts.append(now)
        while self._restarts[0] < now - self._timing.restart_window:
            self._restarts.popleft()
        if len(self._restarts) > self._timing.restarts:
            text = f"the agent of machine {self.label} keeps breaking the channel and was given up"
            self._give_up(f"{text}; restore a checkpoint, or stop and start the machine")

    def _give_up(self, reason: str) -> None:
        self._closed = self._closed or reason
        if self._epoch is not None:
            self._epoch.end(self._closed, reconnect=True)
        self._disconnect()
        self._changed.set()
