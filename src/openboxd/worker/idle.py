"""Idle timers: a machine that nobody uses is suspended, and hibernated after a while longer.

Use is what comes in: connections at its gates while they are open, commands and file transfers while they run, and
operations on the machine. What the guest does by itself is none, but for connections that it keeps to the outside,
unless it is set to ignore those. Both timers count from the last use.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

from openboxd.errors import BoxdError
from openboxd.model import Machine, MachineStatus
from openboxd.ports import Store
from openboxd.worker.machine import MachineWorker
from openboxd.worker.orders import Hibernate, Suspend
from openboxd.worker.outbound import has_outbound
from openboxd.worker.rounds import LOOK_AGAIN, SOONEST, Rounds

log = logging.getLogger(__name__)

Timed = Suspend | Hibernate


def due(machine: Machine, idle_for: float) -> Timed | None:
    """What is to be done with a machine that nobody has used for so many seconds. Pure."""
    suspend, hibernate = machine.auto_suspend_secs, machine.auto_hibernate_secs
    asleep = machine.status is MachineStatus.SUSPENDED
    if machine.status is not MachineStatus.RUNNING and not asleep:
        return None
    if hibernate and idle_for >= hibernate:
        return Hibernate(when_idle=True)
    return Suspend(when_idle=True) if suspend and idle_for >= suspend and not asleep else None


def next_look(machine: Machine, idle_for: float) -> float:
    """Seconds until one of the machine's timers may be due. Pure."""
    asleep = machine.status is MachineStatus.SUSPENDED
    timers = [machine.auto_hibernate_secs, 0 if asleep else machine.auto_suspend_secs]
    left = [timer - idle_for for timer in timers if timer]
    return max(SOONEST, min([LOOK_AGAIN, *left]))


class IdleTimers:
    """Watches the use of all machines that have such a timer."""

    def __init__(self, store: Store, worker: Callable[[str], MachineWorker]) -> None:
        self._store, self._worker = store, worker
        self._rounds = Rounds("idle timers", self._round)
        self._busy: dict[str, asyncio.Task[None]] = {}

    def start(self) -> None:
        """Begin to watch; once."""
        self._rounds.start()

    async def close(self) -> None:
        """Stop watching. Harmless twice. Orders that were given are carried out."""
        await self._rounds.close()
        tasks = list(self._busy.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def changed(self) -> None:
        """A timer was set or cleared, or a machine runs."""
        self._rounds.changed()

    async def _round(self) -> float:
        """Begin what is due; seconds until the next look."""
        pause = LOOK_AGAIN
        for machine in self._store.machines():
            timed = machine.auto_suspend_secs or machine.auto_hibernate_secs
            if not timed or machine.id in self._busy:
                continue
            if machine.status not in (MachineStatus.RUNNING, MachineStatus.SUSPENDED):
                continue
            worker = self._worker(machine.id)
            if worker.in_use:
                worker.use.touch()
            idle_for = time.monotonic() - worker.use.last
            order = due(machine, idle_for)
            if order is None:
                pause = min(pause, next_look(machine, idle_for))
            else:
                task = asyncio.create_task(self._carry_out(worker, order), name=f"{machine.id}: idle")
                self._busy[machine.id] = task
        return pause

    async def _carry_out(self, worker: MachineWorker, order: Timed) -> None:
        """Let a machine sleep. One that cannot gets its whole time again before it is tried once more."""
        try:
            machine = worker.machine
            if machine.status is MachineStatus.RUNNING and await has_outbound(worker, machine):
                worker.use.touch()
            elif not worker.in_use:
                log.info("machine %s: nobody uses it: %s", worker.id, order)
                await worker.submit(order).done()
        except BoxdError as error:
            log.info("machine %s does not sleep: %s", worker.id, error)
            worker.use.touch()
        finally:
            self._busy.pop(worker.id, None)
            self.changed()
