"""Give a machine other hardware, with a cold boot. Checkpoints keep the size they were taken with."""

from __future__ import annotations

from openboxd.worker.boot import change
from openboxd.worker.job import Job
from openboxd.worker.machine import MachineWorker
from openboxd.worker.orders import Resize


async def resize(worker: MachineWorker, job: Job) -> None:
    """Carry out a resize order."""
    assert isinstance(job.order, Resize)
    await change(worker, job, "resize", size=job.order.size)
