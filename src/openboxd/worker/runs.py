"""Starting and ending the runs of a machine: pieces that boot, restore, stop and recovery share."""

from __future__ import annotations

import logging
import secrets
from pathlib import Path

from openboxd.model import Machine
from openboxd.worker.machine import MachineWorker
from openboxd.worker.ports import Agent, Plan, Run, RunSpec

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


def run_spec(worker: MachineWorker, machine: Machine, run_id: str, disk: Path, plan: Plan | None = None) -> RunSpec:
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
    )


class Starting:
    """A run on its way: whatever of it exists can be ended at any moment, any number of times."""

    def __init__(self) -> None:
        self.run: Run | None = None
        self.agent: Agent | None = None
        self.crossed = False  # the old run is being ended: there is no way back

    async def end(self) -> None:
        """Undo: close the agent's channel and kill the run."""
        if self.agent is not None:
            await self.agent.close("the machine's start was taken back")
        if self.run is not None:
            await self.run.kill()


async def end_present_run(worker: MachineWorker, reason: str) -> None:
    """Kill the machine's run, if it has one; streams into the guest end with `reason`."""
    run, agent = worker.run, worker.agent
    worker.detach_run()
    if agent is not None:
        await agent.close(reason)
    if run is not None:
        await run.kill()
