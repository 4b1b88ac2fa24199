"""What the loop of faults does with snapshots, and what holds of them afterwards."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from openboxd.api.ports import NewMachine
from tests.worker.world import OWNER, World


async def save(world: World, name: str = "fresh") -> None:
    """A first version."""
    version = (await world.control.save_snapshot(OWNER, "web", name)).version + 1
    found = (await world.control.snapshot_done(OWNER, name)).snapshot
    if found.version < version:
        raise OSError(found.failure_reason)


async def save_again(world: World) -> None:
    """A second version, which takes the place of the first."""
    await save(world, "base")


async def remove(world: World) -> None:
    await world.control.remove_snapshot(OWNER, "base")


async def make_machine(world: World) -> None:
    """A failure is told by a machine that is not there."""
    await world.control.create_from_snapshot(OWNER, "base", NewMachine(name="other"))
    await world.settled("other")


ACTIONS: dict[str, Callable[[World], Awaitable[object]]] = {
    "snapshot": save,
    "snapshot-again": save_again,
    "remove-snapshot": remove,
    "new-from-snapshot": make_machine,
}

FORWARD = {"snapshot-again": ("before drop", "after drop")}
"""Where a failure does not matter any more: the new version is there."""


async def check(world: World) -> None:
    """Each is ready or failed; from one that is ready comes a machine with what was saved. `base` was v=old."""
    for view in await world.control.snapshots(OWNER):
        found = view.snapshot
        assert not found.saving
        if not found.version:
            assert found.failure_reason and found.name == "fresh"
            continue
        await world.control.create_from_snapshot(OWNER, found.name, NewMachine(name="made"))
        await world.settled("made")
        assert await world.sh("get v", "made") == ("old\n" if (found.name, found.version) == ("base", 1) else "new\n")
        await world.control.destroy_machine(OWNER, "made")
    assert world.leftovers() == []
