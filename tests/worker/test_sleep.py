"""Suspend, resume, hibernate, wake: by order, for want of use, when somebody comes; and what they survive."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from openboxd.errors import AgentSilent, BoxdError, Busy, WrongState
from openboxd.model import ExecRequest, MachineStatus
from openboxd.ports import RunState
from openboxd.worker.machine import MachineWorker
from openboxd.worker.ways import NoWays
from tests.worker.world import LIMIT, OWNER, World

ASLEEP = ("suspended", "hibernated")
S = MachineStatus


async def asleep(world: World, how: str) -> None:
    """Machine `web` with v=kept in its memory, put to sleep."""
    await world.machine()
    await world.sh("set v kept; write file kept")
    await put_to_sleep(world, how)


async def put_to_sleep(world: World, how: str) -> None:
    control = world.control
    await (control.suspend_machine if how == "suspended" else control.hibernate_machine)(OWNER, "web")
    assert status(world) is S(how)


def status(world: World) -> MachineStatus:
    return world.control.machine(OWNER, "web").status


def worker(world: World) -> MachineWorker:
    return world.control.team.worker(world.control.machine(OWNER, "web").id)


def capture(world: World) -> Path:
    return world.pool.machine_dir(worker(world).id) / "hibernated"


def last_events(world: World, count: int) -> list[tuple[str, str, str]]:
    return [(e.operation, e.detail, e.outcome.value) for e, _ in world.control.events(OWNER, "web", count)]


# -- by order


async def test_suspended_and_resumed_it_is_the_same_run(world: World) -> None:
    machine = await world.machine()
    await world.sh("set v kept")
    process = world.host.of_machine(machine.id)
    assert await world.control.suspend_machine(OWNER, "web") > 0
    assert (status(world), process.state) == (S.SUSPENDED, RunState.PAUSED)
    assert await world.control.suspend_machine(OWNER, "web") == 0
    assert await world.control.resume_machine(OWNER, "web") > 0
    assert await world.control.resume_machine(OWNER, "web") == 0
    assert (status(world), process.state, process.clocks) == (S.RUNNING, RunState.RUNNING, 1)
    assert world.host.of_machine(machine.id) is process
    assert await world.sh("get v") == "kept\n"


async def test_hibernated_and_woken_it_goes_on_in_another_run(world: World) -> None:
    machine = await world.machine()
    await world.sh("set v kept; write file kept")
    boot = await world.sh("boot-id")
    await world.control.hibernate_machine(OWNER, "web")
    await world.control.hibernate_machine(OWNER, "web")
    shown = world.control.machine(OWNER, "web")
    assert shown.status is S.HIBERNATED and shown.hibernated_at_ms > 0 and shown.run_id == ""
    assert list(world.host.alive()) == [] and capture(world).is_dir()
    assert world.leftovers() == []
    await world.control.wake_machine(OWNER, "web")
    await world.control.wake_machine(OWNER, "web")
    assert (status(world), world.control.machine(OWNER, "web").hibernated_at_ms) == (S.RUNNING, 0)
    assert await world.sh("get v; read file; boot-id") == f"kept\nkept{boot}"
    assert world.host.of_machine(machine.id).epochs == 1, "the clock was set"
    assert world.leftovers() == []
    await world.sh("write file later")
    await put_to_sleep(world, "hibernated")
    assert await world.sh("read file") == "later", "the second sleep is of what came after the first"


@pytest.mark.parametrize(
    ("from_", "order", "sentence"),
    [
        ("stopped", "suspend", "machine 'web' cannot be suspended while it is stopped; start it first"),
        ("stopped", "hibernate", "machine 'web' cannot be hibernated while it is stopped; start it first"),
        ("stopped", "resume", "machine 'web' cannot be resumed while it is stopped; start it first"),
        ("hibernated", "suspend", "machine 'web' cannot be suspended while it is hibernated; wake it first"),
        ("hibernated", "resume", "machine 'web' cannot be resumed while it is hibernated; wake it first"),
        ("suspended", "wake", "machine 'web' cannot be woken while it is suspended; resume it first"),
        ("suspended", "reboot", "machine 'web' must be running to be rebooted; it is suspended; resume it first"),
        ("hibernated", "rename", "machine 'web' cannot be renamed while it is hibernated; wake it first"),
        ("suspended", "resize", "machine 'web' cannot be resized while it is suspended; resume it first"),
        ("hibernated", "save", "machine 'web' must be running to save a checkpoint; it is hibernated; wake it first"),
    ],
)
async def test_what_is_refused_touches_nothing(world: World, from_: str, order: str, sentence: str) -> None:
    await world.machine()
    control = world.control
    if from_ == "stopped":
        await control.stop_machine(OWNER, "web")
    else:
        await put_to_sleep(world, from_)
    orders: dict[str, Callable[[], object]] = {
        "suspend": lambda: control.suspend_machine(OWNER, "web"),
        "resume": lambda: control.resume_machine(OWNER, "web"),
        "hibernate": lambda: control.hibernate_machine(OWNER, "web"),
        "wake": lambda: control.wake_machine(OWNER, "web"),
        "reboot": lambda: control.reboot_machine(OWNER, "web"),
        "rename": lambda: control.rename_machine(OWNER, "web", "other"),
        "resize": lambda: control.resize_machine(OWNER, "web", 2, 0),
        "save": lambda: control.save_checkpoint(OWNER, "web", "a"),
    }
    before = control.machine(OWNER, "web")
    with pytest.raises(WrongState) as error:
        await orders[order]()
    assert error.value.message == sentence
    assert control.machine(OWNER, "web") == before and world.leftovers() == []


@pytest.mark.parametrize("how", ASLEEP)
async def test_start_wakes_stop_stops_and_removal_removes(world: World, how: str) -> None:
    await asleep(world, how)
    await world.control.start_machine(OWNER, "web")
    assert await world.sh("get v") == "kept\n"
    await put_to_sleep(world, how)
    await world.control.stop_machine(OWNER, "web")
    assert (status(world), world.leftovers()) == (S.STOPPED, [])
    await world.control.start_machine(OWNER, "web")
    assert await world.sh("read file") == "kept", "the disk is as it was"
    await put_to_sleep(world, how)
    await world.control.destroy_machine(OWNER, "web")
    assert world.leftovers() == [] and list(world.host.alive()) == []


@pytest.mark.parametrize("how", ASLEEP)
async def test_a_restore_takes_it_back_from_sleep(world: World, how: str) -> None:
    await world.machine()
    await world.sh("set v old; write file old")
    await world.save("good")
    await world.sh("set v new; write file new")
    await put_to_sleep(world, how)
    await world.control.restore_checkpoint(OWNER, "web", "good")
    assert status(world) is S.RUNNING
    assert await world.sh("get v; read file") == "old\nold"
    assert world.leftovers() == []


# -- somebody comes


@pytest.mark.parametrize("how", ASLEEP)
async def test_commands_and_file_calls_wake_it_and_looking_does_not(world: World, how: str) -> None:
    await asleep(world, how)
    control = world.control
    control.machines(OWNER)
    control.events(OWNER, "web", 5)
    await control.checkpoints(OWNER, "web")
    await control.routes(OWNER, "web")
    assert status(world) is S(how)
    answers = await asyncio.gather(*(world.sh("get v") for _ in range(5)))
    assert answers == ["kept\n"] * 5
    assert last_events(world, 1)[0][0] == ("resume" if how == "suspended" else "wake")
    await put_to_sleep(world, how)
    assert [entry.name for entry in (await control.list_dir(OWNER, "web", "/home/boxd")).entries] == ["file"]
    assert status(world) is S.RUNNING


async def test_a_command_that_comes_while_it_falls_asleep_waits_and_wakes_it(world: World) -> None:
    await world.machine()
    await world.sh("set v kept")
    with world.host.hold("save memory") as hold:
        falling = asyncio.create_task(world.control.hibernate_machine(OWNER, "web"))
        await hold.reached()
        calling = asyncio.create_task(world.sh("get v"))
        with pytest.raises(Busy, match="machine 'web' is busy: hibernate is running"):
            await world.control.stop_machine(OWNER, "web")
    await falling
    assert await calling == "kept\n"


class Door(NoWays):
    """Ways in at which a test knocks; it writes down who is turned away."""

    def __init__(self) -> None:
        self.told: Callable[[str], None] = lambda machine_id: None
        self.open_for: set[str] = set()
        self.turned_away: list[str] = []

    def on_use(self, told: Callable[[str], None]) -> None:
        self.told = told

    def in_use(self, machine_id: str) -> bool:
        return machine_id in self.open_for

    def turn_away(self, machine_id: str, reason: str) -> None:
        self.turned_away.append(reason)


@pytest.fixture
async def door(world: World) -> Door:
    """What a daemon is told of whose ways in a test is."""
    await world.stop()
    door = world.ways = Door()
    await world.start()
    return door


@pytest.mark.parametrize("how", ASLEEP)
async def test_somebody_at_a_gate_wakes_it(world: World, door: Door, how: str) -> None:
    await asleep(world, how)
    for _ in range(3):  # one is told again and again
        door.told(worker(world).id)
    await world.seen(S.RUNNING)
    assert await world.sh("get v") == "kept\n" and door.turned_away == []
    door.told("nobody's")


async def test_who_waits_at_the_gate_of_one_that_cannot_be_woken_is_told_why(world: World, door: Door) -> None:
    await asleep(world, "hibernated")
    (capture(world) / "devices.state").write_text("{")
    door.told(worker(world).id)
    await world.until(lambda: door.turned_away)
    assert "machine 'web' cannot be woken and stays hibernated" in door.turned_away[0]
    with pytest.raises(WrongState, match="cannot be woken"):
        await world.sh("true")


# -- damage, room, death


async def test_a_damaged_capture_is_refused_and_kept(world: World) -> None:
    await asleep(world, "hibernated")
    state = capture(world) / "devices.state"
    whole = state.read_bytes()
    state.write_bytes(whole[:-1])
    before = world.control.machine(OWNER, "web")
    with pytest.raises(WrongState) as error:
        await world.control.wake_machine(OWNER, "web")
    assert error.value.message.startswith(
        "machine 'web' cannot be woken and stays hibernated: its memory on disk is damaged"
    )
    assert world.control.machine(OWNER, "web") == before and world.leftovers() == []
    state.write_bytes(whole)
    assert await world.sh("get v") == "kept\n"


async def test_a_run_that_dies_while_it_is_woken_leaves_it_hibernated(world: World) -> None:
    await asleep(world, "hibernated")
    with world.host.hold("answer") as hold:
        waking = asyncio.create_task(world.control.wake_machine(OWNER, "web"))
        await hold.reached()
        world.host.of_machine(worker(world).id).crash()
        with pytest.raises(BoxdError, match="machine 'web' stays hibernated"):
            await waking
    assert (status(world), world.leftovers()) == (S.HIBERNATED, [])
    assert await world.sh("get v") == "kept\n"


async def test_a_guest_that_does_not_answer_when_woken_runs_all_the_same(world: World) -> None:
    await asleep(world, "hibernated")
    world.host.new_guests_answer = False
    with pytest.raises(AgentSilent, match="runs, but its agent has not answered"):
        await world.control.wake_machine(OWNER, "web")
    assert (status(world), world.leftovers()) == (S.RUNNING, [])


@pytest.mark.parametrize("how", ["running", "suspended"])
async def test_without_room_it_is_not_hibernated_and_goes_on_as_it_was(world: World, how: str) -> None:
    await world.machine()
    await world.sh("set v kept")
    if how == "suspended":
        await put_to_sleep(world, how)

    def fault(point: str) -> None:
        if point == "save disk":
            raise WrongState("there is no space left in the pool")

    world.hypervisor.fault = fault
    with pytest.raises(
        WrongState, match=f"machine 'web' was not hibernated and is {how} as it was: there is no space"
    ):
        await world.control.hibernate_machine(OWNER, "web")
    world.hypervisor.fault = lambda point: None
    assert (status(world), world.leftovers()) == (S(how), [])
    running = world.host.of_machine(worker(world).id).state is RunState.RUNNING
    assert running is (how == "running")
    assert await world.sh("get v") == "kept\n"


async def test_a_suspended_machine_outlives_its_daemon_and_not_its_qemu(world: World) -> None:
    await asleep(world, "suspended")
    process = world.host.of_machine(worker(world).id)
    for end in (world.stop, world.drop):
        if end is world.drop:
            world.switch.dead = True
            world.drop()
        else:
            await world.stop()
        await world.start()
        assert (status(world), process.state) == (S.SUSPENDED, RunState.PAUSED)
        agent = worker(world).agent
        assert getattr(agent, "resting", False), "it is left in peace"
    assert await world.sh("get v") == "kept\n"
    await put_to_sleep(world, "suspended")
    world.host.of_machine(worker(world).id).crash()
    await world.seen(S.FAILED)
    assert world.leftovers() == []


async def test_over_a_reboot_of_the_host(world: World) -> None:
    """What is hibernated stays so; what was suspended ran, and is booted again."""
    await asleep(world, "hibernated")
    await world.machine("other")
    await world.control.suspend_machine(OWNER, "other")
    await world.stop()
    for process in list(world.host.alive()):
        process.crash("the host was rebooted")
    world.host_boot = "boot 2"
    await world.start()
    await world.seen(S.RUNNING, "other")
    assert status(world) is S.HIBERNATED
    assert await world.sh("get v") == "kept\n"
    assert world.leftovers() == []


# -- for want of use


def unused_for(world: World, seconds: float) -> None:
    """Let the last use be so long ago."""
    worker(world).use.last -= seconds
    world.control.team.idle.changed()


async def test_idle_timers_suspend_then_hibernate(world: World) -> None:
    await world.machine()
    await world.sh("set v kept")
    await world.control.set_auto_suspend(OWNER, "web", 60)
    await world.control.set_auto_hibernate(OWNER, "web", 600)
    unused_for(world, 61)
    await world.seen(S.SUSPENDED)
    unused_for(world, 500)
    await asyncio.sleep(0.1)
    assert status(world) is S.SUSPENDED
    unused_for(world, 60)
    await world.seen(S.HIBERNATED)
    await world.settled()
    assert last_events(world, 2) == [("suspend", "idle", "ok"), ("hibernate", "idle", "ok")]
    assert await world.sh("get v") == "kept\n"
    await world.control.set_auto_suspend(OWNER, "web", 0)
    await world.control.set_auto_hibernate(OWNER, "web", 0)
    unused_for(world, 10_000)
    await asyncio.sleep(0.1)
    assert status(world) is S.RUNNING


async def test_whatever_is_open_keeps_it_awake(world: World, door: Door) -> None:
    machine = await world.machine()
    await world.control.set_auto_suspend(OWNER, "web", 60)
    session = await world.control.exec(OWNER, "web", ExecRequest("wait"))
    unused_for(world, 1000)
    await asyncio.sleep(0.1)
    assert status(world) is S.RUNNING, "a command that runs"
    await session.cancel()
    door.open_for.add(machine.id)
    unused_for(world, 1000)
    await asyncio.sleep(0.1)
    assert status(world) is S.RUNNING, "a connection at a gate"
    with world.host.hold("save memory") as hold:
        await world.control.save_checkpoint(OWNER, "web", "a")
        await hold.reached()
        door.open_for.clear()
        unused_for(world, 1000)
        await asyncio.sleep(0.1)
        assert status(world) is S.RUNNING, "an operation"
    await world.settled()
    unused_for(world, 1000)
    await world.seen(S.SUSPENDED)


async def test_who_comes_while_it_falls_asleep_for_want_of_use_keeps_it_awake(world: World, door: Door) -> None:
    machine = await world.machine()
    await world.control.set_auto_hibernate(OWNER, "web", 60)
    with world.host.hold("save memory") as hold:
        unused_for(world, 61)
        await hold.reached()
        door.told(machine.id)
    await world.settled()
    assert status(world) is S.RUNNING and world.leftovers() == []
    assert last_events(world, 1)[0][0] == "hibernate" and last_events(world, 1)[0][2] == "failed"


async def test_timers_are_kept_and_those_of_nonsense_refused(world: World) -> None:
    await world.machine()
    await world.control.set_auto_suspend(OWNER, "web", 3600)
    await world.stop()
    await world.start()
    assert world.control.machine(OWNER, "web").auto_suspend_secs == 3600
    with pytest.raises(BoxdError, match="an idle timer has at most"):
        await world.control.set_auto_hibernate(OWNER, "web", 2**32 - 1)


async def test_twenty_naps_leave_nothing(world: World) -> None:
    await world.machine()
    async with asyncio.timeout(6 * LIMIT):
        for number in range(10):
            for how in ASLEEP:
                await world.sh(f"set v {number}{how}")
                await put_to_sleep(world, how)
                assert await world.sh("get v") == f"{number}{how}\n"
    assert world.leftovers() == []
