"""Put a machine as it is now aside, for copies of it: a capture of one that runs, the disk of one that does not.

One that sleeps goes on sleeping: what is suspended is captured as it stands, what is hibernated is a capture already.

It lies in the staging area, is whole for as long as somebody makes copies of it, and is on no record: what a killed
daemon leaves of it is swept there.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from pathlib import Path

from openboxd.errors import MachineLost, because, same_kind
from openboxd.model import MachineStatus, Progress
from openboxd.ports import Pool
from openboxd.worker.capture import describe, take
from openboxd.worker.events import now_ms
from openboxd.worker.job import Job
from openboxd.worker.machine import MachineWorker
from openboxd.worker.manifest import Origin
from openboxd.worker.orders import Fork
from openboxd.worker.runs import disk_of, hibernated_of
from openboxd.worker.steps import Steps, to_the_end

log = logging.getLogger(__name__)


async def fork(worker: MachineWorker, job: Job) -> None:
    """Carry out a fork order on its source, which goes on whatever becomes of it.

    Raises:
        BoxdError: the directory holds rubbish; whoever made it drops it.
    """
    assert isinstance(job.order, Fork)
    order, machine = job.order, worker.machine
    journal = await worker.journal("fork", {})
    steps = worker.steps("fork", journal)
    job.record()
    try:
        if machine.status in (MachineStatus.RUNNING, MachineStatus.SUSPENDED):
            await _capture(worker, steps, order)
        else:
            asleep = machine.status is MachineStatus.HIBERNATED
            files = list(hibernated_of(worker).iterdir()) if asleep else [disk_of(worker)]
            await steps.run("copy", lambda: asyncio.to_thread(_copy, worker.drivers.pool, files, order.directory))
    except Exception as error:
        if isinstance(error, MachineLost):
            raise
        sentence = f"machine '{machine.name}' was not forked and is as it was: {because(error)}"
        raise same_kind(error, sentence) from error
    finally:
        await to_the_end(worker.drivers.store.end_operation(journal))


async def _capture(worker: MachineWorker, steps: Steps, order: Fork) -> None:
    machine, directory = worker.machine, order.directory
    origin = Origin(directory.name, machine.id, "its fork", now_ms(), machine.size, machine.head)
    paused = machine.status is MachineStatus.SUSPENDED
    report = await steps.run("capture", lambda: take(worker, steps.operation, origin, directory, paused=paused))
    log.info("machine %s: put aside, paused for %.1f ms", worker.id, report.pause_us / 1000)
    worker.report(Progress("fork", "captured", None, f"pause {report.pause_us / 1000:.1f} ms"))
    await steps.run("describe", lambda: describe(worker, origin, report, directory))


def _copy(pool: Pool, files: Sequence[Path], directory: Path) -> None:
    for file in files:
        pool.clone(file, directory / file.name)
