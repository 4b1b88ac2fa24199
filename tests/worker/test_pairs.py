"""Two operations on one machine in every order, and what remains after hundreds of them."""

from __future__ import annotations

import asyncio
import gc
import itertools
import resource
import stat
import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from openboxd.errors import AlreadyExists, BoxdError, Busy, Interrupted, NotFound, WrongState
from openboxd.model import CheckpointStatus, MachineStatus
from tests.fakes.host import Hold
from tests.lab import tree
from tests.worker.world import LIMIT, OWNER, World

Action = Callable[[World], Awaitable[object]]


OTHER_NAME = "other"


def web(world: World) -> str:
    """The id of the machine, which one of the operations renames."""
    return next((machine.id for machine in world.control.machines(OWNER)), "gone")


async def _save(world: World) -> None:
    await world.control.save_checkpoint(OWNER, web(world), "new")
    await world.control.checkpoint_done(OWNER, web(world), "new")


ACTIONS: dict[str, Action] = {
    "save": _save,
    "restore a": lambda world: world.control.restore_checkpoint(OWNER, web(world), "a"),
    "restore b": lambda world: world.control.restore_checkpoint(OWNER, web(world), "b"),
    "remove a": lambda world: world.control.remove_checkpoint(OWNER, web(world), "a"),
    "stop": lambda world: world.control.stop_machine(OWNER, web(world)),
    "reboot": lambda world: world.control.reboot_machine(OWNER, web(world)),
    "rename": lambda world: world.control.rename_machine(OWNER, web(world), OTHER_NAME),
    "destroy": lambda world: world.control.destroy_machine(OWNER, web(world)),
}

WORDS = {
    "save": "save of 'new'",
    "restore a": "restore of 'a'",
    "restore b": "restore of 'b'",
    "remove a": "removal of 'a'",
    "stop": "stop",
    "reboot": "reboot",
    "rename": f"renaming to '{OTHER_NAME}'",
}

FORGET = "forget"

FIRST_STEPS = {
    "save": "save memory",
    "restore a": "load",
    "restore b": "load",
    "remove a": FORGET,
    "stop": "powerdown",
    "reboot": "powerdown",
    "rename": "powerdown",
    "destroy": "kill",
}
"""Where the first operation is held so that the second one falls into it: in a call to the host, or of a removal in
one to the store, as nothing of it concerns the host."""


@contextmanager
def held(world: World, point: str) -> Iterator[Hold]:
    """Whoever comes to `point` waits there, until the block is left."""
    if point != FORGET:
        with world.host.hold(point) as hold:
            yield hold
        return
    hold, store, forget = Hold(), world.store, world.store.delete_checkpoint

    async def wait(checkpoint_id: str) -> None:
        await hold.wait_here()
        await forget(checkpoint_id)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "delete_checkpoint", wait)
        try:
            yield hold
        finally:
            hold.release()


async def prepared(directory: Path) -> World:
    world = World(directory)
    await world.start()
    await world.machine()
    for name in ("a", "b"):
        await world.sh(f"set v {name}; write file {name}")
        await world.save(name)
    await world.sh("set v new; write file new")
    return world


async def outcome(action: Awaitable[object]) -> BoxdError | None:
    try:
        async with asyncio.timeout(LIMIT):
            await action
    except BoxdError as error:
        return error
    return None


async def consistent(world: World) -> None:
    """The machine is in a state that somebody asked for, one process at most, and every checkpoint is good."""
    assert world.leftovers() == []
    machines = world.control.machines(OWNER)
    if not machines:
        return
    assert machines[0].status in (MachineStatus.RUNNING, MachineStatus.STOPPED)
    name = machines[0].name
    for view in await world.control.checkpoints(OWNER, name):
        assert view.checkpoint.status is CheckpointStatus.READY
        await world.control.restore_checkpoint(OWNER, name, view.checkpoint.name)
        if view.checkpoint.name in ("a", "b"):
            assert await world.sh("get v; read file", name) == f"{view.checkpoint.name}\n{view.checkpoint.name}"
    assert world.leftovers() == []


