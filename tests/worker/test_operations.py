"""The operations, over fakes that keep real state: what a user sees before, during and after each."""

from __future__ import annotations

import asyncio

import pytest

from openboxd.api.ports import NewMachine
from openboxd.errors import (
    AgentSilent,
    AlreadyExists,
    BoxdError,
    Busy,
    HostUnfit,
    Interrupted,
    NotFound,
    WrongState,
)
from openboxd.model import MIB, Caller, CheckpointStatus, ExecRequest, MachineStatus
from tests.worker.world import LIMIT, OWNER, World


async def test_a_new_machine_boots_and_answers(world: World) -> None:
    machine = await world.machine()
    assert machine.status is MachineStatus.RUNNING
    assert machine.boot_time_ms >= 0
    assert await world.sh("echo hi") == "hi\n"
    assert world.host.of_machine(machine.id).spec.cmdline == "systemd.hostname=web"
    assert world.leftovers() == []


async def test_without_an_image_a_machine_is_refused_and_nothing_is_left(world: World) -> None:
    with pytest.raises(HostUnfit, match="run: boxd image build"):
        await world.control.create_machine(OWNER, NewMachine(name="web"))
    assert world.control.machines(OWNER) == []


async def test_names_are_unique_and_free_again_after_removal(world: World) -> None:
    first = await world.machine()
    with pytest.raises(AlreadyExists):
        await world.control.create_machine(OWNER, NewMachine(name="web"))
    await world.save("a")
    await world.control.destroy_machine(OWNER, "web")
    assert not world.pool.machine_dir(first.id).exists()
    second = await world.machine()
    assert second.id != first.id
    assert await world.control.checkpoints(OWNER, "web") == []
    assert world.leftovers() == []


async def test_addresses_are_distinct_and_stay(world: World) -> None:
    one, two = await world.machine("one"), await world.machine("two")
    assert one.address != two.address and one.mac != two.mac
    await world.save("a", "one")
    await world.control.restore_checkpoint(OWNER, "one", "a")
    await world.control.reboot_machine(OWNER, "one")
    after = world.control.machine(OWNER, "one")
    assert (after.address, after.mac, after.id, after.name) == (one.address, one.mac, one.id, one.name)


async def test_what_others_own_looks_like_what_does_not_exist(world: World) -> None:
    machine = await world.machine()
    stranger = Caller("u_stranger", "key_2")
    for ref in (machine.id, "web"):
        with pytest.raises(NotFound, match=f"VM '{ref}' not found"):
            world.control.machine(stranger, ref)
    assert world.control.machines(stranger) == []


async def test_undo(world: World) -> None:
    await world.machine()
    await world.sh("set secret pattern; write kept old")
    boot_id = await world.sh("boot-id")
    await world.save("good")
    await world.sh("set secret wrecked; write kept new; write added later")
    restored = await world.control.restore_checkpoint(OWNER, "web", "good")
    assert restored.status is MachineStatus.RUNNING
    assert await world.sh("get secret") == "pattern\n"
    assert await world.sh("read kept") == "old"
    assert "not found" in await world.sh("read added") or await world.sh("read added") != "later"
    assert await world.sh("boot-id") == boot_id
    assert world.leftovers() == []


async def test_a_restore_consumes_nothing_and_keeps_newer_checkpoints(world: World) -> None:
    await world.machine()
    for value in ("one", "two", "three"):
        await world.sh(f"set v {value}")
        await world.save(value)
    for value in ("one", "three", "one", "two"):
        await world.control.restore_checkpoint(OWNER, "web", value)
        assert await world.sh("get v") == f"{value}\n"
        views = await world.control.checkpoints(OWNER, "web")
        assert [v.checkpoint.name for v in views] == ["one", "two", "three"]
        assert [v.checkpoint.name for v in views if v.is_current] == [value]


async def test_a_checkpoint_knows_what_it_descends_from(world: World) -> None:
    await world.machine()
    await world.save("a")
    await world.save("b")
    await world.control.restore_checkpoint(OWNER, "web", "a")
    await world.save("c")
    views = {v.checkpoint.name: v for v in await world.control.checkpoints(OWNER, "web")}
    assert {name: view.parent_name for name, view in views.items()} == {"a": "", "b": "a", "c": "a"}
    await world.control.remove_checkpoint(OWNER, "web", "a")
    views = {v.checkpoint.name: v for v in await world.control.checkpoints(OWNER, "web")}
    assert {name: view.parent_name for name, view in views.items()} == {"b": "", "c": ""}


