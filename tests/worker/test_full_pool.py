"""No room: nothing half-made, the guest sees no error, and everything goes on when there is room again."""

from __future__ import annotations

import asyncio

import pytest

from openboxd.errors import AgentSilent, BoxdError, Unavailable, WrongState
from openboxd.model import CheckpointStatus, MachineStatus
from openboxd.ports import RunState
from tests.worker.world import OWNER, World


async def reason(world: World, wanted: str) -> None:
    """Until the machine's status has this reason."""
    for _ in range(6000):
        if wanted in world.control.machine(OWNER, "web").status_reason and (
            wanted or not world.control.machine(OWNER, "web").status_reason
        ):
            return
        await asyncio.sleep(0.005)
    raise TimeoutError(world.control.machine(OWNER, "web"))


async def test_a_guest_that_stands_still_is_shown_so_and_not_saved_until_it_goes_on(world: World) -> None:
    machine = await world.machine()
    process = world.host.of_machine(machine.id)
    process.stand_still(True)
    await reason(world, "stands still because the pool is full")
    assert world.control.machine(OWNER, "web").status is MachineStatus.RUNNING
    with pytest.raises(Unavailable, match="machine 'web' does not answer: the guest stands still"):
        await world.sh("true")
    await world.control.save_checkpoint(OWNER, "web", "a")
    await world.settled()
    (view,) = await world.control.checkpoints(OWNER, "web")
    assert view.checkpoint.status is CheckpointStatus.FAILED
    assert "stands still because the pool is full" in view.checkpoint.failure_reason
    process.stand_still(False)
    await reason(world, "")
    await world.save("a")
    assert world.leftovers() == []
    operations = [event.operation for event, _ in world.control.events(OWNER, "web", 0)]
    assert operations == ["start", "stalled", "save", "go on", "save"]


async def test_a_machine_that_stands_still_can_be_taken_back_and_stopped(world: World) -> None:
    machine = await world.machine()
    await world.save("a")
    world.host.of_machine(machine.id).stand_still(True)
    await reason(world, "pool is full")
    await world.control.restore_checkpoint(OWNER, "web", "a")
    assert world.control.machine(OWNER, "web").status_reason == ""
    world.host.of_machine(machine.id).stand_still(True)
    await reason(world, "pool is full")
    stopped = await world.control.stop_machine(OWNER, "web")
    assert (stopped.status, stopped.status_reason) == (MachineStatus.STOPPED, "")
    assert world.leftovers() == []


@pytest.mark.parametrize("where", ["clone", "publish", "stage"])
async def test_no_room_in_the_middle_is_one_sentence_and_leaves_nothing(
    world: World, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.machine()
    await world.sh("set v old")
    await world.save("a")
    await world.sh("set v new")

    def full(*arguments: object) -> None:
        raise WrongState(
            "the pool is full: 0 MiB are free and up to 8 MiB are needed; remove a checkpoint or add space"
        )

    monkeypatch.setattr(world.pool, where, full)
    if where == "clone":
        with pytest.raises(BoxdError, match="pool is full"):
            await world.control.restore_checkpoint(OWNER, "web", "a")
    else:
        await world.control.save_checkpoint(OWNER, "web", "b")
        await world.settled()
        failed = world.store.checkpoint(world.control.machine(OWNER, "web").id, "b")
        assert failed is not None and "pool is full" in failed.failure_reason
    assert world.leftovers() == []
    assert await world.sh("get v") == "new\n"
    monkeypatch.undo()
    await world.save("b")
    await world.control.restore_checkpoint(OWNER, "web", "a")
    assert await world.sh("get v") == "old\n"


async def test_a_store_that_cannot_write_leaves_the_machine_as_it_was(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The home's filesystem is full while the pool has room: no operation begins that cannot be recorded."""
    await world.machine()
    await world.save("a")
    await world.sh("set v new")

    async def full(*arguments: object, **values: object) -> None:
        raise WrongState("boxd's database cannot be written: the disk is full")

    for write in ("begin_checkpoint", "begin_operation", "step_operation", "add_event", "finish_checkpoint"):
        with monkeypatch.context() as patch:
            patch.setattr(world.store, write, full)
            with pytest.raises(BoxdError):
                await world.control.save_checkpoint(OWNER, "web", "b")
                await world.settled()
                view = await world.control.checkpoint_done(OWNER, "web", "b")
                raise WrongState(view.checkpoint.failure_reason or "it was saved")
        await world.settled()
        assert await world.sh("get v") == "new\n", write
        names = {
            view.checkpoint.name: view.checkpoint.status for view in await world.control.checkpoints(OWNER, "web")
        }
        assert names.get("b") in (None, CheckpointStatus.FAILED) or write == "add_event", (write, names)
        if write == "add_event":
            await world.control.remove_checkpoint(OWNER, "web", "b")
        assert world.leftovers() == [], write
    await world.save("c")
    await world.control.restore_checkpoint(OWNER, "web", "c")
    assert await world.sh("get v") == "new\n"


@pytest.mark.parametrize("operation", ["start", "restore"])
async def test_a_guest_that_stands_still_before_it_answers_is_told_at_once(world: World, operation: str) -> None:
    """Nobody waits out the limits for an agent that cannot answer before somebody makes room."""
    machine = await world.machine()
    await world.save("a")
    await world.control.stop_machine(OWNER, "web")
    world.host.new_guests_answer = False
    begin = {
        "start": lambda: world.control.start_machine(OWNER, "web"),
        "restore": lambda: world.control.restore_checkpoint(OWNER, "web", "a"),
    }[operation]
    under_way = asyncio.ensure_future(begin())
    await world.until(lambda: world.host.alive() and world.host.of_machine(machine.id).state is RunState.RUNNING)
    worker = world.control.team.worker(machine.id)
    await world.until(lambda: worker.run is not None)
    world.host.of_machine(machine.id).stand_still(True)
    with pytest.raises(AgentSilent, match=r"machine 'web' runs.* but the guest stands still"):
        await under_way
    assert world.control.machine(OWNER, "web").status is MachineStatus.RUNNING
    assert "stands still" in world.control.machine(OWNER, "web").status_reason
    world.host.of_machine(machine.id).set_answers(True)
    world.host.of_machine(machine.id).stand_still(False)
    await reason(world, "")
    assert await world.sh("true") == ""
    assert world.leftovers() == []
