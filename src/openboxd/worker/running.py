"""The two things that exist only while a machine runs: its run and its agent.

What the run does by itself (power off, crash, standing still) is noticed here and settled between operations.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from openboxd.errors import BoxdError
from openboxd.model import MachineStatus
from openboxd.ports import Agent, Run, RunEnd
from openboxd.worker.drivers import Drivers
from openboxd.worker.events import RUN_ENDED, STALLED, STANDS_STILL, happened, note
from openboxd.worker.known import KnownMachine
from openboxd.worker.links import let_go

log = logging.getLogger(__name__)


class RunningMachine(KnownMachine):
    """What of a worker is about its run.

    Attributes:
        run: the present run.
        stalled: the guest stands still: there is no room for what it writes.
    """

    def __init__(self, machine_id: str, drivers: Drivers) -> None:
        super().__init__(machine_id, drivers)
        self.run: Run | None = None
        self.stalled = False
        self._end: RunEnd | None = None
        self._watch: asyncio.Task[None] | None = None
        self._showing: asyncio.Task[None] | None = None
        self._settling: asyncio.Task[None] | None = None
        self._turn = asyncio.Lock()  # whose turn it is to change the machine

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        """While the block runs no operation begins; waits for one that runs."""
        async with self._turn:
            yield

    def attach(self, run: Run, agent: Agent) -> None:
        """Make `run` this machine's run and watch it."""
        self.detach_run()
        self.run, self.agent, self._end = run, agent, None
        self._watch = asyncio.create_task(self._watch_run(run), name=f"{self.id}: run {run.run_id}")
        run.watch_stalls(lambda stalled: self._stall(run, stalled), lambda: self.drivers.pool.space().free_bytes)

    def detach_run(self) -> None:
        """Stop watching the present run; the run itself is not touched."""
        if self._watch is not None:
            self._watch.cancel()
        self.run, self.agent, self._watch, self._end, self.stalled = None, None, None, None, False

    @property
    def stands_still(self) -> str:
        """Why the guest stands still although it should run, as a clause; empty if it does not."""
        return STANDS_STILL if self.stalled else ""

    def _stall(self, run: Run, stalled: bool) -> None:
        """The guest stands still for want of room, or goes on."""
        if self.run is run and self.stalled != stalled:
            self.stalled = stalled
            self._showing = asyncio.create_task(self._show_stall(stalled), name=f"{self.id}: stall")

    async def _show_stall(self, stalled: bool) -> None:
        """It counts as running: it does by itself as soon as it can. What holds it up is the status' reason."""
        log.warning("machine %s: %s", self.id, STANDS_STILL if stalled else "it goes on")
        try:
            status = self.machine.status
            if status in (MachineStatus.RUNNING, MachineStatus.STARTING):
                await self.move(status, reason=self.stands_still)
        except BoxdError as error:  # the store may be on the filesystem that is full
            log.warning("machine %s: its status has no reason: %s", self.id, error)
        await note(self.drivers.store, happened(self.id, STALLED if stalled else "go on", "", STANDS_STILL * stalled))

    async def _watch_run(self, run: Run) -> None:
        end = await run.ended()
        if self.run is run:
            self._end = end
            self._settling = asyncio.create_task(self._settle(), name=f"{self.id}: run {run.run_id} ended")

    async def _settle(self) -> None:
        """Record the end of a run that nobody ordered, once no operation is under way."""
        async with self._turn:
            await self._record_end()

    async def _record_end(self) -> None:
        """Show what became of a run that has ended by itself. Does nothing while the run lives."""
        run, agent, end = self.run, self.agent, self._end
        if run is None or end is None:
            return
        self.run, self.agent, self._end = None, None, None
        log.info("machine %s: its run ended: %s", self.id, end.text)
        if agent is not None:
            await agent.close(f"the machine stopped: {end.text}")
        await run.kill()
        await let_go(self.drivers.network, self.machine, run.run_id)
        if self.machine.status in (MachineStatus.RUNNING, MachineStatus.STARTING, MachineStatus.SUSPENDED):
            status = MachineStatus.STOPPED if end.clean else MachineStatus.FAILED
            await self.move(status, reason="" if end.clean else end.text, run_id="")
            error = "" if end.clean else end.text
            await note(self.drivers.store, happened(self.id, RUN_ENDED, end.text if end.clean else "", error))
