"""Every step of every operation fails, before and after its effect; then the daemon is killed at every step.

The steps announce themselves: each operation is run once to learn its fault points, so a new step is tested the day
it is written.
"""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from openboxd.api.ports import NewMachine
from openboxd.errors import BoxdError, OperationFailed
from openboxd.model import MIB, CheckpointStatus, MachineStatus
from openboxd.pool.directory import Kind
from openboxd.worker import restore
from tests.worker import sleeping, snapshotting
from tests.worker.outcomes import OTHER_NAME, called_web, check_after_kill, check_web, no_half_copy, whole
from tests.worker.world import LIMIT, OWNER, World

Action = Callable[[World], Awaitable[object]]


async def _save(world: World) -> None:
    await world.control.save_checkpoint(OWNER, "web", "new")
    view = await world.control.checkpoint_done(OWNER, "web", "new")
    if view.checkpoint.status is CheckpointStatus.FAILED:
        raise OSError(view.checkpoint.failure_reason)


async def _restore(world: World) -> None:
    await world.control.restore_checkpoint(OWNER, "web", "good")


async def _remove(world: World) -> None:
    await world.control.remove_checkpoint(OWNER, "web", "good")


async def _stop(world: World) -> None:
    await world.control.stop_machine(OWNER, "web")


async def _reboot(world: World) -> None:
    await world.control.reboot_machine(OWNER, "web")


async def _resize(world: World) -> None:
    await world.control.resize_machine(OWNER, "web", 1, 768 * MIB)


async def _rename(world: World) -> None:
    await world.control.rename_machine(OWNER, "web", OTHER_NAME)


async def _destroy(world: World) -> None:
    await world.control.destroy_machine(OWNER, "web")


async def _new(world: World) -> None:
    await world.control.create_machine(OWNER, NewMachine(name="other", vcpu=1, memory_bytes=512 * MIB))
    await _boots(world)


async def _boots(world: World) -> None:
    """Who makes a machine that boots is answered before it has."""
    machine = await world.settled("other")
    if machine.status is not MachineStatus.RUNNING:
        raise OSError(machine.status)


async def _fork(world: World) -> None:
    await world.control.fork_machine(OWNER, "web", NewMachine(name="other"))


async def _fork_stopped(world: World) -> None:
    await _fork(world)
    await _boots(world)


async def _fork_checkpoint(world: World) -> None:
    await world.control.fork_machine(OWNER, "web", NewMachine(name="other"), "good")


async def _warm(world: World) -> None:
    async for _ in world.control.warm_image(OWNER, "", 1, 512 * MIB):
        pass


async def _new_warm(world: World) -> None:
    await _warm(world)
    await world.stop()
    world.warm = True
    await world.start()
    world.steps.clear()
    await _new(world)


async def _build(world: World) -> None:
    world.builder.digest = lambda name: "d2"  # type: ignore[method-assign]
    async for _ in world.control.build_image(OWNER, ""):
        pass


async def _remove_image(world: World) -> None:
    await _build(world)
    world.steps.clear()
    await world.control.remove_image(OWNER, "d2")


ACTIONS: dict[str, Action] = {
    "save": _save,
    "restore": _restore,
    "remove": _remove,
    "stop": _stop,
    "reboot": _reboot,
    "resize": _resize,
    "rename": _rename,
    "rename-stopped": sleeping.when(MachineStatus.STOPPED, _rename),
    "destroy": _destroy,
    "new": _new,
    "new-warm": _new_warm,
    "warm": _warm,
    "fork": _fork,
    "fork-stopped": sleeping.when(MachineStatus.STOPPED, _fork_stopped),
    "fork-hibernated": sleeping.when(MachineStatus.HIBERNATED, _fork),
    "fork-checkpoint": _fork_checkpoint,
    "build": _build,
    "remove-image": _remove_image,
    **snapshotting.ACTIONS,
    **sleeping.ACTIONS,
}


