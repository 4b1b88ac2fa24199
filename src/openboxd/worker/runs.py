"""Starting and ending the runs of a machine: pieces that boot, restore, stop and recovery share."""

from __future__ import annotations

import asyncio
import logging
import secrets
from pathlib import Path

from openboxd.errors import MachineLost, Unavailable
from openboxd.model import Machine
from openboxd.ports import Agent, NetworkLink, Plan, Run, RunSpec
from openboxd.worker.events import STANDS_STILL
from openboxd.worker.links import let_go
from openboxd.worker.machine import MachineWorker

LOOK = 1.0
"""Seconds between looks whether a guest that is waited for stands still."""

log = logging.getLogger(__name__)


def new_run_id() -> str:
    """12 lowercase hex characters: short, since socket paths hold 107 bytes."""
    return secrets.token_hex(6)


def disk_of(worker: MachineWorker) -> Path:
    """The machine's root disk."""
    return worker.drivers.pool.machine_dir(worker.id) / "disk.raw"


def next_disk_of(worker: MachineWorker) -> Path:
    """The disk of a run that is being prepared beside the present one."""
    return worker.drivers.pool.machine_dir(worker.id) / "disk.next"


def hibernated_of(worker: MachineWorker) -> Path:
    """The capture that the machine wakes from; there is one exactly while `hibernated_at_ms` says so."""
    return worker.drivers.pool.machine_dir(worker.id) / "hibernated"


def run_spec(
    worker: MachineWorker, machine: Machine, run_id: str, disk: Path, link: NetworkLink, plan: Plan | None = None
) -> RunSpec:
    """What the hypervisor needs to start a run of this machine."""
    drivers = worker.drivers
    image = drivers.pool.image_dir(machine.image)
    return RunSpec(
        run_id=run_id,
        machine_id=machine.id,
        name=machine.name,
        size=machine.size,
        disk=disk,
        kernel=image / "vmlinuz",
        initrd=image / "initrd",
        cmdline=drivers.cmdline(machine.name, machine.id),
        console=drivers.pool.machine_dir(machine.id) / "console.log",
        address=machine.address,
        mac=machine.mac,
        plan=plan,
        link=link,
    )


async def connected(worker: MachineWorker, agent_socket: Path) -> Agent:
    """The channel to the agent in a run of this machine, whose guest is told who it is. Raises Unavailable."""
    machine = worker.machine
    return await worker.drivers.connector.connect(agent_socket, machine.name, machine.identity)


class Starting:
    """A run on its way: whatever of it exists can be ended at any moment, any number of times."""

    def __init__(self, worker: MachineWorker) -> None:
        self._worker = worker
        self.run: Run | None = None
        self.agent: Agent | None = None
        self.crossed = False  # the old run is being ended: there is no way back

    async def end(self) -> None:
        """Undo: close the agent's channel and kill the run."""
        if self.agent is not None:
            await self.agent.close("the machine's start was taken back")
        if self.run is not None:
            await self.run.kill()
            await let_go(self._worker.drivers.network, self._worker.machine, self.run.run_id)


async def end_present_run(worker: MachineWorker, reason: str, spare: str = "") -> None:
    """Kill the machine's run, if it has one; streams into the guest end with `reason`.

    `spare` is the id of a run that stays: the one that is about to become the machine's.
    """
    run, agent, known = worker.run, worker.agent, worker.machine.run_id
    worker.detach_run()
    if agent is not None:
        await agent.close(reason)
    if run is not None:
        await run.kill()
    elif known and known != spare:  # alive, perhaps, but it could not be adopted
        await worker.drivers.hypervisor.end(known)
    if known and known != spare:
        await let_go(worker.drivers.network, worker.machine, known)


async def answered(worker: MachineWorker, limit: float) -> None:
    """Until the agent has answered or the run has ended, whichever comes first.

    Raises:
        Unavailable: the agent has not answered within `limit` seconds, or the guest stands still; the run lives.
        MachineLost: the run has ended.
    """
    run, agent = worker.run, worker.agent
    assert run is not None and agent is not None
    ready, ended = asyncio.ensure_future(agent.wait_ready(limit)), asyncio.ensure_future(run.ended())
    try:
        while not (ready.done() or ended.done()):
            await asyncio.wait([ready, ended], timeout=LOOK, return_when=asyncio.FIRST_COMPLETED)
            if worker.stalled:  # for as long as nobody makes room
                raise Unavailable(STANDS_STILL)
        if ready.done():
            return ready.result()
        end = ended.result()
    finally:
        ready.cancel()
        ended.cancel()
    raise MachineLost(
        f"machine '{worker.machine.name}' ended before it answered ({end.text}); "
        "its disk and checkpoints are intact: start it again, or restore a checkpoint"
    )


def silence(worker: MachineWorker, limit: float) -> str:
    """Why a machine that runs has not answered, as a clause."""
    return worker.stands_still or f"its agent has not answered within {limit:.0f} s"
