"""Machines do not wait for each other: while one is being saved or restored, the others do what they are told."""

from __future__ import annotations

import asyncio

import pytest

from openboxd.model import CheckpointStatus, MachineStatus
from tests.worker.world import LIMIT, OWNER, World


@pytest.mark.parametrize(("point", "busy"), [("save memory", "save"), ("save pause", "save"), ("load", "restore")])
async def test_a_machine_that_is_busy_concerns_nobody_else(world: World, point: str, busy: str) -> None:
    await world.machine()
    await world.machine("other")
    await world.sh("set v web")
    await world.save("good")
    with world.host.hold(point, once=True) as hold:
        if busy == "save":
            await world.control.save_checkpoint(OWNER, "web", "new")
            under_way: asyncio.Future[object] = asyncio.ensure_future(
                world.control.checkpoint_done(OWNER, "web", "new")
            )
        else:
            under_way = asyncio.ensure_future(world.control.restore_checkpoint(OWNER, "web", "good"))
        await hold.reached()
        async with asyncio.timeout(LIMIT):
            await _everything(world)
        assert not under_way.done()
        assert world.control.team.worker(world.control.machine(OWNER, "web").id).current is not None
    await under_way
    assert await world.sh("get v") == "web\n"
    assert world.leftovers() == []


async def _everything(world: World) -> None:
    """What can be told to machine `other`, and what is read of both."""
    await world.sh("set v 1", "other")
    await world.save("a", "other")
    await world.sh("set v 2", "other")
    await world.control.restore_checkpoint(OWNER, "other", "a")
    assert await world.sh("get v", "other") == "1\n"
    await world.control.reboot_machine(OWNER, "other")
    await world.control.suspend_machine(OWNER, "other")
    await world.control.resume_machine(OWNER, "other")
    await world.control.remove_checkpoint(OWNER, "other", "a")
    listed = {machine.name: machine.status for machine in world.control.machines(OWNER)}
    assert listed["other"] is MachineStatus.RUNNING and len(listed) == 2
    statuses = {v.checkpoint.name: v.checkpoint.status for v in await world.control.checkpoints(OWNER, "web")}
    assert statuses["good"] is CheckpointStatus.READY
