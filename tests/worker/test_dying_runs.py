"""QEMU ends by itself in the middle of an operation, and nobody has told the daemon when it goes on.

The same on real guests: tests/guests/test_qemu_kills.py. Here at every step there is.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from openboxd.errors import BoxdError, MachineLost, OperationFailed
from openboxd.model import CheckpointStatus, MachineStatus
from tests.worker.outcomes import whole
from tests.worker.test_faults import ACTIONS, points, prepared  # noqa: F401  (a fixture)
from tests.worker.world import OWNER, World

DYING = ("save", "restore", "stop", "reboot", "rename", "new", "suspend", "hibernate", "wake")

CASES = [(name, "all") for name in DYING] + [("restore", "oldest"), ("restore", "newest")]
"""Only a restore has two runs at a time."""


def strike(world: World, victims: str) -> None:
    """End processes of the fake host."""
    alive = world.host.alive()
    chosen = {"oldest": alive[:1], "newest": alive[-1:], "all": alive}[victims]
    for process in chosen:
        process.crash()


async def outcome(name: str, world: World) -> BoxdError | None:
    """What the operation said."""
    try:
        await ACTIONS[name](world)
    except BoxdError as error:
        return error
    except OSError:  # how an action tells of what was recorded instead of raised
        return None
    return None


@pytest.mark.parametrize(("name", "victims"), CASES)
async def test_at_every_step(name: str, victims: str, points: dict[str, list[str]], tmp_path: Path) -> None:  # noqa: F811
    """The machine runs or is `failed` (or stopped, if it was to be); its checkpoints are good and bring it back."""
    for number, point in enumerate(points[name]):
        world = await prepared(tmp_path / str(number), name)
        struck: list[str] = []

        def fault(reached: str, world: World = world, point: str = point, struck: list[str] = struck) -> None:
            if reached == point and not struck:
                struck.append(reached)
                strike(world, victims)

        world.fault = fault
        try:
            error = await outcome(name, world)
            assert struck, point
            for machine in world.control.machines(OWNER):
                await world.settled(machine.name)
            await world.until(lambda world=world: world.leftovers() == [])
            views = [v for m in world.control.machines(OWNER) for v in await world.control.checkpoints(OWNER, m.name)]
            statuses = {view.checkpoint.name: view.checkpoint.status for view in views}
            assert statuses["good"] is CheckpointStatus.READY, (point, error)
            await whole(world)
        finally:
            await world.close()


RESTORES = {
    ("after load", "newest"): (OperationFailed, MachineStatus.RUNNING),
    ("after load", "all"): (MachineLost, MachineStatus.FAILED),
    ("after load", "oldest"): (None, MachineStatus.RUNNING),
    ("before swap", "oldest"): (None, MachineStatus.RUNNING),
    ("before swap", "newest"): (MachineLost, MachineStatus.FAILED),
    ("after resume", "newest"): (MachineLost, MachineStatus.FAILED),
}


@pytest.mark.parametrize(("point", "victims"), RESTORES)
async def test_what_a_restore_says(point: str, victims: str, tmp_path: Path) -> None:
    world = await prepared(tmp_path)
    kind, status = RESTORES[point, victims]

    def fault(reached: str) -> None:
        if reached == point:
            world.fault = lambda passed: None
            strike(world, victims)

    world.fault = fault
    try:
        error = await outcome("restore", world)
        assert type(error) is (kind or type(None)), error
        await world.seen(status)
        if status is MachineStatus.RUNNING:
            assert await world.sh("get v") == ("old\n" if error is None else "new\n")
        else:
            assert "checkpoints are intact" in str(error)
    finally:
        await world.close()
