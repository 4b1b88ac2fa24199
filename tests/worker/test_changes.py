"""Renaming, resizing and settings, over fakes that keep real state."""

from __future__ import annotations

import asyncio
import os
import time
from dataclasses import replace

import pytest

from openboxd.control import changes
from openboxd.errors import AlreadyExists, BoxdError, InvalidArgument, NotFound, OperationFailed, WrongState
from openboxd.model import MIB, MachineStatus, Size
from tests.worker.world import LIMIT, OWNER, World


async def test_a_renamed_machine_is_rebooted_and_keeps_all_else(world: World) -> None:
    before = await world.machine()
    await world.sh("set v memory; write kept disk")
    await world.save("good")
    seen: set[str] = set()

    async def watch() -> None:
        while True:
            seen.add(world.control.machine(OWNER, before.id).status)
            await asyncio.sleep(0)

    watching = asyncio.create_task(watch())
    after = await world.control.rename_machine(OWNER, "web", "www2")
    watching.cancel()
    same = ("id", "address", "mac", "created_at", "size", "image", "labels")
    assert {name: getattr(after, name) for name in same} == {name: getattr(before, name) for name in same}
    assert (after.name, after.status) == ("www2", MachineStatus.RUNNING)
    assert seen <= {MachineStatus.RUNNING, MachineStatus.STARTING}
    assert world.host.of_machine(after.id).spec.cmdline == "systemd.hostname=www2"
    assert await world.sh("get v", "www2") != "memory\n"
    assert await world.sh("read kept", "www2") == "disk"
    with pytest.raises(NotFound):
        world.control.machine(OWNER, "web")
    await world.control.restore_checkpoint(OWNER, "www2", "good")
    assert await world.sh("get v", "www2") == "memory\n"
    assert world.control.machine(OWNER, before.id).name == "www2", "a restore does not bring a name back"
    assert world.leftovers() == []


async def test_a_stopped_machine_is_renamed_without_being_started(world: World) -> None:
    await world.machine()
    await world.control.stop_machine(OWNER, "web")
    after = await world.control.rename_machine(OWNER, "web", "www2")
    assert (after.name, after.status) == ("www2", MachineStatus.STOPPED)
    await world.machine("web")  # the name is free again
    with pytest.raises(AlreadyExists, match="'web' exists already"):
        await world.control.rename_machine(OWNER, "www2", "web")
    assert (await world.control.rename_machine(OWNER, "www2", "www2")).status is MachineStatus.STOPPED


@pytest.mark.parametrize("name", ["", "No", "a" * 41, "app", "-a", "a.b", "5f0c7d3e-0000-4000-8000-000000000001"])
async def test_a_name_against_the_rules_is_refused(world: World, name: str) -> None:
    await world.machine()
    with pytest.raises(InvalidArgument):
        await world.control.rename_machine(OWNER, "web", name)
    assert world.control.machine(OWNER, "web").status is MachineStatus.RUNNING


async def test_a_rename_that_fails_before_the_shutdown_leaves_memory_and_name(world: World) -> None:
    await world.machine()
    await world.sh("set v memory")

    def fault(point: str) -> None:
        if point == "before shut down":
            raise OSError("on purpose")

    world.fault = fault
    with pytest.raises(OperationFailed):
        await world.control.rename_machine(OWNER, "web", "www2")
    assert world.control.machine(OWNER, "web").status is MachineStatus.RUNNING
    assert await world.sh("get v") == "memory\n"


async def test_a_resize_reboots_a_running_machine_only(world: World) -> None:
    machine = await world.machine()
    after, rebooted = await world.control.resize_machine(OWNER, "web", 2, 768 * MIB)
    assert (after.size, rebooted, after.status) == (Size(2, 768 * MIB), True, MachineStatus.RUNNING)
    assert world.host.of_machine(machine.id).spec.size == Size(2, 768 * MIB)
    same, rebooted = await world.control.resize_machine(OWNER, "web", 2, 768 * MIB)
    assert (same.size, rebooted) == (Size(2, 768 * MIB), False)
    await world.control.stop_machine(OWNER, "web")
    after, rebooted = await world.control.resize_machine(OWNER, "web", 1, 1024 * MIB)
    assert (after.size, rebooted, after.status) == (Size(1, 1024 * MIB), False, MachineStatus.STOPPED)
    await world.control.start_machine(OWNER, "web")
    assert world.host.of_machine(machine.id).spec.size == Size(1, 1024 * MIB)


