"""Hibernate a machine, and wake it: its memory goes to disk as a capture, its run ends; a load of that lets it go on.

The vCPUs stand still from before the capture until the run has ended, so nothing that the guest did is lost. One
transaction says `hibernated`: before it everything is taken back, after it the run is ended. Waking goes the other
way: the capture stays until the guest has answered, so whatever fails before leaves the machine hibernated.
"""

from __future__ import annotations

import asyncio
import logging
import time
from pathlib import Path
from typing import Any

from openboxd.errors import AgentSilent, MachineLost, Unavailable, WrongState, because, same_kind
from openboxd.model import Machine, MachineStatus, Progress
from openboxd.worker import manifest
from openboxd.worker.capture import write_capture
from openboxd.worker.events import now_ms
from openboxd.worker.job import Job
from openboxd.worker.links import join, let_go
from openboxd.worker.machine import MachineWorker
from openboxd.worker.manifest import Origin
from openboxd.worker.restore import prepare, show_again, take_over_disk
from openboxd.worker.runs import Starting, answered, end_present_run, hibernated_of, new_run_id, next_disk_of
from openboxd.worker.steps import Steps, to_the_end
from openboxd.worker.suspend import pause, refuse_if_used

HIBERNATE = "hibernate"
WAKE = "wake"
"""The journal's words; recovery reads them."""

log = logging.getLogger(__name__)


async def hibernate(worker: MachineWorker, job: Job) -> None:
    """Carry out a hibernate order. If this raises, the machine is as it was, its run included."""
    before, begun = worker.machine, time.monotonic()
    journal = await worker.journal(HIBERNATE, {})
    steps = worker.steps(HIBERNATE, journal)
    try:
        try:
            job.record()
            await _to_disk(worker, steps, job, before)
            steps.commit()
        except BaseException as error:
            await to_the_end(steps.unwind())
            if isinstance(error, MachineLost) or not isinstance(error, Exception):
                raise
            sentence = f"machine '{before.name}' was not hibernated and is {before.status} as it was"
            raise same_kind(error, f"{sentence}: {because(error)}") from error
        await to_the_end(_end_run(worker, steps))
    finally:
        await to_the_end(worker.drivers.store.end_operation(journal))
    log.info("machine %s: hibernated after %d ms", worker.id, round(1000 * (time.monotonic() - begun)))


async def _to_disk(worker: MachineWorker, steps: Steps, job: Job, before: Machine) -> None:
    """The capture, and the transaction that makes it the machine's state."""
    final = hibernated_of(worker)
    await asyncio.to_thread(worker.drivers.pool.discard, final)  # of a wake whose last step failed
    await pause(worker, steps)
    origin = Origin(HIBERNATE, worker.id, HIBERNATE, now_ms(), before.size, before.head)
    report = await write_capture(worker, steps, origin, final, paused=True)
    refuse_if_used(worker, job)
    steps.undo("show the old state", lambda: _as_before(worker, before))
    await steps.run("show", lambda: worker.move(MachineStatus.HIBERNATED, hibernated_at_ms=now_ms()))
    worker.report(Progress(HIBERNATE, "ready", 1.0, f"{report.seen_bytes >> 20} MiB of memory"))


async def _as_before(worker: MachineWorker, before: Machine) -> None:
    await worker.drivers.store.update_machine(worker.id, hibernated_at_ms=0)
    await show_again(worker, before)


async def _end_run(worker: MachineWorker, steps: Steps) -> None:
    """Only forward: what goes wrong here is tried once more, and then left to the next start of the daemon."""
    reason = f"machine '{worker.machine.name}' was hibernated"

    async def end() -> None:
        await worker.drivers.ways.drain(worker.id)
        await end_present_run(worker, reason)
        await worker.drivers.store.update_machine(worker.id, run_id="")

    try:
        await steps.run("end", end)
    except Exception as error:
        log.warning("machine %s: its run did not end (%s), and is ended once more", worker.id, error)
        await end()


