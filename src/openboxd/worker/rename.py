"""Give a machine another name. Its id, address, disk and checkpoints stay; its hostname follows with the boot."""

from __future__ import annotations

from openboxd.worker.boot import change
from openboxd.worker.job import Job
from openboxd.worker.machine import MachineWorker
from openboxd.worker.orders import Rename


async def rename(worker: MachineWorker, job: Job) -> None:
    """Carry out a rename order. The store refuses a name that was taken meanwhile, before anything is ended."""
    assert isinstance(job.order, Rename)
    try:
        await change(worker, job, "rename", name=job.order.name)
    finally:
        await worker.arrange_ways()