@pytest.mark.parametrize(("first", "second"), list(itertools.product(ACTIONS, ACTIONS)))
async def test_at_the_same_moment(first: str, second: str, tmp_path: Path) -> None:
    world = await prepared(tmp_path)
    try:
        results = await asyncio.gather(*(outcome(ACTIONS[name](world)) for name in (first, second)))
        renamed = ("rename", None) in zip((first, second), results, strict=True)
        for machine in world.control.machines(OWNER):
            await world.settled(machine.name)
            assert machine.name == (OTHER_NAME if renamed else "web"), results
        assert None in results, results
        allowed = (Busy, WrongState, NotFound, AlreadyExists, Interrupted)
        assert all(error is None or isinstance(error, allowed) for error in results), results
        if "destroy" in (first, second):
            assert world.control.machines(OWNER) == []
        await consistent(world)
    finally:
        await world.close()


@pytest.mark.parametrize(("first", "second"), list(itertools.product(FIRST_STEPS, ACTIONS)))
async def test_in_the_middle(first: str, second: str, tmp_path: Path) -> None:
    """The second is refused with the name of the first, joins it if it is the same, or (a removal of the machine)
    takes over. What is being removed is not there for anybody any more."""
    world = await prepared(tmp_path)
    try:
        with held(world, FIRST_STEPS[first]) as hold:
            under_way = asyncio.ensure_future(outcome(ACTIONS[first](world)))
            async with asyncio.timeout(LIMIT):
                await hold.reached()
            other = asyncio.ensure_future(outcome(ACTIONS[second](world)))
            if second not in (first, "destroy") or second in ("save", "remove a"):
                error = await other  # decided at once, while the first one is held
                if first == "destroy":
                    assert isinstance(error, (Busy, WrongState, NotFound)), error
                elif first == "remove a" and second in ("restore a", "remove a"):
                    assert isinstance(error, NotFound), error
                elif (first, second) == ("save", "save"):
                    assert isinstance(error, AlreadyExists), error
                else:
                    assert isinstance(error, Busy) and f": {WORDS[first]} is running" in error.message, error
            else:
                await asyncio.sleep(0)
        assert second in ("destroy", "save", "remove a") or second != first or await other is None
        ended = await under_way
        assert ended is None or (second == "destroy" and isinstance(ended, (Interrupted, NotFound))), ended
        await other
        if "destroy" in (first, second):
            assert world.control.machines(OWNER) == []
        await consistent(world)
    finally:
        await world.close()


async def _start_all_threads(count: int = 4) -> None:
    """Let the event loop's pool of threads have all it may have: it starts them as they are needed."""
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(count))
    together = threading.Barrier(count)
    await asyncio.gather(*(asyncio.to_thread(together.wait, 30) for _ in range(count)))


async def test_two_hundred_rounds_leave_nothing(world: World) -> None:
    """Descriptors, threads, tasks, memory, processes, files and bytes: after 200 rounds as after 20."""
    await _start_all_threads()
    await world.machine()
    await world.save("base")

    async def rounds(count: int) -> None:
        for number in range(count):
            await world.sh(f"set v {number}; write file {number}")
            await world.save("r")
            await world.control.restore_checkpoint(OWNER, "web", "r")
            assert await world.sh("get v") == f"{number}\n"
            await world.control.remove_checkpoint(OWNER, "web", "r")
            if number % 10 == 0:
                [item async for item in world.control.verify_checkpoint(OWNER, "web", "base")]

    def count() -> dict[str, int]:
        gc.collect()
        return {
            "descriptors": len(list(Path("/proc/self/fd").iterdir())),
            "threads": threading.active_count(),
            "tasks": len(asyncio.all_tasks()),
            "processes": len(world.host.alive()),
            "files": sum(1 for _ in tree(world.pool.root)),
            "bytes": sum(s.st_blocks for _, s in tree(world.pool.root) if stat.S_ISREG(s.st_mode)) // 2048,
            "watchers": len(world.control.team.worker(world.control.machine(OWNER, "web").id).watchers),
        }

    await rounds(20)
    before, memory = count(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    await rounds(180)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory
    print(f"after 20 rounds {before}, after 200 {count()}; the peak of memory grew by {grown} KiB")
    # What is ending needs a moment, what has leaked stays; fewer is no leak, as threads of earlier tests end too.
    await world.until(lambda: all(now <= before[name] for name, now in count().items()))
    assert grown < 16 * 1024, "the fake host keeps a record of every process; a leak would be megabytes a round"
    assert world.leftovers() == []
