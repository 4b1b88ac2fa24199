"""What holds of machines and checkpoints after an operation that failed, or whose daemon was killed."""

from __future__ import annotations

from openboxd.model import CheckpointStatus, Machine, MachineStatus
from openboxd.worker.admission import SETTLED
from openboxd.worker.states import ASLEEP
from tests.worker import sleeping
from tests.worker.world import OWNER, World

OTHER_NAME = "other-name"

REBOOTING = ("reboot", "resize", "rename")
"""What is only in memory is gone afterwards."""

STAYS = {
    "rename-stopped": MachineStatus.STOPPED,
    "fork-stopped": MachineStatus.STOPPED,
    "fork-hibernated": MachineStatus.HIBERNATED,
}
"""What machine `web` is before and after, if that is not `running`."""


async def no_half_copy(world: World, name: str) -> None:
    """A copy goes on where its source stood, or is not there: nobody meets one that has lost its memory."""
    found = [machine for machine in world.control.machines(OWNER) if machine.source]
    for machine in found:
        if name == "fork-stopped":  # which boots: what was in memory there was none
            assert await _boots_as_the_source(world, machine)
            continue
        assert machine.status is MachineStatus.RUNNING, machine
        expected = "old\n" if name in ("fork-checkpoint", "new-from-snapshot") else "new\n"
        assert await world.sh("get v", machine.name) == expected
        assert await world.sh("hostname", machine.name) == f"{machine.name}\n"


async def _boots_as_the_source(world: World, machine: Machine) -> bool:
    if machine.status is MachineStatus.STOPPED:
        await world.control.start_machine(OWNER, machine.name)
    return await world.sh("read file", machine.name) == "new"


async def called_web(world: World) -> None:
    """Whichever name a rename that failed has left: the machine has one of the two, and can be renamed again."""
    found = [machine for machine in world.control.machines(OWNER) if machine.name in ("web", OTHER_NAME)]
    assert len(found) <= 1
    if found and found[0].name == OTHER_NAME:
        await world.control.rename_machine(OWNER, OTHER_NAME, "web")


async def whole(world: World) -> None:
    """What holds after any failure and any recovery: nothing half, nothing left, and undo works."""
    assert world.leftovers() == []
    for machine in world.control.machines(OWNER):
        assert machine.status in SETTLED | ASLEEP
    if not any(machine.name == "web" for machine in world.control.machines(OWNER)):
        return
    views = {view.checkpoint.name: view.checkpoint for view in await world.control.checkpoints(OWNER, "web")}
    assert all(c.status in (CheckpointStatus.READY, CheckpointStatus.FAILED) for c in views.values())
    for name, checkpoint in views.items():
        if checkpoint.status is CheckpointStatus.READY:
            await world.control.restore_checkpoint(OWNER, "web", name)
            expected = "old" if name == "good" else "new"
            assert await world.sh("get v") == f"{expected}\n"
            assert await world.sh("read file") == expected
    if "new" in views and views["new"].status is CheckpointStatus.READY:
        await world.control.remove_checkpoint(OWNER, "web", "new")
    if world.control.machine(OWNER, "web").status is MachineStatus.RUNNING:
        await world.save("after")
    assert world.leftovers() == []


async def check_web(world: World, name: str, point: str) -> None:
    """Machine `web` after a failure: running as it was, unless the operation had passed its point of no return."""
    step = point.split(" ", 1)[1]
    check_other(world, name, point)
    if name.startswith("destroy"):
        if point != "after forget":
            await world.control.destroy_machine(OWNER, "web")
        return
    if name in sleeping.MOVES:
        await sleeping.check(world, name, point)
        return
    machine = await world.settled()
    if name in STAYS:
        assert machine.status is STAYS[name], point
        return
    if name in ("stop", *REBOOTING) and point != "before shut down" and machine.status is not MachineStatus.RUNNING:
        assert machine.status is MachineStatus.STOPPED, point
    else:
        assert machine.status is MachineStatus.RUNNING, point
        if name not in REBOOTING:
            restored = name == "restore" and (step in ("resume", "answer") or point == "after swap")
            assert await world.sh("get v") == ("old\n" if restored else "new\n"), point


def check_other(world: World, name: str, point: str) -> None:
    """A new machine that was to be booted is stopped, or runs if it had begun to when the failure came."""
    step = point.split(" ", 1)[1]
    found = [machine.status for machine in world.control.machines(OWNER) if machine.name == "other"]
    if name == "new" or (name == "fork-stopped" and step != "copy"):
        assert found == [MachineStatus.RUNNING if step == "answer" else MachineStatus.STOPPED], point
    elif name == "fork-stopped":
        assert found == [], point
    elif name == "new-warm":
        assert found in ([MachineStatus.RUNNING], [MachineStatus.STOPPED]), point


async def check_after_kill(world: World, name: str, point: str, passed: list[str]) -> None:
    """What the next daemon has made of it, before anybody else does something: every machine as the page says.

    `passed` are the points of the operation, in order. See docs/crash-safety.md, "Killed here, found so, done so".
    """
    statuses = {machine.name: machine.status for machine in world.control.machines(OWNER)}
    assert MachineStatus.FAILED not in statuses.values(), point
    check_other(world, name, point)
    called = [machine for machine in statuses if machine in ("web", OTHER_NAME)]
    if name.startswith("destroy"):
        assert called == [], point
        return
    assert len(called) == 1, point
    step = point.split(" ", 1)[1]
    if name in sleeping.MOVES:
        await sleeping.check_after_kill(world, name, point, passed)
        return
    status = statuses[called[0]]
    if name in STAYS:
        assert status is STAYS[name], point
    elif name in ("stop", *REBOOTING) and point != "before shut down":
        assert status is (MachineStatus.RUNNING if step == "answer" else MachineStatus.STOPPED), point
    else:
        assert status is MachineStatus.RUNNING, point
        crossed = name == "restore" and step in ("swap", "resume", "answer")
        assert await world.sh("get v", called[0]) == ("old\n" if crossed else "new\n"), point
