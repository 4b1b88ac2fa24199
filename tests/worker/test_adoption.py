"""A daemon that starts beside runs of an earlier one: one sick run concerns its own machine only."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from openboxd.api.ports import NewMachine
from openboxd.errors import MachineLost, OperationFailed
from openboxd.model import MIB, MachineStatus
from openboxd.worker.adoption import adopt_late
from tests.fakes.killing import DaemonKilled
from tests.worker.world import OWNER, World


async def restarted_beside_a_hung_run(world: World) -> None:
    """Machines `sick` and `well`, both saved; the QEMU of `sick` does not answer the next daemon."""
    for name in ("sick", "well"):
        await world.machine(name)
        await world.sh(f"set v {name}", name)
        await world.save("a", name)
    world.host.of_machine(world.control.machine(OWNER, "sick").id).hung = True
    await world.stop()
    await world.start()


async def test_a_run_that_does_not_answer_fails_its_machine_only(world: World) -> None:
    await restarted_beside_a_hung_run(world)
    sick, well = (world.control.machine(OWNER, name) for name in ("sick", "well"))
    assert (sick.status, well.status) == (MachineStatus.FAILED, MachineStatus.RUNNING)
    assert "is alive but does not answer" in sick.status_reason
    assert await world.sh("get v", "well") == "well\n"


@pytest.mark.parametrize("how", ["start", "restore"])
async def test_nothing_is_started_beside_it(world: World, how: str) -> None:
    await restarted_beside_a_hung_run(world)
    if how == "start":
        await world.control.start_machine(OWNER, "sick")
    else:
        await world.control.restore_checkpoint(OWNER, "sick", "a")
        assert await world.sh("get v", "sick") == "sick\n"
    assert world.control.machine(OWNER, "sick").status is MachineStatus.RUNNING
    assert world.leftovers() == []


async def test_removal_ends_it(world: World) -> None:
    await restarted_beside_a_hung_run(world)
    await world.control.destroy_machine(OWNER, "sick")
    assert world.leftovers() == []


async def test_it_is_taken_over_once_it_answers(world: World) -> None:
    await restarted_beside_a_hung_run(world)
    machine = world.control.machine(OWNER, "sick")
    workers = {machine.id: world.control.team.worker(machine.id)}
    assert await adopt_late(world.control.team.drivers, workers) == 0
    world.host.of_machine(machine.id).hung = False
    assert await adopt_late(world.control.team.drivers, workers) == 1
    assert await world.sh("get v", "sick") == "sick\n"
    assert world.control.machine(OWNER, "sick").status is MachineStatus.RUNNING
    assert world.leftovers() == []


async def test_a_failed_start_tells_why(world: World) -> None:
    await world.machine()
    await world.control.stop_machine(OWNER, "web")

    def fault(point: str) -> None:
        if point == "boot":
            raise OperationFailed("QEMU said no")

    world.hypervisor.fault = fault
    with pytest.raises(OperationFailed, match="machine 'web' did not start and is stopped: QEMU said no"):
        await world.control.start_machine(OWNER, "web")
    assert world.control.machine(OWNER, "web").status_reason == "QEMU said no"


async def test_a_run_that_ends_right_after_the_swap_is_told_as_lost(world: World) -> None:
    machine = await world.machine()
    await world.save("a")
    with world.host.hold("answer") as hold:
        restoring = asyncio.create_task(world.control.restore_checkpoint(OWNER, "web", "a"))
        await hold.reached()
        world.host.of_machine(machine.id).crash()
        with pytest.raises(MachineLost, match="machine 'web' ended before it answered"):
            await restoring
    assert world.control.machine(OWNER, "web").status is MachineStatus.FAILED


async def test_a_machine_whose_daemon_was_killed_before_it_had_a_disk_never_was(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.image()

    def kill(label: str) -> Path:
        world.switch.kill()
        raise AssertionError

    monkeypatch.setattr(world.pool, "stage", kill)
    making = asyncio.ensure_future(
        world.control.create_machine(OWNER, NewMachine(name="web", vcpu=1, memory_bytes=512 * MIB))
    )
    await asyncio.wait([making])
    assert isinstance(making.exception(), DaemonKilled)
    world.drop()
    await world.start()
    assert world.control.machines(OWNER) == []
    assert world.leftovers() == []
