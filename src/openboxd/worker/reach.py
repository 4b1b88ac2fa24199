"""Reaching the guest: whoever needs it waits while it is swapped or put to sleep, and wakes a machine that sleeps."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from openboxd.errors import BoxdError, Unavailable, WrongState
from openboxd.model import MachineStatus
from openboxd.ports import Agent
from openboxd.worker.machine import MachineWorker
from openboxd.worker.orders import Hibernate, Restore, Resume, Suspend, Wake
from openboxd.worker.states import ASLEEP

HOLD_LIMIT = 60.0
"""Seconds a call that needs the guest waits for it."""

HELD_CALLS = 1000
"""Calls that may wait for one machine; more are refused, so that a storm cannot fill the daemon."""

AGENT_LIMIT = 15.0
"""Seconds a call waits for an agent that is out of step, for example just after the daemon started."""

HIDING = (Restore, Suspend, Resume, Hibernate, Wake)
"""While one of these is carried out the guest cannot be reached, and will be."""

log = logging.getLogger(__name__)


async def reachable_agent(worker: MachineWorker) -> Agent:
    """The agent of the running machine; waits for what hides it to end, and wakes it if it sleeps.

    Raises:
        WrongState: the machine does not run. BoxdError: it could not be woken.
        Unavailable: it took too long, too many wait, the guest stands still, or its agent does not answer.
    """
    if _hidden(worker):
        async with _waiting(worker):
            await rouse(worker)
    machine = worker.machine
    if machine.status is not MachineStatus.RUNNING or worker.agent is None:
        advice = "start it first" if machine.status is not MachineStatus.STARTING else "try again when it is running"
        raise WrongState(f"machine '{machine.name}' is {machine.status}; {advice}")
    if worker.stands_still:  # whatever is asked would wait until somebody makes room
        raise Unavailable(f"machine '{machine.name}' does not answer: {worker.stands_still}")
    if not worker.agent.ready:
        await worker.agent.wait_ready(AGENT_LIMIT)
    return worker.agent


async def rouse(worker: MachineWorker, actor: str = "") -> None:
    """Wait for what hides the guest to end, whatever becomes of it, and wake the machine if it sleeps then.

    Raises:
        BoxdError: it could not be woken, and is as it was.
    """
    while _hidden(worker):
        suspended = worker.machine.status is MachineStatus.SUSPENDED
        job = worker.job or worker.submit(Resume() if suspended else Wake(), actor)
        try:
            await job.done()
        except BoxdError:
            log.debug("machine %s: somebody waited for '%s', which did not succeed", worker.id, job.order)
            if isinstance(job.order, Resume | Wake) and worker.machine.status in ASLEEP:
                raise


def _hidden(worker: MachineWorker) -> bool:
    order = worker.current
    return isinstance(order, HIDING) or worker.machine.status in ASLEEP


@asynccontextmanager
async def _waiting(worker: MachineWorker) -> AsyncIterator[None]:
    """While the block runs a call waits for the machine. Raises Unavailable at the limits."""
    name, use = worker.machine.name, worker.use
    if use.waiting >= HELD_CALLS:
        raise Unavailable(f"machine '{name}' is {_doing(worker)} and {HELD_CALLS} calls wait for it; try again later")
    use.waiting += 1
    try:
        async with asyncio.timeout(HOLD_LIMIT):
            yield
    except TimeoutError:
        raise Unavailable(
            f"machine '{name}' is {_doing(worker)} for more than {HOLD_LIMIT:.0f} s; try again later"
        ) from None
    finally:
        use.waiting -= 1


def _doing(worker: MachineWorker) -> str:
    """What a machine is that cannot be reached, for a sentence."""
    order = worker.current
    return "being restored" if isinstance(order, Restore) else f"busy with '{order}'" if order else "asleep"
