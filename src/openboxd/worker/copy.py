"""Start a new machine from a capture of another one: it goes on where that one stood, as somebody else.

The capture is loaded, paused, beside nothing: the machine is new and has its own disk already. The guest is told who
it is as the first thing after it goes on, and nobody is let in before it says that it is. A copy that does not come
so far is removed and reported, for it would look like a machine and be none; one that can as well be booted (its
capture was only a short cut) is booted instead.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from openboxd.errors import OperationFailed, because, same_kind
from openboxd.model import MachineStatus, Progress, Size
from openboxd.ports import NetworkLink, Plan, Run
from openboxd.worker import boot, manifest
from openboxd.worker.job import Job
from openboxd.worker.links import join, start_linked
from openboxd.worker.machine import MachineWorker
from openboxd.worker.orders import StartFrom
from openboxd.worker.runs import Starting, answered, connected, disk_of, end_present_run, new_run_id, run_spec
from openboxd.worker.steps import Steps, to_the_end

COPY = "copy"
"""The journal's word for a start from a capture; recovery reads it."""

SAVE_AGAIN = "remove it and save it again"
"""What to do about a capture that is damaged."""

log = logging.getLogger(__name__)


async def start_from(worker: MachineWorker, job: Job) -> None:
    """Carry out a start from a capture: running under its own identity when this returns.

    Raises:
        BoxdError: the machine does not exist any more, unless the order says that it is booted instead.
    """
    assert isinstance(job.order, StartFrom)
    order, name = job.order, worker.machine.name
    try:
        await _copy(worker, job, order)
    except Exception as error:
        if order.or_boot:
            log.warning("machine %s: %s is of no use (%s); it is booted", worker.id, order.label, because(error))
            await boot.start(worker, job)
            return
        await to_the_end(_remove(worker))
        sentence = f"machine '{name}' was not made from {order.label} and is removed: {because(error)}"
        raise same_kind(error, sentence) from error


async def _copy(worker: MachineWorker, job: Job, order: StartFrom) -> None:
    """The steps. Raises with the run ended and the machine `starting`."""
    store, run_id = worker.drivers.store, new_run_id()
    journal = await worker.journal(COPY, {"run": run_id, "or_boot": order.or_boot})
    steps, starting = worker.steps(COPY, journal), Starting(worker)
    try:
        await worker.move(MachineStatus.STARTING)
        job.record()
        described = await asyncio.to_thread(manifest.read, order.capture, order.label, SAVE_AGAIN)
        await store.update_machine(worker.id, size=Size(**described["size"]))  # the source may be resized meanwhile
        async with _turn(worker):
            begun = time.monotonic()
            await _load(worker, steps, starting, order, described["plan"], run_id)
            await _go_on(worker, steps, starting)
            runs = round(1000 * (time.monotonic() - begun))
            await steps.run("answer", lambda: _who_it_is(worker))
            took = round(1000 * (time.monotonic() - begun))
        await steps.run("show", lambda: worker.move(MachineStatus.RUNNING, boot_time_ms=took))
        steps.commit()
    except BaseException:
        await to_the_end(steps.unwind())
        raise
    finally:
        await to_the_end(store.end_operation(journal))
    log.info("machine %s: made from %s, runs after %d ms, answers after %d ms", worker.id, order.label, runs, took)
    worker.report(Progress(COPY, "ready", 1.0, f"runs after {runs} ms, answered after {took} ms"))


@asynccontextmanager
async def _turn(worker: MachineWorker) -> AsyncIterator[None]:
    """From here on it takes a processor until its guest has answered, and has a limit for that. Many that are asked
    for at once would keep each other from it: so a few at a time come up, and who waits is told."""
    if worker.drivers.turns.all_taken:
        worker.report(Progress(COPY, "turn", None, "waits for others that are coming up"))
    async with worker.drivers.turns.one():
        yield


async def _load(
    worker: MachineWorker, steps: Steps, starting: Starting, order: StartFrom, plan: Plan, run_id: str
) -> None:
    """A run that stands ready, paused."""
    network, hypervisor = worker.drivers.network, worker.drivers.hypervisor

    async def connect(socket: Path) -> None:
        starting.agent = await connected(worker, socket)

    async def start(link: NetworkLink) -> Run:
        spec = run_spec(worker, worker.machine, run_id, disk_of(worker), link, plan)
        return await hypervisor.load(spec, order.capture, connect)

    async def load() -> None:
        starting.run = await start_linked(network, worker.machine, run_id, start)

    async def end() -> None:
        await end_present_run(worker, "the machine's start was taken back", spare=run_id)
        await starting.end()

    steps.undo("end the run", end)
    await steps.run("load", load)


async def _go_on(worker: MachineWorker, steps: Steps, starting: Starting) -> None:
    """Make the run the machine's, so that its guest's questions are known to be this machine's, and resume it."""
    run, agent = starting.run, starting.agent
    assert run is not None and agent is not None

    async def own() -> None:
        await worker.drivers.store.update_machine(worker.id, run_id=run.run_id)
        worker.attach(run, agent)
        await join(worker.drivers.network, worker.machine, run)

    await steps.run("own", own)
    await steps.run("resume", run.resume)


async def _who_it_is(worker: MachineWorker) -> None:
    """Until the guest is who it was told to be. Raises Unavailable, MachineLost, OperationFailed."""
    await answered(worker, worker.drivers.settings.restore_timeout)
    assert worker.agent is not None
    if worker.agent.identity_refusal:
        raise OperationFailed(f"its guest has not become another machine: {worker.agent.identity_refusal}")


async def _remove(worker: MachineWorker) -> None:
    """There never was such a machine: its row and its directory go."""
    await worker.move(MachineStatus.DESTROYING)
    await asyncio.to_thread(worker.drivers.pool.discard, worker.drivers.pool.machine_dir(worker.id))
    await worker.move(MachineStatus.DESTROYED, run_id="")
