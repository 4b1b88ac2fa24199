"""Machines that sleep go on when somebody comes to one of their gates."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping

from openboxd.errors import BoxdError
from openboxd.ports import Ways
from openboxd.worker.machine import MachineWorker
from openboxd.worker.reach import rouse

log = logging.getLogger(__name__)


class Waking:
    """Listens to the gates of all machines."""

    def __init__(self, ways: Ways, workers: Mapping[str, MachineWorker]) -> None:
        self._ways, self._workers = ways, workers
        self._rousing: dict[str, asyncio.Task[None]] = {}
        ways.on_use(self.used)

    async def close(self) -> None:
        """Wake nobody any more. Harmless twice. Orders that were given are carried out."""
        self._ways.on_use(lambda machine_id: None)
        tasks = list(self._rousing.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def used(self, machine_id: str) -> None:
        """Somebody uses the machine, or wants to: it is woken if it sleeps."""
        worker = self._workers.get(machine_id)
        if worker is None:
            return
        worker.use.touch()
        if worker.asleep and machine_id not in self._rousing:
            self._rousing[machine_id] = asyncio.create_task(self._rouse(worker), name=f"{machine_id}: rouse")

    async def _rouse(self, worker: MachineWorker) -> None:
        """Those who wait are let in by the machine's status; where it cannot be woken they are told why."""
        try:
            await rouse(worker)
        except BoxdError as error:
            log.warning("machine %s: somebody came and it was not woken: %s", worker.id, error)
            self._ways.turn_away(worker.id, error.message)
        finally:
            self._rousing.pop(worker.id, None)
