"""A removal comes while an operation writes to the store, at each of its writes: who waits for either hears of it."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from openboxd.api.ports import NewMachine
from openboxd.errors import BoxdError
from tests.worker.test_pairs import outcome
from tests.worker.world import OWNER, World

Action = Callable[[World], Awaitable[object]]


async def _save(world: World) -> None:
    await world.control.save_checkpoint(OWNER, "web", "new")
    await world.control.checkpoint_done(OWNER, "web", "new")


async def _snapshot(world: World) -> None:
    await world.control.save_snapshot(OWNER, "web", "base")
    await world.control.snapshot_done(OWNER, "base")


ACTIONS: dict[str, Action] = {
    "save": _save,
    "restore": lambda world: world.control.restore_checkpoint(OWNER, "web", "good"),
    "remove": lambda world: world.control.remove_checkpoint(OWNER, "web", "good"),
    "stop": lambda world: world.control.stop_machine(OWNER, "web"),
    "rename": lambda world: world.control.rename_machine(OWNER, "web", "other"),
    "fork": lambda world: world.control.fork_machine(OWNER, "web", NewMachine(name="twin")),
    "snapshot": _snapshot,
    "suspend": lambda world: world.control.suspend_machine(OWNER, "web"),
    "hibernate": lambda world: world.control.hibernate_machine(OWNER, "web"),
}

ASLEEP: dict[str, Action] = {
    "wake": lambda world: world.control.wake_machine(OWNER, "web"),
    "stop-hibernated": ACTIONS["stop"],
}


class Meddler:
    """Orders the removal of machine `web` while the store carries out the write of this number."""

    def __init__(self, world: World, number: int) -> None:
        self._machine = world.control.machine(OWNER, "web").id
        self._world, self._left = world, number
        self.removing: asyncio.Task[BoxdError | None] | None = None
        store = world.store
        for name, value in inspect.getmembers(store, inspect.iscoroutinefunction):
            if not name.startswith("_"):
                setattr(store, name, self._watched(value))

    def _watched(self, write: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def watched(*args: Any, **kwargs: Any) -> Any:
            self._left -= 1
            if self._left == 0:
                removal = outcome(self._world.control.destroy_machine(OWNER, self._machine))
                self.removing = asyncio.create_task(removal)
                await asyncio.shield(asyncio.sleep(0))
            return await write(*args, **kwargs)

        return watched


@pytest.mark.parametrize("name", [*ACTIONS, *ASLEEP])
async def test_a_removal_at_every_write(name: str, tmp_path: Path) -> None:
    number = 0
    while True:
        number += 1
        world = World(tmp_path / str(number))
        await world.start()
        await world.machine()
        await world.save("good")
        if name in ASLEEP:
            await world.control.hibernate_machine(OWNER, "web")
        try:
            meddler = Meddler(world, number)
            await outcome((ACTIONS | ASLEEP)[name](world))
            if meddler.removing is None:
                break
            assert await meddler.removing is None
            assert all(machine.name == "twin" for machine in world.control.machines(OWNER))
            await world.control.close(1)  # what goes on in the background has ended
            assert world.leftovers() == [], f"at write {number}"
        finally:
            await world.close()
    assert number > 2, "the operation writes nothing"