@pytest.mark.parametrize("how", ["stopped", "powered off", "crashed"])
async def test_a_restore_brings_back_a_machine_that_does_not_run(world: World, how: str) -> None:
    machine = await world.machine()
    await world.sh("set v kept")
    await world.save("a")
    process = world.host.of_machine(machine.id)
    if how == "stopped":
        await world.control.stop_machine(OWNER, "web")
    elif how == "powered off":
        process.power_off()
    else:
        process.crash()
    expected = MachineStatus.FAILED if how == "crashed" else MachineStatus.STOPPED
    await world.seen(expected)
    with pytest.raises(WrongState, match=f"machine 'web' is {expected}; start it first"):
        await world.sh("true")
    await world.control.restore_checkpoint(OWNER, "web", "a")
    assert await world.sh("get v") == "kept\n"
    assert world.leftovers() == []


async def test_a_machine_counts_as_running_during_a_save_and_as_starting_during_a_restore(world: World) -> None:
    await world.machine()
    with world.host.hold("save disk") as hold:
        pending = await world.control.save_checkpoint(OWNER, "web", "a")
        assert pending.status is CheckpointStatus.PENDING
        await hold.reached()
        assert world.control.machine(OWNER, "web").status is MachineStatus.RUNNING
        (view,) = await world.control.checkpoints(OWNER, "web")
        assert view.checkpoint.status is CheckpointStatus.PENDING and view.usage.exclusive_bytes == 0
        with pytest.raises(WrongState, match="is pending; it can be restored once it is ready"):
            await world.control.restore_checkpoint(OWNER, "web", "a")
        with pytest.raises(Busy, match="save of 'a' is running"):
            await world.control.stop_machine(OWNER, "web")
        hold.release()
        await world.settled()
    with world.host.hold("loaded") as hold:
        restoring = asyncio.create_task(world.control.restore_checkpoint(OWNER, "web", "a"))
        await hold.reached()
        assert world.control.machine(OWNER, "web").status is MachineStatus.STARTING
        hold.release()
        await restoring


async def test_calls_that_need_the_guest_wait_for_a_restore(world: World) -> None:
    await world.machine()
    await world.sh("set v old")
    await world.save("a")
    await world.sh("set v new")
    with world.host.hold("loaded") as hold:
        restoring = asyncio.create_task(world.control.restore_checkpoint(OWNER, "web", "a"))
        await hold.reached()
        asking = asyncio.create_task(world.sh("get v"))
        done, _ = await asyncio.wait([asking], timeout=0.05)
        assert not done, "the command ran in the old machine"
        hold.release()
        await restoring
        assert await asking == "old\n"


async def test_a_command_open_across_a_restore_ends_with_its_reason_and_across_a_save_goes_on(world: World) -> None:
    await world.machine()
    session = await world.control.exec(OWNER, "web", ExecRequest("cat"))
    await world.save("a")
    await session.write(b"still here")
    output = session.output()
    assert (await anext(output)).data == b"still here"
    await world.control.restore_checkpoint(OWNER, "web", "a")
    with pytest.raises(Interrupted, match="restored to checkpoint 'a'"):
        async for _ in output:
            pass


async def test_a_caller_who_leaves_changes_nothing(world: World) -> None:
    await world.machine()
    await world.sh("set v old")
    await world.save("a")
    await world.sh("set v new")
    with world.host.hold("loaded") as hold:
        restoring = asyncio.create_task(world.control.restore_checkpoint(OWNER, "web", "a"))
        await hold.reached()
        restoring.cancel()
        await asyncio.wait([restoring])
        hold.release()
        await world.settled()
    assert await world.sh("get v") == "old\n"


