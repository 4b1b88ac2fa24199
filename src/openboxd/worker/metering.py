"""What machines weigh: bytes of the pool that only they hold, disks and checkpoints apart.

A machine is weighed when its checkpoints or its state have changed, and now and then because guests write. In between
its weight counts as unchanged, so what it adds up to is exact to the interval below.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence

from openboxd.model import CheckpointStatus, Machine
from openboxd.ports import Pool, Store

WEIGH_EVERY = 900.0
"""Seconds until a machine in which nothing was done is weighed again."""

log = logging.getLogger(__name__)

Look = tuple[object, ...]
"""What a machine looks like: a difference is a reason to weigh it."""


class Meter:
    """Weighs machines and gives signs of life to what is counted by time."""

    def __init__(self, store: Store, pool: Pool) -> None:
        self._store, self._pool = store, pool
        self._weighed: dict[str, tuple[Look, float]] = {}

    async def round(self) -> None:
        """A sign of life, and whatever is due."""
        await self._store.beat_usage()
        machines = self._store.machines()
        await self.refresh(machines)
        for gone in self._weighed.keys() - {machine.id for machine in machines}:
            del self._weighed[gone]

    async def refresh(self, machines: Sequence[Machine]) -> None:
        """Weigh those that are due."""
        for machine in machines:
            look, at = self._weighed.get(machine.id, ((), 0.0))
            if look == self._look(machine) and time.monotonic() - at <= WEIGH_EVERY:
                continue
            try:
                await self.weigh(machine)
            except OSError as error:  # of its files; the others are weighed all the same
                log.warning("machine %s was not weighed: %s", machine.id, error)

    async def weigh(self, machine: Machine) -> None:
        """Weigh a machine now. What its disk shares with its image is not its own, nor what a checkpoint shares with
        the disk the checkpoint's; what it shares with other machines counts for each of them."""
        look = self._look(machine)
        disk, checkpoints = await asyncio.to_thread(self._measure, machine)
        await self._store.weigh_usage(machine.id, disk, checkpoints)
        self._weighed[machine.id] = (look, time.monotonic())

    def _look(self, machine: Machine) -> Look:
        ready = [c.id for c in self._store.checkpoints(machine.id) if c.status is CheckpointStatus.READY]
        return (machine.status, machine.run_id, machine.head, *ready)

    def _measure(self, machine: Machine) -> tuple[int, int]:
        home, image = self._pool.machine_dir(machine.id), self._pool.image_dir(machine.image)
        whole = self._pool.weigh([home], [image])
        checkpoints = self._pool.weigh([home / "checkpoints"], [image, home / "disk.raw"])
        return max(0, whole - checkpoints), checkpoints