async def test_a_size_that_cannot_be_is_refused_and_never_trimmed(world: World) -> None:
    before = await world.machine()
    host = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for vcpu, memory in ((0, 0), (65, 0), (1, host - host % (2 * MIB) + 2 * MIB), (1, 512 * MIB + 1), (1, 16 * MIB)):
        with pytest.raises(InvalidArgument):
            await world.control.resize_machine(OWNER, "web", vcpu, memory)
    assert world.control.machine(OWNER, "web") == before


async def test_a_checkpoint_of_another_size_brings_its_size_back(world: World) -> None:
    before = await world.machine()
    await world.sh("set v small")
    await world.save("small")
    await world.control.resize_machine(OWNER, "web", 2, 1024 * MIB)
    await world.sh("set v big")
    await world.save("big")
    restored = await world.control.restore_checkpoint(OWNER, "web", "small")
    assert restored.size == before.size
    assert await world.sh("get v") == "small\n"
    assert (await world.control.restore_checkpoint(OWNER, "web", "big")).size == Size(2, 1024 * MIB)
    await world.control.reboot_machine(OWNER, "web")
    assert world.host.of_machine(before.id).spec.size == Size(2, 1024 * MIB)
    assert world.leftovers() == []


async def test_a_busy_machine_is_neither_renamed_nor_resized(world: World) -> None:
    await world.machine()
    reboot = asyncio.ensure_future(world.control.reboot_machine(OWNER, "web"))
    await asyncio.sleep(0)
    for call in (
        world.control.rename_machine(OWNER, "web", "www2"),
        world.control.resize_machine(OWNER, "web", 2, 1024 * MIB),
    ):
        with pytest.raises(BoxdError, match="busy: reboot is running"):
            await call
    await reboot


async def test_labels_are_edited_at_one_go(world: World) -> None:
    await world.machine()

    async def edit(key: str) -> None:
        await world.control.update_labels(OWNER, "web", {key: "x"}, (), replace_all=False)

    await asyncio.gather(*(edit(f"k{number}") for number in range(20)))
    assert len(world.control.machine(OWNER, "web").labels) == 20, "no edit is lost"
    left = await world.control.update_labels(OWNER, "web", {"a": ""}, ("k1", "none"), replace_all=False)
    assert len(left) == 20 and "k1" not in left
    assert await world.control.update_labels(OWNER, "web", {"only": "1"}, (), replace_all=True) == {"only": "1"}
    assert [m.name for m in world.control.machines(OWNER, ["only=1"])] == ["web"]
    assert world.control.machines(OWNER, ["only=2"]) == []


@pytest.mark.parametrize(
    ("wanted", "remove", "replace_all"),
    [
        ({"a": "1"}, ("b",), True),
        ({"Upper": "1"}, (), False),
        ({"boxd/x": "1"}, (), False),
        ({"a": "x" * 257}, (), False),
        ({"a": "line\nbreak"}, (), False),
        ({f"k{number}": "" for number in range(65)}, (), False),
    ],
)
def test_labels_against_the_rules(wanted: dict[str, str], remove: tuple[str, ...], replace_all: bool) -> None:
    with pytest.raises(InvalidArgument):
        changes.labels_after({}, wanted, remove, replace_all=replace_all)


NOON = 1_795_867_200_000  # 2026-11-28 12:00 UTC


@pytest.mark.parametrize(
    ("secs", "cron", "expected"),
    [
        (0, "", 0),
        (90, "", NOON + 90_000),
        (0, "0 18 * * *", NOON + 6 * 3_600_000),
        (0, "0 12 * * *", NOON + 24 * 3_600_000),
        (0, "*/15 * * * *", NOON + 900_000),
    ],
)
def test_deadlines(secs: int, cron: str, expected: int) -> None:
    assert changes.deadline_ms(secs, cron, NOON) == expected


