"""Take a machine back to one of its checkpoints, in place.

The new run is loaded and stands ready, paused, beside the old one before anything of the machine is touched: a
failure up to that moment leaves the machine running as it was. Then the swap, which only goes forward: the old run
is killed, the disk renamed, the new run resumed. The checkpoint is never written and never consumed.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from openboxd.errors import (
    AgentSilent,
    MachineLost,
    OperationFailed,
    OutcomeUnknown,
    Unavailable,
    because,
    checkpoint_not_found,
    same_kind,
)
from openboxd.host.files import sync_directory, sync_file
from openboxd.model import Checkpoint, Machine, MachineStatus, Operation, Progress, Size
from openboxd.ports import NetworkLink, Run, RunState
from openboxd.worker import manifest
from openboxd.worker.job import Job
from openboxd.worker.links import join, start_linked
from openboxd.worker.machine import MachineWorker
from openboxd.worker.orders import Restore
from openboxd.worker.runs import (
    Starting,
    answered,
    connected,
    disk_of,
    end_present_run,
    hibernated_of,
    new_run_id,
    next_disk_of,
    run_spec,
    silence,
)
from openboxd.worker.steps import Steps, to_the_end

RESTORE = "restore"
SWAP = "swap"
"""The journal's words for a restore and for its point of no return; recovery reads them."""

SWAPPED = (SWAP, "resume", "answer")
"""Steps from which there is only forward."""

log = logging.getLogger(__name__)


async def restore(worker: MachineWorker, job: Job) -> None:
    """Carry out a restore order: running from the captured instant when this returns."""
    assert isinstance(job.order, Restore)
    checkpoint = worker.drivers.store.checkpoint(worker.id, job.order.name)
    if checkpoint is None:
        raise checkpoint_not_found(job.order.name, worker.machine.name)
    await restore_checkpoint(worker, checkpoint, job)


async def restore_checkpoint(worker: MachineWorker, checkpoint: Checkpoint, job: Job) -> None:
    """The restore itself; recovery uses it to finish one that a killed daemon had begun."""
    drivers, before, begun = worker.drivers, worker.machine, time.monotonic()
    capture = drivers.pool.checkpoint_dir(worker.id, checkpoint.id)
    label = f"checkpoint '{checkpoint.name}' on machine '{before.name}'"
    described = await asyncio.to_thread(manifest.read, capture, label)
    run_id = new_run_id()
    was = {"before": before.status.value, "reason": before.status_reason}
    detail = {"checkpoint": checkpoint.id, "name": checkpoint.name, "run": run_id, **was}
    journal = await worker.journal(RESTORE, detail)
    steps, starting = worker.steps(RESTORE, journal), Starting(worker)
    try:
        steps.undo("show the old state", lambda: show_again(worker, before))
        await worker.move(MachineStatus.STARTING)
        job.record()
        await prepare(worker, steps, starting, capture, described, run_id)
    except BaseException as error:
        await to_the_end(steps.unwind())
        await to_the_end(drivers.store.end_operation(journal))
        if not isinstance(error, Exception):
            raise
        if await _has_ended(worker):
            raise MachineLost(
                f"machine '{before.name}' was not restored ({because(error)}), and its own run has ended meanwhile; "
                "its disk and checkpoints are intact: restore one again, or start it"
            ) from error
        sentence = f"machine '{before.name}' was not restored and is as it was: {because(error)}"
        raise same_kind(error, sentence) from error
    await to_the_end(_go_over(worker, steps, starting, checkpoint, described, journal, begun))


def is_taken_back(operation: Operation) -> bool:
    """Whether what an earlier daemon was at is a restore that had not come to its point of no return."""
    return operation.kind == RESTORE and operation.step not in SWAPPED


def was_before(operation: Operation) -> tuple[MachineStatus, str]:
    """What the machine was when a restore began, and the reason for that."""
    detail = operation.detail
    return MachineStatus(detail.get("before", MachineStatus.STARTING)), str(detail.get("reason", ""))


async def show_again(worker: MachineWorker, before: Machine) -> None:
    """Undo of the status: what it was. `starting` cannot become `stopped` and `failed` for nothing, so write it."""
    await worker.drivers.store.update_machine(worker.id, status=before.status, status_reason=before.status_reason)
    await worker.let_in()


async def _has_ended(worker: MachineWorker) -> bool:
    """Whether the machine's own run has ended although nobody has told us yet."""
    try:
        return worker.run is not None and await worker.run.state() is RunState.ENDED
    except OutcomeUnknown:
        return False


async def prepare(
    worker: MachineWorker,
    steps: Steps,
    starting: Starting,
    capture: Path,
    described: Mapping[str, Any],
    run_id: str,
) -> None:
    """Clone the disk and load a run beside the old one; those who are in the machine get a moment to end.

    The disk is durable when this returns: a name may not go over to a file whose content a power cut would take.
    """
    pool, hypervisor, network = worker.drivers.pool, worker.drivers.hypervisor, worker.drivers.network
    following = next_disk_of(worker)

    async def clone() -> None:
        await asyncio.to_thread(pool.discard, following)
        await asyncio.to_thread(pool.clone, capture / "disk.raw", following)

    async def connect(socket: Path) -> None:
        starting.agent = await connected(worker, socket)

    async def load() -> None:
        async def start(link: NetworkLink) -> Run:
            spec = run_spec(worker, worker.machine, run_id, following, link, described["plan"])
            return await hypervisor.load(spec, capture, connect)

        syncing = asyncio.ensure_future(asyncio.to_thread(sync_file, following))
        try:
            starting.run = await start_linked(network, worker.machine, run_id, start)
        finally:
            await asyncio.gather(syncing, return_exceptions=True)  # beside the load, which takes longer as a rule
        await syncing

    steps.undo("drop the next disk", lambda: asyncio.to_thread(pool.discard, following))
    await steps.run("clone", clone)
    steps.undo("end the new run", starting.end)
    await steps.run("load", load)
    await steps.run("drain", lambda: worker.drivers.ways.drain(worker.id))
    await _still_stands_ready(starting)


