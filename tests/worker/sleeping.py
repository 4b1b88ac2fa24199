"""Orders to machines that sleep or are put to sleep, for the loops of faults: from which state, into which."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from openboxd.model import MachineStatus as S
from openboxd.worker.steps import no_fault
from tests.worker.world import OWNER, World

Action = Callable[[World], Awaitable[object]]


def when(status: S, action: Action) -> Action:
    """The action on machine `web` in this status; what brings it there is not failed."""

    async def act(world: World) -> None:
        fault, world.fault = world.fault, no_fault
        if status is S.SUSPENDED:
            await world.control.suspend_machine(OWNER, "web")
        elif status is S.HIBERNATED:
            await world.control.hibernate_machine(OWNER, "web")
        elif status is S.STOPPED:
            await world.control.stop_machine(OWNER, "web")
        world.fault = fault
        world.steps.clear()
        await action(world)

    return act


async def _suspend(world: World) -> None:
    await world.control.suspend_machine(OWNER, "web")


async def _resume(world: World) -> None:
    await world.control.resume_machine(OWNER, "web")


async def _hibernate(world: World) -> None:
    await world.control.hibernate_machine(OWNER, "web")


async def _wake(world: World) -> None:
    await world.control.wake_machine(OWNER, "web")


async def _restore(world: World) -> None:
    await world.control.restore_checkpoint(OWNER, "web", "good")


async def _stop(world: World) -> None:
    await world.control.stop_machine(OWNER, "web")


async def _destroy(world: World) -> None:
    await world.control.destroy_machine(OWNER, "web")


MOVES: dict[str, tuple[S, Action, S]] = {
    "suspend": (S.RUNNING, _suspend, S.SUSPENDED),
    "resume": (S.SUSPENDED, _resume, S.RUNNING),
    "hibernate": (S.RUNNING, _hibernate, S.HIBERNATED),
    "hibernate-suspended": (S.SUSPENDED, _hibernate, S.HIBERNATED),
    "wake": (S.HIBERNATED, _wake, S.RUNNING),
    "restore-suspended": (S.SUSPENDED, _restore, S.RUNNING),
    "restore-hibernated": (S.HIBERNATED, _restore, S.RUNNING),
    "restore-stopped": (S.STOPPED, _restore, S.RUNNING),
    "stop-suspended": (S.SUSPENDED, _stop, S.STOPPED),
}

ACTIONS: dict[str, Action] = {
    **{name: when(status, action) for name, (status, action, _) in MOVES.items()},
    "destroy-hibernated": when(S.HIBERNATED, _destroy),
}

FORWARD = {
    "hibernate": ("before end", "after end"),
    "hibernate-suspended": ("before end", "after end"),
    "wake": ("before show", "after show", "before drop", "after drop"),
    "restore-suspended": ("after swap", "before resume", "after resume"),
    "restore-hibernated": ("after swap", "before resume", "after resume"),
    "restore-stopped": ("after swap", "before resume", "after resume"),
}
"""Points after which an operation goes forward in spite of one failure."""

LATE = {"stop-suspended": (S.RUNNING,)}
"""States that a failure may leave besides the one before: what was to be stopped runs, as others do then."""


TURNS: dict[str, tuple[str, ...]] = {
    "suspend": ("show",),
    "resume": ("resume", "answer", "show"),
    "hibernate": ("show",),
    "hibernate-suspended": ("show",),
    "wake": ("own", "resume", "answer"),
    "stop-suspended": ("go on", "shut down", "end"),
}
"""Steps in which a killed daemon leaves the machine as it was or as it is to be; it is the first before, and the
second after. A restore has none of these: whoever kills at the swap finds it carried out."""


async def check_after_kill(world: World, name: str, point: str, passed: Sequence[str]) -> None:
    """The state that the next daemon has found it in, or brought it to; `passed` are the points of the operation."""
    before, _, after = MOVES[name]
    status, step = world.control.machine(OWNER, "web").status, point.split(" ", 1)[1]
    turns = TURNS.get(name, ())
    if step in turns:
        assert status in (before, after, *LATE.get(name, ())), point
    else:
        turn = next(i for i, p in enumerate(passed) if p.split(" ", 1)[1] in (turns or ("swap",)))
        assert status is (before if passed.index(point) < turn else after), point
    await check_value(world, restored=name.startswith("restore") and status is after)


async def check(world: World, name: str, point: str) -> None:
    """After a failure the machine is as it was before, or as it was to be where the operation goes forward."""
    before, _, after = MOVES[name]
    machine = await world.settled()
    if point in FORWARD.get(name, ()) or (name.startswith("restore") and point.endswith("answer")):
        assert machine.status is after, point
    else:
        assert machine.status in (before, after, *LATE.get(name, ())), point
        if name in ("suspend", "resume", "hibernate", "hibernate-suspended", "wake"):
            assert machine.status is before, point
    await check_value(world, restored=name.startswith("restore") and machine.status is after)


async def check_value(world: World, *, restored: bool = False) -> None:
    """What is only in memory is there, whatever the machine has to be woken from."""
    if world.control.machine(OWNER, "web").status in (S.RUNNING, S.SUSPENDED, S.HIBERNATED):
        assert await world.sh("get v") == ("old\n" if restored else "new\n")
        assert world.control.machine(OWNER, "web").status is S.RUNNING