async def prepared(directory: Path, name: str = "", kind: Kind = "copy") -> World:
    """A world with machine `web`, checkpoint `good` with v=old (and snapshot `base` with it), and v=new now."""
    world = World(directory)
    world.pool_kind = kind
    await world.start()
    await world.machine()
    await world.sh("set v old; write file old")
    await world.save("good")
    if name in snapshotting.ACTIONS:
        await world.snapshot("base")
    await world.sh("set v new; write file new")
    world.steps.clear()
    return world


def points_of(name: str, directory: Path) -> list[str]:
    """The fault points an operation passes, in order."""

    async def discover() -> list[str]:
        world = await prepared(directory, name)
        try:
            await ACTIONS[name](world)
            await asyncio.sleep(0)
            return list(world.steps)
        finally:
            await world.close()

    return asyncio.run(discover())


@pytest.fixture(scope="session")
def points(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    found = {name: points_of(name, tmp_path_factory.mktemp(name)) for name in ACTIONS}
    for name, steps in found.items():
        print(f"{name}: {', '.join(steps)}")
    return found


@pytest.mark.parametrize("name", ACTIONS)
async def test_a_failure_at_any_step(name: str, points: dict[str, list[str]], tmp_path: Path) -> None:
    assert points[name], "the operation has no steps"
    for number, point in enumerate(points[name]):
        world = await prepared(tmp_path / str(number), name)
        failed: list[str] = []

        def fault(reached: str, point: str = point, failed: list[str] = failed) -> None:
            if reached == point and not failed:
                failed.append(reached)
                raise OSError(f"on purpose at {reached}")

        world.fault = fault
        try:
            try:
                await ACTIONS[name](world)
            except (BoxdError, OSError):
                assert failed
            else:
                # Making a machine answers before its guest does: a failure after the commit is told by its status.
                # A restore that has crossed over goes forward in spite of one failure.
                late = (
                    name in ("new", "fork-stopped") and point.endswith("answer")
                ) or name == "new-warm"  # which boots then
                crossed = name == "restore" and point in ("after swap", "before resume", "after resume")
                crossed = crossed or point in snapshotting.FORWARD.get(name, ())
                crossed = crossed or point in sleeping.FORWARD.get(name, ())
                assert late or crossed, f"nobody was told of {point}"
            await called_web(world)
            await check_web(world, name, point)
            await no_half_copy(world, name)
            if name in snapshotting.ACTIONS:
                await snapshotting.check(world)
            await whole(world)
        finally:
            await world.close()


@pytest.mark.parametrize("name", ACTIONS)
async def test_the_daemon_killed_at_any_step(name: str, points: dict[str, list[str]], tmp_path: Path) -> None:
    for number, point in enumerate(points[name]):
        world = await prepared(tmp_path / str(number), name)
        killed = asyncio.Event()

        def fault(reached: str, world: World = world, point: str = point, killed: asyncio.Event = killed) -> None:
            if reached == point:
                killed.set()
            world.switch.killing_at(point)(reached)

        world.fault = fault
        try:
            action = asyncio.ensure_future(ACTIONS[name](world))
            async with asyncio.timeout(LIMIT):
                await killed.wait()
            action.cancel()
            await asyncio.wait([action])
            if not action.cancelled():
                action.exception()
            world.drop()
            world.fault = lambda reached: None
            await world.start()
            await check_after_kill(world, name, point, points[name])
            await called_web(world)
            if name in snapshotting.ACTIONS:
                await snapshotting.check(world)
            await no_half_copy(world, name)
            await whole(world)
        finally:
            await world.close()


async def test_a_disk_that_cannot_be_made_durable_is_not_gone_over_to(tmp_path: Path) -> None:
    world = await prepared(tmp_path)

    def fail(path: Path) -> None:
        raise OSError(errno.EIO, "Input/output error", str(path))

    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(restore, "sync_file", fail)
            with pytest.raises(OperationFailed, match="'web' was not restored and is as it was: input/output error"):
                await _restore(world)
        assert await world.sh("get v") == "new\n"
        await whole(world)
    finally:
        await world.close()
