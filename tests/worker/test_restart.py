"""A reboot of the host, and callers who were lost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from openboxd.api.ports import NewMachine
from openboxd.errors import BoxdError, OperationFailed
from openboxd.model import MIB, Caller, MachineStatus
from openboxd.worker import machine as worker_machine
from openboxd.worker import restart
from openboxd.worker.orders import Restore
from openboxd.worker.steps import no_fault
from tests.fakes.killing import DaemonKilled
from tests.worker.world import LIMIT, OWNER, World


async def machines(world: World) -> None:
    """One that always runs, one that never does again, one that is stopped."""
    await world.image()
    for name, policy in (("always", "always"), ("never", "never"), ("stopped", "always")):
        new = NewMachine(name=name, vcpu=1, memory_bytes=512 * MIB, restart_policy=policy)
        await world.control.create_machine(OWNER, new)
        await world.settled(name)
    await world.control.stop_machine(OWNER, "stopped")


async def host_reboots(world: World, boot: str = "boot 2") -> None:
    """The host goes down: the daemon, and after it, unseen, its machines."""
    await world.stop()
    for process in world.host.alive():
        process.crash("the host went down")
    world.host_boot = boot


def statuses(world: World) -> dict[str, str]:
    return {machine.name: machine.status.value for machine in world.control.machines(OWNER)}


RESTARTED = {"always": "running", "never": "failed", "stopped": "stopped"}


async def test_after_a_reboot_of_the_host_machines_run_again(world: World) -> None:
    await machines(world)
    await world.sh("write kept disk", "always")
    await host_reboots(world)
    await world.start()
    await world.until(lambda: statuses(world) == RESTARTED)
    assert await world.sh("read kept", "always") == "disk"
    await world.until(lambda: world.leftovers() == [])


async def test_a_machine_whose_qemu_died_alone_stays_failed(world: World) -> None:
    await machines(world)
    await host_reboots(world, boot="boot 1")
    await world.start()
    await world.settled("always")
    assert statuses(world) == {"always": "failed", "never": "failed", "stopped": "stopped"}
    assert world.leftovers() == []


async def test_a_daemon_killed_while_machines_start_again_starts_them_the_next_time(world: World) -> None:
    await machines(world)
    await host_reboots(world)

    def fault(point: str) -> None:
        if point == "before launch":
            world.switch.kill()

    world.fault = fault
    await world.start()
    await world.until(lambda: world.switch.dead)
    world.drop()
    world.fault = lambda point: None
    await world.start()
    await world.until(lambda: statuses(world) == RESTARTED)
    await world.until(lambda: world.leftovers() == [])


async def cut_off(world: World, before: str) -> None:
    """A restore of `web`, which was in this status, whose daemon is killed when the new run stands ready."""
    machine = await world.machine()
    await world.save("good")
    if before == "stopped":
        await world.control.stop_machine(OWNER, "web")
    elif before == "suspended":
        await world.control.suspend_machine(OWNER, "web")
    elif before == "failed":
        world.host.of_machine(machine.id).crash("QEMU is gone")
        await world.seen(MachineStatus.FAILED)
    world.fault = world.switch.killing_at("after load")
    restoring = asyncio.ensure_future(world.control.restore_checkpoint(OWNER, "web", "good"))
    await asyncio.wait([restoring])
    assert isinstance(restoring.exception(), DaemonKilled)
    world.drop()
    world.fault = no_fault


@pytest.mark.parametrize("before", ["stopped", "failed"])
@pytest.mark.parametrize("rebooted", [False, True])
async def test_a_restore_that_is_taken_back_starts_nothing(world: World, before: str, rebooted: bool) -> None:
    await cut_off(world, before)
    if rebooted:
        for process in world.host.alive():
            process.crash("the host went down")
        world.host_boot = "boot 2"
    await world.start()
    assert not [operation for operation in world.store.open_operations() if operation.kind == restart.RESTART]
    machine = await world.settled()
    assert (machine.status, machine.status_reason) == (before, "QEMU is gone" if before == "failed" else "")
    assert [event.operation for event in world.store.events(machine.id, 1)] == ["restore"], "nor was it told so"
    assert world.leftovers() == []


@pytest.mark.parametrize("before", ["running", "suspended"])
async def test_one_that_ran_before_its_restore_runs_again(world: World, before: str) -> None:
    await cut_off(world, before)
    for process in world.host.alive():
        process.crash("the host went down")
    world.host_boot = "boot 2"
    await world.start()
    await world.until(lambda: statuses(world) == {"web": "running"})
    await world.until(lambda: world.leftovers() == [])


@pytest.mark.parametrize("before", ["running", "suspended"])
async def test_one_whose_qemu_died_with_the_daemon_that_restored_it_is_failed(world: World, before: str) -> None:
    """As it is without a restore: nobody has stopped it."""
    await cut_off(world, before)
    for process in world.host.alive():
        process.crash("QEMU is gone")
    await world.start()
    assert statuses(world) == {"web": "failed"}
    assert world.leftovers() == []


async def test_the_first_start_of_a_daemon_is_no_reboot(world: World) -> None:
    assert world.store.fact(restart.BOOT_FACT) == "boot 1"
    await machines(world)
    await world.store.keep_fact(restart.BOOT_FACT, "")  # a store of a release that did not note it
    await host_reboots(world)
    await world.start()
    assert statuses(world)["always"] == "failed"
    assert world.store.fact(restart.BOOT_FACT) == "boot 2"


# -- callers who were lost


class Restores:
    """Counts how often a machine was really taken back."""

    def __init__(self, world: World) -> None:
        self.count = 0
        self.reached = asyncio.Event()
        self.fail = False
        before = world.fault

        def fault(point: str) -> None:
            if point == "before load":
                self.count += 1
                self.reached.set()
                if self.fail:
                    raise OSError("on purpose")
            before(point)

        world.fault = fault


async def lost(world: World, restores: Restores) -> None:
    """A restore whose caller goes away before the answer."""
    restores.reached.clear()
    call = asyncio.ensure_future(world.control.restore_checkpoint(OWNER, "web", "good"))
    await restores.reached.wait()
    call.cancel()
    await asyncio.wait([call])
    assert call.cancelled()


async def prepared(world: World) -> Restores:
    await world.machine()
    await world.sh("set v old")
    await world.save("good")
    return Restores(world)


async def test_a_restore_asked_for_again_by_who_was_lost_is_not_done_twice(world: World) -> None:
    restores = await prepared(world)
    await lost(world, restores)
    await world.settled()
    await world.sh("set v after")
    again = await world.control.restore_checkpoint(OWNER, "web", "good")
    assert (again.status, restores.count) == (MachineStatus.RUNNING, 1)
    assert await world.sh("get v") == "after\n"
    await world.control.restore_checkpoint(OWNER, "web", "good")
    assert restores.count == 2, "the answer was heard: the next one is meant"
    assert await world.sh("get v") == "old\n"


async def test_while_it_still_runs_the_first_one_is_joined(world: World) -> None:
    restores = await prepared(world)
    await lost(world, restores)
    await world.control.restore_checkpoint(OWNER, "web", "good")
    assert restores.count == 1
    await world.control.restore_checkpoint(OWNER, "web", "good")
    assert restores.count == 2


async def test_the_outcome_may_be_a_failure(world: World) -> None:
    restores = await prepared(world)
    restores.fail = True
    await lost(world, restores)
    await world.settled()
    restores.fail = False
    with pytest.raises(OperationFailed, match="on purpose"):
        await world.control.restore_checkpoint(OWNER, "web", "good")
    await world.control.restore_checkpoint(OWNER, "web", "good")
    assert restores.count == 2


async def _later(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_machine, "REPEAT_LIMIT", -1.0)


async def _something_between(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    await world.control.reboot_machine(OWNER, "web")


async def _another_checkpoint(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    await world.save("other")


@pytest.mark.parametrize("change", [_later, _something_between, _another_checkpoint])
async def test_a_restore_that_means_something_else_is_done(
    world: World, monkeypatch: pytest.MonkeyPatch, change: Callable[..., object]
) -> None:
    restores = await prepared(world)
    await lost(world, restores)
    await world.settled()
    await change(world, monkeypatch)  # type: ignore[misc]
    await world.control.restore_checkpoint(OWNER, "web", "good")
    assert restores.count == 2


async def test_who_was_not_lost_gets_a_restore_of_their_own(world: World) -> None:
    restores = await prepared(world)
    await world.control.restore_checkpoint(OWNER, "web", "good")
    await world.control.restore_checkpoint(OWNER, "web", "good")
    assert restores.count == 2
    worker = world.control.team.worker(world.control.machine(OWNER, "web").id)
    order = Restore("good")
    await lost(world, restores)
    assert worker.repeated(order, OWNER.user_id) is not None
    assert worker.repeated(order, Caller("u_other", "k").user_id) is None
    async with asyncio.timeout(LIMIT):
        try:
            await world.control.restore_checkpoint(OWNER, "web", "good")
        except BoxdError as error:
            pytest.fail(str(error))
