"""A daemon that starts beside runs of an earlier one: one sick run concerns its own machine only."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from openboxd.api.ports import NewMachine
from openboxd.errors import MachineLost, OperationFailed
from openboxd.model import MIB, Machine, MachineStatus
from openboxd.ports import RunState
from openboxd.worker.adoption import adopt_late
from openboxd.worker.steps import no_fault
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


async def taken_over(world: World, how: str) -> None:
    """The QEMU of `sick` answers again: to this daemon, or to the next one before this one has asked again."""
    machine = world.control.machine(OWNER, "sick")
    world.host.of_machine(machine.id).hung = False
    if how == "late":
        workers = {machine.id: world.control.team.worker(machine.id)}
        assert await adopt_late(world.control.team.drivers, workers) == 1
    else:
        await world.stop()
        await world.start()


TAKEN_OVER = pytest.mark.parametrize("how", ["late", "by the next daemon"])


@TAKEN_OVER
@pytest.mark.parametrize("paused", [False, True])
async def test_a_machine_does_not_stay_failed_over_a_run_that_lives(world: World, how: str, paused: bool) -> None:
    await restarted_beside_a_hung_run(world)
    process = world.host.of_machine(world.control.machine(OWNER, "sick").id)
    if paused:  # by a save whose saver died
        process.set_state(RunState.PAUSED)
    await taken_over(world, how)
    machine = world.control.machine(OWNER, "sick")
    assert (machine.status, machine.status_reason) == (MachineStatus.RUNNING, "")
    assert await world.sh("get v", "sick") == "sick\n"
    assert world.host.of_machine(machine.id) is process, "it was not started anew"
    assert world.leftovers() == []


@TAKEN_OVER
@pytest.mark.parametrize("was", ["suspended", "suspended and about to be restored"])
async def test_one_that_was_suspended_is_again(world: World, how: str, was: str) -> None:
    for name in ("sick", "well"):
        await world.machine(name)
    await world.sh("set v sick", "sick")
    await world.save("a", "sick")
    process = world.host.of_machine(world.control.machine(OWNER, "sick").id)
    await world.control.suspend_machine(OWNER, "sick")
    if was == "suspended":
        await world.stop()
    else:
        world.fault = world.switch.killing_at("before load")
        restoring = asyncio.ensure_future(world.control.restore_checkpoint(OWNER, "sick", "a"))
        await asyncio.wait([restoring])
        assert isinstance(restoring.exception(), DaemonKilled)
        world.drop()
        world.fault = no_fault
    process.hung = True
    await world.start()
    for _ in range(2):  # a daemon that meets it failed already knows it as well
        found = world.control.machine(OWNER, "sick")
        assert found.status is MachineStatus.FAILED
        assert found.status_reason.startswith("it was suspended, and its QEMU process is alive but does not answer")
        await world.stop()
        await world.start()
    await taken_over(world, how)
    found = world.control.machine(OWNER, "sick")
    assert (found.status, found.status_reason, process.state) == (MachineStatus.SUSPENDED, "", RunState.PAUSED)
    assert await world.sh("get v", "sick") == "sick\n", "whoever comes wakes it"
    assert world.leftovers() == []


async def test_one_that_falls_silent_while_it_is_taken_over_is_tried_again(world: World) -> None:
    await restarted_beside_a_hung_run(world)
    machine = world.control.machine(OWNER, "sick")
    process = world.host.of_machine(machine.id)
    process.hung = False
    await world.stop()
    with world.host.hold("state", once=True) as hold:
        starting = asyncio.ensure_future(world.start())
        await hold.reached()
        process.hung = True
    await starting
    assert world.control.machine(OWNER, "sick").status is MachineStatus.FAILED
    await taken_over(world, "late")
    assert await world.sh("get v", "sick") == "sick\n"


async def test_one_that_has_ended_is_not_said_to_be_alive(world: World) -> None:
    await restarted_beside_a_hung_run(world)
    machine = world.control.machine(OWNER, "sick")
    world.host.of_machine(machine.id).crash()
    workers = {machine.id: world.control.team.worker(machine.id)}
    assert await adopt_late(world.control.team.drivers, workers) == 0
    found = world.control.machine(OWNER, "sick")
    assert (found.status, found.run_id) == (MachineStatus.FAILED, "")
    assert found.status_reason == "its QEMU process, which did not answer, has ended"


async def test_one_whose_end_could_not_be_noted_is_not_shown_running_for_ever(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = await world.machine("sick")
    store, worker = world.control.team.drivers.store, world.control.team.worker(machine.id)
    really, failed = store.update_machine, []

    async def update(machine_id: str, **values: Any) -> Machine:
        if not failed and values.get("status") is MachineStatus.FAILED:
            failed.append(machine_id)
            raise OperationFailed("the disk is full")
        return await really(machine_id, **values)

    monkeypatch.setattr(store, "update_machine", update)
    world.host.of_machine(machine.id).crash()
    await world.until(lambda: failed and worker.run is None)
    assert world.control.machine(OWNER, "sick").status is MachineStatus.RUNNING
    assert await adopt_late(world.control.team.drivers, {machine.id: worker}) == 0
    found = world.control.machine(OWNER, "sick")
    assert (found.status, found.run_id) == (MachineStatus.FAILED, "")
    await world.control.start_machine(OWNER, "sick")
    assert world.control.machine(OWNER, "sick").status is MachineStatus.RUNNING


async def test_one_that_was_being_woken_is_woken_anew(world: World) -> None:
    """Its capture is whole as long as the guest has not answered; the silent process is of no use."""
    machine = await world.machine()
    await world.sh("set v kept")
    await world.control.hibernate_machine(OWNER, "web")
    world.fault = world.switch.killing_at("after own")
    waking = asyncio.ensure_future(world.control.wake_machine(OWNER, "web"))
    await asyncio.wait([waking])
    assert world.switch.dead
    world.drop()
    world.fault = no_fault
    world.host.of_machine(machine.id).hung = True
    await world.start()
    assert world.control.machine(OWNER, "web").status is MachineStatus.HIBERNATED
    assert world.leftovers() == []
    assert await world.sh("get v") == "kept\n"


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