async def _still_stands_ready(starting: Starting) -> None:
    """The last look before the old run is ended: a swap to a run that has died meanwhile would lose the machine."""
    assert starting.run is not None
    if await starting.run.state() is RunState.ENDED:
        raise OperationFailed("the QEMU process that it was loaded into has ended")


async def _go_over(
    worker: MachineWorker,
    steps: Steps,
    starting: Starting,
    checkpoint: Checkpoint,
    described: Mapping[str, Any],
    journal: int,
    begun: float,
) -> None:
    """The swap and what follows it."""
    size = Size(**described["size"])
    assert starting.run is not None and starting.agent is not None
    try:
        try:
            await steps.run(SWAP, lambda: _swap(worker, starting, checkpoint, size))
            steps.commit()
            await steps.run("resume", starting.run.resume)
        except Exception as error:
            await _settle_swap(worker, steps, starting, checkpoint, size, error)
        worker.attach(starting.run, starting.agent)
        await _wait_for_answer(worker, steps, checkpoint, begun)
    finally:
        await worker.drivers.store.end_operation(journal)


async def _settle_swap(
    worker: MachineWorker, steps: Steps, starting: Starting, checkpoint: Checkpoint, size: Size, error: Exception
) -> None:
    """After a failure around the swap: back if the old run was not touched, else once more forward.

    Raises:
        OperationFailed: the machine runs as it was.
        MachineLost: forward failed a second time; its checkpoints are intact.
    """
    name = worker.machine.name
    if not starting.crossed:
        await steps.unwind()
        raise OperationFailed(f"machine '{name}' was not restored and is as it was: {because(error)}") from error
    log.warning("machine %s: the swap failed (%s) and is tried once more", worker.id, error)
    assert starting.run is not None
    try:
        await _swap(worker, starting, checkpoint, size)
        await starting.run.resume()
    except Exception as again:
        await starting.end()
        await worker.move(MachineStatus.FAILED, reason=f"a restore broke off: {because(again)}", run_id="")
        raise MachineLost(
            f"machine '{name}' failed while it went over to checkpoint '{checkpoint.name}' ({because(again)}); "
            "its checkpoints are intact, restore one again"
        ) from again


async def _swap(worker: MachineWorker, starting: Starting, checkpoint: Checkpoint, size: Size) -> None:
    """End the old run, give the new one's disk its name, and record it. May be carried out twice."""
    assert starting.run is not None
    starting.crossed = True
    worker.restores += 1
    reason = f"machine '{worker.machine.name}' was restored to checkpoint '{checkpoint.name}'"
    await end_present_run(worker, reason, spare=starting.run.run_id)
    await asyncio.to_thread(take_over_disk, worker)
    values = {"run_id": starting.run.run_id, "size": size, "head": checkpoint.id, "hibernated_at_ms": 0}
    await worker.drivers.store.update_machine(worker.id, **values)
    await asyncio.to_thread(worker.drivers.pool.discard, hibernated_of(worker))
    await join(worker.drivers.network, worker.machine, starting.run)


def take_over_disk(worker: MachineWorker) -> None:
    """The disk of the run that was prepared, which has been synced, is the machine's, durably. May be carried out
    twice. Blocks."""
    source, target = next_disk_of(worker), disk_of(worker)
    if source.exists():
        source.replace(target)
    sync_directory(target.parent)


async def _wait_for_answer(worker: MachineWorker, steps: Steps, checkpoint: Checkpoint, begun: float) -> None:
    """The guest runs already; tell when its agent has answered.

    An agent that was dead in the capture is dead in the restored machine as well: that machine is shown running.
    """
    assert worker.agent is not None
    limit = worker.drivers.settings.restore_timeout
    runs = round(1000 * (time.monotonic() - begun))
    worker.drivers.metrics.restores.observe(runs / 1000)
    try:
        await steps.run("answer", lambda: answered(worker, limit))
    except Unavailable as error:
        raise AgentSilent(
            f"machine '{worker.machine.name}' runs again from checkpoint '{checkpoint.name}', "
            f"but {silence(worker, limit)}"
        ) from error
    finally:
        took = round(1000 * (time.monotonic() - begun))
        await worker.move(MachineStatus.RUNNING, boot_time_ms=took, reason=worker.stands_still)
    worker.drivers.metrics.answers.observe(took / 1000)
    log.info("machine %s: restored, runs after %d ms, answers after %d ms", worker.id, runs, took)
    held = worker.last_hold
    waited = f"held {held.connections} connections, longest wait {held.longest_ms} ms"
    worker.report(Progress("restore", "ready", 1.0, f"answered after {took} ms; {waited}"))
