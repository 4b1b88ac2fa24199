"""Boot, stop and reboot: the operations that lose the machine's memory."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping
from typing import Any

from openboxd.errors import AgentSilent, BoxdError, MachineLost, OperationFailed, Unavailable, because, same_kind
from openboxd.model import Machine, MachineStatus
from openboxd.ports import NetworkLink, Run
from openboxd.worker.job import Job
from openboxd.worker.links import join, start_linked
from openboxd.worker.machine import MachineWorker
from openboxd.worker.runs import (
    Starting,
    answered,
    connected,
    disk_of,
    end_present_run,
    hibernated_of,
    new_run_id,
    run_spec,
    silence,
)
from openboxd.worker.steps import Steps, to_the_end

PRESS_AGAIN = 3.0
"""Seconds between presses of the power button: a guest that is still booting misses the first ones."""

STOP = "stop"
"""The journal's word for a stop; recovery reads it."""

log = logging.getLogger(__name__)


async def start(worker: MachineWorker, job: Job) -> None:
    """Boot the machine's disk; running when this returns, stopped when it raises."""
    await _boot(worker, job, "boot")


async def stop(worker: MachineWorker, job: Job) -> None:
    """Shut the guest down, killing its run after the limit; stopped when this returns."""
    job.record()
    journal = await worker.journal(STOP, {})
    steps = worker.steps("stop", journal)
    try:
        if worker.machine.status is MachineStatus.SUSPENDED:
            await steps.run("go on", lambda: _go_on(worker))
        await _end_cleanly(worker, steps, f"machine '{worker.machine.name}' was stopped")
    finally:
        await to_the_end(_end_stop(worker, journal))


async def _end_stop(worker: MachineWorker, journal: int) -> None:
    """Show what became of a stop; whatever fails here, it is over."""
    try:
        if worker.run is None:
            await worker.move(MachineStatus.STOPPED, run_id="", hibernated_at_ms=0)
            await asyncio.to_thread(worker.drivers.pool.discard, hibernated_of(worker))
    finally:
        await worker.drivers.store.end_operation(journal)


async def _go_on(worker: MachineWorker) -> None:
    """Let a suspended machine run: a guest whose vCPUs stand still cannot shut down."""
    if worker.run is not None:
        await worker.run.resume()
    await worker.move(MachineStatus.RUNNING)


async def reboot(worker: MachineWorker, job: Job) -> None:
    """Shut down and boot with a new run; `starting` meanwhile."""
    await _boot(worker, job, "reboot")


async def change(worker: MachineWorker, job: Job, operation: str, **values: Any) -> None:
    """Change what takes effect with a boot (a name, a size), and boot the machine if it runs.

    If this raises, the machine has its old values, unless its new run was there already. The change and `starting`
    are one write: nobody sees a machine with the new value that runs without it.
    """
    if worker.run is not None:
        await _boot(worker, job, operation, **values)
        return
    store, machine, steps = worker.drivers.store, worker.machine, worker.steps(operation)
    steps.undo("change back", lambda: store.update_machine(worker.id, **_present(machine, values)))
    try:
        await steps.run("change", lambda: store.update_machine(worker.id, **values))
    except BaseException as error:
        await to_the_end(steps.unwind())
        if isinstance(error, BoxdError) or not isinstance(error, Exception):
            raise
        raise OperationFailed(f"machine '{machine.name}' is {machine.status} and was not changed: {error}") from error


def _present(machine: Machine, values: Mapping[str, Any]) -> dict[str, Any]:
    """What is to be changed, as it is."""
    return {name: getattr(machine, name) for name in values}


async def _shut_down(worker: MachineWorker) -> None:
    """Press the power button until the guest has gone, or the limit is over."""
    run = worker.run
    if run is None:
        return
    ended = asyncio.ensure_future(run.ended())
    deadline = time.monotonic() + worker.drivers.settings.stop_timeout
    try:
        while not ended.done() and (left := deadline - time.monotonic()) > 0:
            await run.powerdown()
            await asyncio.wait([ended], timeout=min(left, PRESS_AGAIN))
    except BoxdError as error:
        log.warning("machine %s does not take the power button: %s", worker.id, error)
    finally:
        ended.cancel()