@pytest.mark.parametrize(
    ("secs", "cron"),
    [
        (1, "0 0 * * *"),
        (2**63, ""),
        (0, "soon"),
        (0, "* * * *"),
        (0, "61 * * * *"),
        (0, "* * * * * *"),
        (0, "0 0 30 2 *"),
    ],
)
def test_timers_that_are_none(secs: int, cron: str) -> None:
    with pytest.raises(InvalidArgument):
        changes.deadline_ms(secs, cron, NOON)


async def gone(world: World, name: str = "web") -> None:
    await world.until(lambda: all(machine.name != name for machine in world.control.machines(OWNER)))


@pytest.mark.parametrize("state", ["running", "stopped", "failed"])
async def test_a_timer_removes_a_machine_in_any_state(world: World, state: str) -> None:
    machine = await world.machine()
    await world.save("good")
    if state == "stopped":
        await world.control.stop_machine(OWNER, "web")
    if state == "failed":
        world.host.of_machine(machine.id).crash()
        await world.seen(MachineStatus.FAILED)
    begun = time.time() * 1000
    timed = await world.control.set_delete_after(OWNER, "web", 1, "")
    assert begun + 900 < timed.delete_at_ms < begun + LIMIT * 1000
    await gone(world)
    assert not world.pool.machine_dir(machine.id).exists()
    assert time.time() * 1000 >= timed.delete_at_ms
    assert world.leftovers() == []


async def test_a_timer_survives_the_daemon_and_a_cleared_one_does_nothing(world: World) -> None:
    for name in ("timed", "cleared"):
        await world.machine(name)
    for name in ("timed", "cleared"):
        await world.control.set_delete_after(OWNER, name, 3, "")
    await world.control.set_delete_after(OWNER, "cleared", 0, "")
    await world.stop()
    await asyncio.sleep(3.1)  # the moment passes while there is no daemon
    await world.start()
    await gone(world, "timed")
    assert world.control.machine(OWNER, "cleared").delete_at_ms == 0


async def test_settings_and_timers_stay_as_they_are_over_a_restore(world: World) -> None:
    await world.machine()
    await world.save("good")
    await world.control.set_idle_ignore_outbound(OWNER, "web", enabled=True)
    await world.control.set_bot_protection(OWNER, "web", "", enabled=True)
    await world.control.set_delete_after(OWNER, "web", 0, "0 0 1 1 *")
    with pytest.raises(InvalidArgument, match="'on', 'sleep_only' or 'off'"):
        await world.control.set_bot_protection(OWNER, "web", "maybe", enabled=True)
    before = world.control.machine(OWNER, "web")
    assert (before.idle_ignore_outbound, before.bot_protection, before.delete_after_cron) == (True, "on", "0 0 1 1 *")
    await world.control.restore_checkpoint(OWNER, "web", "good")
    after = world.control.machine(OWNER, "web")
    moved = {"run_id": after.run_id, "boot_time_ms": after.boot_time_ms, "head": after.head}
    assert after == replace(before, **moved, last_connected_ms=after.last_connected_ms)


async def test_use_of_a_machine_is_noted(world: World) -> None:
    await world.machine()
    assert world.control.machine(OWNER, "web").last_connected_ms == 0
    begun = time.time() * 1000
    await world.sh("echo hi")
    await world.until(lambda: world.control.machine(OWNER, "web").last_connected_ms)
    assert begun <= world.control.machine(OWNER, "web").last_connected_ms + 1 <= time.time() * 1000 + 1


async def test_a_rename_while_pending_is_refused(world: World) -> None:
    machine = await world.machine()
    await world.control.stop_machine(OWNER, "web")
    await world.store.update_machine(machine.id, status=MachineStatus.PENDING)
    with pytest.raises(WrongState, match="cannot be renamed while it is pending"):
        await world.control.rename_machine(OWNER, "web", "www2")