async def test_a_caller_who_leaves_while_a_machine_is_made_gets_it_whole(world: World) -> None:
    await world.image()
    for turns in range(6):  # leave at every await of the call
        name = f"m{turns}"
        making = asyncio.create_task(
            world.control.create_machine(OWNER, NewMachine(name, vcpu=1, memory_bytes=512 * MIB))
        )
        for _ in range(turns + 1):
            await asyncio.sleep(0)
        making.cancel()
        await asyncio.wait([making])
        if any(machine.name == name for machine in world.control.machines(OWNER)):
            assert (await world.settled(name)).status is MachineStatus.RUNNING
    assert world.control.machines(OWNER), "nobody was ever made"
    assert world.leftovers() == []


async def test_twenty_parallel_saves_at_the_limit_give_ten(world: World) -> None:
    await world.machine()

    async def attempt(number: int) -> str:
        while True:
            try:
                await world.control.save_checkpoint(OWNER, "web", f"c{number}")
            except Busy:
                await world.settled()
            except BoxdError as error:
                return str(error)
            else:
                return ""

    outcomes = await asyncio.gather(*(attempt(number) for number in range(20)))
    await world.settled()
    assert sum(not outcome for outcome in outcomes) == 10
    assert all("has 10 of 10 checkpoints" in outcome for outcome in outcomes if outcome)
    assert len(await world.control.checkpoints(OWNER, "web")) == 10


async def test_destroying_takes_over_from_whatever_runs(world: World) -> None:
    machine = await world.machine()
    await world.save("a")
    for point, begin in (
        ("save disk", lambda: world.control.save_checkpoint(OWNER, "web", "b")),
        ("loaded", lambda: world.control.restore_checkpoint(OWNER, "web", "a")),
    ):
        with world.host.hold(point) as hold:
            busy = asyncio.ensure_future(begin())
            await hold.reached()
            async with asyncio.timeout(LIMIT):
                await world.control.destroy_machine(OWNER, "web")
            await asyncio.wait([busy])
            if not busy.cancelled():
                busy.exception()
        with pytest.raises(NotFound):
            world.control.machine(OWNER, "web")
        assert not world.pool.machine_dir(machine.id).exists()
        assert world.leftovers() == []
        machine = await world.machine()
        await world.save("a")


async def test_a_guest_that_ignores_the_power_button_is_ended_at_the_limit(world: World) -> None:
    machine = await world.machine()
    world.host.of_machine(machine.id).ignores_power_button = True
    stopped = await world.control.stop_machine(OWNER, "web")
    assert stopped.status is MachineStatus.STOPPED
    assert world.leftovers() == []


async def test_a_reboot_is_never_seen_stopped_and_loses_memory_only(world: World) -> None:
    await world.machine()
    await world.sh("set v gone; write file kept")
    seen: set[MachineStatus] = set()
    rebooting = asyncio.create_task(world.control.reboot_machine(OWNER, "web"))
    while not rebooting.done():
        seen.add(world.control.machine(OWNER, "web").status)
        await asyncio.sleep(0)
    await rebooting
    assert seen <= {MachineStatus.RUNNING, MachineStatus.STARTING}
    assert await world.sh("read file") == "kept"
    assert await world.sh("boots") == "2\n"


async def test_a_guest_whose_agent_is_deaf_runs_on(world: World) -> None:
    await world.image()
    world.host.new_guests_answer = False
    await world.control.create_machine(OWNER, NewMachine(name="web", vcpu=1, memory_bytes=512 * MIB))
    machine = await world.settled()
    assert machine.status is MachineStatus.RUNNING
    await world.save("a")
    with pytest.raises(AgentSilent, match="runs again from checkpoint 'a', but its agent has not answered"):
        await world.control.restore_checkpoint(OWNER, "web", "a")
    assert world.control.machine(OWNER, "web").status is MachineStatus.RUNNING
    assert world.leftovers() == []


async def test_an_image_in_use_is_kept(world: World) -> None:
    await world.machine()
    with pytest.raises(WrongState, match="it is used by web"):
        await world.control.remove_image(OWNER, "debian-13")
    await world.control.destroy_machine(OWNER, "web")
    await world.control.remove_image(OWNER, "debian-13")
    assert world.control.images(OWNER) == []


async def test_a_start_leaves_alone_an_image_that_nobody_has_heard_of(world: World) -> None:
    """An older database may have been put back, and the newer one may be again."""
    unknown = world.pool.image_dir("d-unknown")
    unknown.mkdir()
    await world.stop()
    await world.start()
    assert unknown.exists()
    unknown.rmdir()