async def _boot(worker: MachineWorker, job: Job, operation: str, **values: Any) -> None:
    """End the present run if there is one, and start another on the machine's disk, with `values` changed."""
    store, machine, run_id = worker.drivers.store, worker.machine, new_run_id()
    journal = await worker.journal("boot", {"run": run_id})
    steps, starting, begun = worker.steps(operation, journal), Starting(worker), time.monotonic()
    try:
        if values:
            steps.undo("change back", lambda: store.update_machine(worker.id, **_present(machine, values)))
        await worker.move(MachineStatus.STARTING, **values)
        job.record()
        await _end_cleanly(worker, steps, f"machine '{machine.name}' was rebooted")
        await _launch(worker, steps, starting, run_id)
        steps.commit()
        await _answer(worker, steps, starting, begun)
    except BaseException as error:
        await to_the_end(_take_back(worker, steps, because(error)))
        if isinstance(error, AgentSilent | MachineLost) or not isinstance(error, Exception):
            raise
        status = worker.machine.status
        sentence = f"machine '{machine.name}' did not start and is {status}: {because(error)}"
        raise same_kind(error, sentence) from error
    finally:
        await to_the_end(store.end_operation(journal))


async def _end_cleanly(worker: MachineWorker, steps: Steps, reason: str) -> None:
    if worker.run is not None or worker.machine.run_id:
        await steps.run("shut down", lambda: _shut_down(worker))
        await steps.run("end", lambda: end_present_run(worker, reason))


async def _launch(worker: MachineWorker, steps: Steps, starting: Starting, run_id: str) -> None:
    """Start the process and connect its agent channel."""
    drivers = worker.drivers

    async def launch() -> None:
        async def boot(link: NetworkLink) -> Run:
            return await drivers.hypervisor.boot(run_spec(worker, worker.machine, run_id, disk_of(worker), link))

        starting.run = await start_linked(drivers.network, worker.machine, run_id, boot)
        await join(drivers.network, worker.machine, starting.run)

    async def connect() -> None:
        assert starting.run is not None
        starting.agent = await connected(worker, starting.run.agent_socket)

    steps.undo("end the run", starting.end)
    await steps.run("launch", launch)
    await steps.run("connect", connect)


async def _take_back(worker: MachineWorker, steps: Steps, reason: str) -> None:
    """After a failure: running if a run is attached (the worker settles one that has ended), else stopped."""
    await steps.unwind()
    if worker.run is not None:
        await worker.move(MachineStatus.RUNNING, worker.stands_still, run_id=worker.run.run_id)
    else:
        await worker.move(MachineStatus.STOPPED, reason, run_id="")


async def _answer(worker: MachineWorker, steps: Steps, starting: Starting, begun: float) -> None:
    """The machine exists from here on; wait for its agent, and let it run on also if that does not answer.

    A guest whose agent is broken still runs its services: ending it would help nobody.
    """
    run, agent = starting.run, starting.agent
    assert run is not None and agent is not None
    worker.attach(run, agent)
    await worker.move(MachineStatus.STARTING, run_id=run.run_id)  # a daemon that starts now adopts the run
    limit = worker.drivers.settings.boot_timeout
    silent: Unavailable | None = None
    try:
        await steps.run("answer", lambda: answered(worker, limit))
    except Unavailable as error:
        silent = error
    took = round(1000 * (time.monotonic() - begun))
    worker.conclude()
    await worker.move(MachineStatus.RUNNING, run_id=run.run_id, boot_time_ms=took, reason=worker.stands_still)
    if silent is not None:
        raise AgentSilent(f"machine '{worker.machine.name}' runs, but {silence(worker, limit)}")