async def wake(worker: MachineWorker, job: Job) -> None:
    """Carry out a wake order: running from the instant of the hibernation when this returns.

    Raises:
        AgentSilent: it runs, but its agent does not answer.
        BoxdError: it could not be woken and stays hibernated.
    """
    before, run_id, begun = worker.machine, new_run_id(), time.monotonic()
    capture = hibernated_of(worker)
    described = await asyncio.to_thread(_read, capture, before)
    journal = await worker.journal(WAKE, {"run": run_id})
    steps, starting = worker.steps(WAKE, journal), Starting(worker)
    try:
        try:
            steps.undo("show the old state", lambda: _asleep_again(worker, before))
            await worker.move(MachineStatus.STARTING)
            job.record()
            await prepare(worker, steps, starting, capture, described, run_id)
            await _go_on(worker, steps, starting)
            runs = round(1000 * (time.monotonic() - begun))
            answers = await _answers(worker, steps)
            steps.commit()
        except BaseException as error:
            await to_the_end(steps.unwind())
            if not isinstance(error, Exception):
                raise
            raise same_kind(error, f"machine '{before.name}' stays hibernated: {because(error)}") from error
        took = round(1000 * (time.monotonic() - begun))
        await to_the_end(_is_awake(worker, steps, took))
    finally:
        await to_the_end(worker.drivers.store.end_operation(journal))
    log.info("machine %s: woken, runs after %d ms, answers after %d ms", worker.id, runs, took)
    worker.report(Progress(WAKE, "ready", 1.0, f"runs after {runs} ms, answered after {took} ms"))
    if not answers:
        limit = worker.drivers.settings.restore_timeout
        raise AgentSilent(f"machine '{before.name}' runs, but its agent has not answered within {limit:.0f} s")


def _read(capture: Path, machine: Machine) -> dict[str, Any]:
    try:
        return manifest.read(capture, "its memory on disk")
    except WrongState as error:
        raise WrongState(
            f"machine '{machine.name}' cannot be woken and stays hibernated: {error.message}; or stop it to give its "
            "memory up and keep its disk"
        ) from error


async def _go_on(worker: MachineWorker, steps: Steps, starting: Starting) -> None:
    """Make the loaded run the machine's and resume it. The capture has its own disk: there is a way back."""
    run, agent = starting.run, starting.agent
    assert run is not None and agent is not None

    async def own() -> None:
        await asyncio.to_thread(take_over_disk, worker)
        await worker.drivers.store.update_machine(worker.id, run_id=run.run_id)
        worker.attach(run, agent)
        await join(worker.drivers.network, worker.machine, run)

    async def disown() -> None:
        worker.detach_run()

    steps.undo("detach the run", disown)
    await steps.run("own", own)
    await steps.run("resume", run.resume)


async def _answers(worker: MachineWorker, steps: Steps) -> bool:
    """Whether the agent answers. Raises MachineLost if the run ends before."""
    try:
        await steps.run("answer", lambda: answered(worker, worker.drivers.settings.restore_timeout))
    except Unavailable:
        return False
    return True


async def _asleep_again(worker: MachineWorker, before: Machine) -> None:
    """Undo of waking, once the new run has ended."""
    await worker.drivers.store.update_machine(worker.id, run_id="")
    await show_again(worker, before)


async def _is_awake(worker: MachineWorker, steps: Steps, took_ms: int) -> None:
    """It runs on from here; the capture is of no use any more, for it is the past. Only forward."""
    try:
        await steps.run("show", lambda: _show_awake(worker, took_ms))
        await steps.run("drop", lambda: asyncio.to_thread(worker.drivers.pool.discard, hibernated_of(worker)))
    except Exception as error:
        log.warning("machine %s: waking is not over (%s), and is ended once more", worker.id, error)
        await _show_awake(worker, took_ms)
        await asyncio.to_thread(worker.drivers.pool.discard, hibernated_of(worker))


async def _show_awake(worker: MachineWorker, took_ms: int) -> None:
    await worker.move(MachineStatus.RUNNING, boot_time_ms=took_ms, hibernated_at_ms=0)


async def settle_hibernation(worker: MachineWorker) -> None:
    """After a daemon that was killed while it hibernated a machine: once it says so its run is over, else it runs."""
    machine = worker.machine
    if machine.status is MachineStatus.HIBERNATED:
        if machine.run_id:
            await worker.drivers.hypervisor.end(machine.run_id)
            await let_go(worker.drivers.network, machine, machine.run_id)
        await worker.drivers.store.update_machine(worker.id, run_id="")


async def settle_wake(worker: MachineWorker) -> None:
    """After a daemon that was killed while it woke a machine: running if its run lives, else hibernated as before."""
    pool = worker.drivers.pool
    await asyncio.to_thread(pool.discard, next_disk_of(worker))
    if not worker.machine.hibernated_at_ms:
        return
    if worker.run is not None:
        await worker.drivers.store.update_machine(worker.id, hibernated_at_ms=0)
    else:
        values = {"status": MachineStatus.HIBERNATED, "run_id": ""}
        await worker.drivers.store.update_machine(worker.id, **values)


async def drop_unused(worker: MachineWorker) -> bool:
    """Discard what lies where a hibernated machine's capture does, if the machine is not; whether there was any."""
    capture = hibernated_of(worker)
    if worker.machine.hibernated_at_ms or not capture.exists():
        return False
    await asyncio.to_thread(worker.drivers.pool.discard, capture)
    return True