async def test_an_image_is_built_once_however_many_ask(world: World) -> None:
    await asyncio.gather(*(world.image() for _ in range(5)))
    await world.image()
    assert world.builder.builds == 1


class Ending:
    """Holds the last write of operations, which nobody sees: the end of their line in the journal."""

    def __init__(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        self.reached, self.go_on, end = asyncio.Event(), asyncio.Event(), world.store.end_operation

        async def held(journal: int) -> None:
            self.reached.set()
            await self.go_on.wait()
            await end(journal)

        monkeypatch.setattr(world.store, "end_operation", held)


async def test_who_saw_a_checkpoint_become_ready_may_restore_it_at_once(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.machine()
    await world.sh("set v 1")
    ending = Ending(world, monkeypatch)
    async with asyncio.timeout(LIMIT):
        await world.control.save_checkpoint(OWNER, "web", "one")
        await ending.reached.wait()
        (view,) = await world.control.checkpoints(OWNER, "web")
        assert view.checkpoint.status is CheckpointStatus.READY
        restoring = asyncio.ensure_future(world.control.restore_checkpoint(OWNER, "web", "one"))
        await asyncio.wait([restoring], timeout=0.05)
        assert not restoring.done(), "it waits for the rest of the save"
        ending.go_on.set()
        await restoring
    assert await world.sh("get v") == "1\n"


async def test_who_saw_a_machine_run_may_save_it_at_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    await world.image()
    ending = Ending(world, monkeypatch)
    ending.go_on.set()
    async with asyncio.timeout(LIMIT):
        ending.go_on.clear()
        await world.control.create_machine(OWNER, NewMachine(name="web"))
        await world.seen(MachineStatus.RUNNING)
        run_id = world.control.machine(OWNER, "web").run_id
        starting = asyncio.ensure_future(world.control.start_machine(OWNER, "web"))
        saving = asyncio.ensure_future(world.control.save_checkpoint(OWNER, "web", "one"))
        await asyncio.wait([saving], timeout=0.05)
        ending.go_on.set()
        await asyncio.gather(starting, saving)
        await world.control.checkpoint_done(OWNER, "web", "one")
    machine = world.control.machine(OWNER, "web")
    assert (machine.status, machine.run_id) == (MachineStatus.RUNNING, run_id), "it was not booted again"


async def test_who_waits_for_the_rest_of_an_order_hears_of_a_removal(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.machine()
    ending = Ending(world, monkeypatch)
    async with asyncio.timeout(LIMIT):
        await world.control.save_checkpoint(OWNER, "web", "one")
        await ending.reached.wait()
        restoring = asyncio.ensure_future(world.control.restore_checkpoint(OWNER, "web", "one"))
        await asyncio.wait([restoring], timeout=0.05)
        removing = asyncio.ensure_future(world.control.destroy_machine(OWNER, "web"))
        await asyncio.wait([removing], timeout=0.05)
        ending.go_on.set()
        await removing
        with pytest.raises(Interrupted, match="was ended because the machine is being removed"):
            await restoring
    assert world.leftovers() == []


@pytest.mark.parametrize("leaving", ["b", "c"])
async def test_what_a_machine_descends_from_is_told_while_one_of_it_is_being_removed(
    world: World, leaving: str
) -> None:
    machine = await world.machine()
    for name in ("a", "b", "c"):
        await world.save(name)
    checkpoint = world.store.checkpoint(machine.id, leaving)
    assert checkpoint is not None
    async with world.drivers.holds.hold(world.pool.checkpoint_dir(machine.id, checkpoint.id), "a test reads it"):
        removal = asyncio.create_task(world.control.remove_checkpoint(OWNER, "web", leaving))
        await world.until(world.store.removing_checkpoints)
        views = await world.control.checkpoints(OWNER, "web")
    await asyncio.wait_for(removal, LIMIT)
    (left,) = {"b", "c"} - {leaving}
    told = [(view.checkpoint.name, view.parent_name, view.is_current) for view in views]
    assert told == [("a", "", False), (left, "a", True)]
