"""Machines that ran when the host went down run again when it is back, if their policy says `always`.

A crash of a machine's QEMU is something else: that machine is `failed` until somebody has looked at it.
The intent is journalled before the new boot of the host is noted, so a daemon that is killed in between, or while
the machines boot, starts them at its next start.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Mapping

from openboxd.errors import BoxdError
from openboxd.model import MachineStatus, Operation
from openboxd.worker.drivers import Drivers
from openboxd.worker.machine import MachineWorker
from openboxd.worker.orders import Start
from openboxd.worker.restore import is_taken_back, was_before

BOOT_FACT = "host boot"
"""Name of the store's fact that holds the boot under which the daemon last ran."""

RESTART = "restart"
"""The journal's word for a machine that is to be started again."""

log = logging.getLogger(__name__)


async def note_host_reboot(drivers: Drivers, workers: Mapping[str, MachineWorker]) -> int:
    """Journal which machines the host's reboot ended and are to be started. Does nothing under the same boot."""
    before = drivers.store.fact(BOOT_FACT)
    if before == drivers.boot_id:
        return 0
    operations = drivers.store.open_operations()
    going_back = {o.machine_id: was_before(o)[0] for o in operations if is_taken_back(o)}
    ended = [worker for worker in workers.values() if before and _is_to_run(worker, going_back)]
    planned = {operation.machine_id for operation in operations if operation.kind == RESTART}
    for worker in ended:
        if worker.id not in planned:
            await drivers.store.begin_operation(worker.id, RESTART, {})
    await drivers.store.keep_fact(BOOT_FACT, drivers.boot_id)
    return len(ended)


def _is_to_run(worker: MachineWorker, going_back: Mapping[str, MachineStatus]) -> bool:
    """`going_back`: what machines were before restores that are taken back; one that was stopped stays so."""
    machine = worker.machine
    if machine.hibernated_at_ms:
        return False  # its memory survives; whoever uses it wakes it
    status = machine.status
    if status is MachineStatus.STARTING:
        status = going_back.get(machine.id, status)
    ran = status in (MachineStatus.RUNNING, MachineStatus.STARTING, MachineStatus.SUSPENDED)
    return ran and worker.run is None and machine.restart_policy == "always"


async def start_again(drivers: Drivers, workers: Mapping[str, MachineWorker]) -> None:
    """Start the machines in the journal, a few at a time; each leaves the journal when its boot has ended."""
    turns = asyncio.Semaphore(max(1, os.cpu_count() or 1))

    async def one(operation: Operation) -> None:
        async with turns:
            worker = workers.get(operation.machine_id)
            if worker is not None and worker.exists:
                await _start(worker)
            await drivers.store.end_operation(operation.id)

    await asyncio.gather(*(one(o) for o in drivers.store.open_operations() if o.kind == RESTART))


async def _start(worker: MachineWorker) -> None:
    try:
        await worker.submit(Start()).done()
    except BoxdError as error:
        log.warning("machine %s ran when the host went down and was not started again: %s", worker.id, error)
