"""Suspend a machine, and resume it: its vCPUs stand still, its memory stays in the host's.

Nothing else is touched: the run lives, connections to the guest stay open and wait, the ways in are held. Neither
needs the journal: a machine that says `running` and is found paused is resumed, one that says `suspended` stays so.
"""

from __future__ import annotations

import logging
import time

from openboxd.errors import AgentSilent, BoxdError, MachineLost, WrongState, because, same_kind
from openboxd.model import Machine, MachineStatus, Progress
from openboxd.ports import Agent, Run
from openboxd.worker.events import STANDS_STILL
from openboxd.worker.job import Job
from openboxd.worker.machine import MachineWorker
from openboxd.worker.orders import Suspend
from openboxd.worker.restore import show_again
from openboxd.worker.steps import Steps, to_the_end

AWAKEN_LIMIT = 3.0
"""Seconds for a guest whose vCPUs go on to have its clock set. One that does not answer runs all the same."""

log = logging.getLogger(__name__)


async def suspend(worker: MachineWorker, job: Job) -> None:
    """Carry out a suspend order. If this raises, the machine runs on."""
    assert isinstance(job.order, Suspend)
    before, steps = worker.machine, worker.steps("suspend")
    job.record()
    try:
        job.took_us = await pause(worker, steps)
        refuse_if_used(worker, job)
        steps.undo("show the old state", lambda: show_again(worker, before))
        await steps.run("show", lambda: worker.move(MachineStatus.SUSPENDED))
        steps.commit()
    except BaseException as error:
        await to_the_end(steps.unwind())
        if isinstance(error, MachineLost) or not isinstance(error, Exception):
            raise
        raise same_kind(error, f"machine '{before.name}' runs on and was not suspended: {because(error)}") from error


async def pause(worker: MachineWorker, steps: Steps) -> int:
    """Hold the ways in and pause the vCPUs; how long that took, in microseconds. The undo lets both go on, unless the
    machine was suspended before."""
    run, agent, begun = _present(worker)
    if worker.stalled:
        raise WrongState(STANDS_STILL)
    steps.undo("let in again", worker.let_in)
    worker.drivers.ways.hold(worker.id)
    if worker.machine.status is not MachineStatus.SUSPENDED:
        steps.undo("go on", lambda: _go_on(worker, run, agent))
    await steps.run("pause", run.pause)
    agent.rest()
    return _since_us(begun)


def refuse_if_used(worker: MachineWorker, job: Job) -> None:
    """Raises WrongState if somebody has used the machine since it was to sleep for want of use."""
    when_idle = getattr(job.order, "when_idle", False)
    if when_idle and (worker.use.is_open or worker.use.last > job.begun_at or worker.drivers.ways.in_use(worker.id)):
        raise WrongState("somebody uses it again")


async def _go_on(worker: MachineWorker, run: Run, agent: Agent) -> None:
    """Undo of the pause."""
    await run.resume()
    await awaken(worker, agent)


async def awaken(worker: MachineWorker, agent: Agent) -> bool:
    """Let the guest have the time it is; whether it has answered."""
    try:
        await agent.awaken(AWAKEN_LIMIT)
    except BoxdError as error:
        log.warning("machine %s: its agent has not answered after a pause: %s", worker.id, error)
        return False
    return True


async def resume(worker: MachineWorker, job: Job) -> None:
    """Carry out a resume order: running, with the right time, when this returns. If this raises, it is suspended."""
    before, steps = worker.machine, worker.steps("resume")
    run, agent, begun = _present(worker)
    job.record()
    try:
        steps.undo("show the old state", lambda: _stand_still(worker, before, run, agent))
        await steps.run("resume", run.resume)
        job.took_us = _since_us(begun)
        answers = await steps.run("answer", lambda: awaken(worker, agent))
        await steps.run("show", lambda: worker.move(MachineStatus.RUNNING))
        steps.commit()
    except BaseException as error:
        await to_the_end(steps.unwind())
        if isinstance(error, MachineLost) or not isinstance(error, Exception):
            raise
        raise same_kind(error, f"machine '{before.name}' stays suspended: {because(error)}") from error
    worker.report(Progress("resume", "ready", 1.0, f"runs after {job.took_us / 1000:.1f} ms"))
    if not answers:
        raise AgentSilent(f"machine '{before.name}' runs, but its agent has not answered within {AWAKEN_LIMIT:.0f} s")


async def _stand_still(worker: MachineWorker, before: Machine, run: Run, agent: Agent) -> None:
    """Undo of a resume."""
    await run.pause()
    agent.rest()
    await show_again(worker, before)


def _present(worker: MachineWorker) -> tuple[Run, Agent, float]:
    """The run and its agent, and the moment. Raises MachineLost if the run has ended."""
    if worker.run is None or worker.agent is None:
        raise MachineLost(f"machine '{worker.machine.name}' has ended; start it again, or restore a checkpoint")
    return worker.run, worker.agent, time.monotonic()


def _since_us(begun: float) -> int:
    return round(1_000_000 * (time.monotonic() - begun))
