"""Clients repeat a call that was UNAVAILABLE: nothing that has begun may end so, wherever its trouble came from."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from openboxd.control.control import Control
from openboxd.errors import BoxdError, Unavailable
from tests.worker.world import OWNER, World

CALLS: dict[str, Callable[[Control, str], Awaitable[object]]] = {
    "stop": lambda control, ref: control.stop_machine(OWNER, ref),
    "reboot": lambda control, ref: control.reboot_machine(OWNER, ref),
    "restore": lambda control, ref: control.restore_checkpoint(OWNER, ref, "a"),
    "remove": lambda control, ref: control.remove_checkpoint(OWNER, ref, "a"),
    "destroy": lambda control, ref: control.destroy_machine(OWNER, ref),
}


@pytest.mark.parametrize("name", CALLS)
async def test_no_operation_ends_unavailable(world: World, name: str) -> None:
    async def attempt(at: int) -> tuple[BoxdError | None, int]:
        """The outcome with the store out of reach at the given step, and how many steps there were."""
        machine = f"{name}-{at}"
        await world.machine(machine)
        await world.save("a", machine)
        world.steps.clear()

        def fault(point: str) -> None:
            if len(world.steps) == at:
                raise Unavailable("another program holds the database; nothing was changed; try again")

        world.fault = fault
        try:
            await CALLS[name](world.control, machine)
        except BoxdError as error:
            return error, len(world.steps)
        finally:
            world.fault = lambda point: None
        return None, len(world.steps)

    _, steps = await attempt(10_000)
    assert steps > 0
    outcomes = [(await attempt(at))[0] for at in range(1, steps + 1)]
    assert any(outcomes)
    assert not [error for error in outcomes if isinstance(error, Unavailable)]
