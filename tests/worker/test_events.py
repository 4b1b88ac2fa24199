"""The event log: every operation, its end, and what nobody ordered."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from openboxd.errors import BoxdError
from openboxd.model import Event, MachineStatus, Outcome
from tests.fakes.killing import DaemonKilled
from tests.worker.world import OWNER, World


def log(world: World, name: str = "web") -> list[Event]:
    return [event for event, _ in world.control.events(OWNER, name, 0)]


def lines(world: World) -> list[tuple[str, str, Outcome]]:
    return [(event.operation, event.detail, event.outcome) for event in log(world)]


async def until(condition: Callable[[], bool]) -> None:
    for _ in range(6000):
        if condition():
            return
        await asyncio.sleep(0.005)
    raise TimeoutError


async def test_every_operation_is_recorded_with_who_and_how_long(world: World) -> None:
    await world.machine()
    await world.save("a")
    await world.control.restore_checkpoint(OWNER, "web", "a")
    await world.control.remove_checkpoint(OWNER, "web", "a")
    await world.control.reboot_machine(OWNER, "web")
    await world.control.stop_machine(OWNER, "web")
    await world.control.start_machine(OWNER, "web")
    wanted = [("start", ""), ("save", "a"), ("restore", "a"), ("remove", "a"), ("reboot", ""), ("stop", "")]
    assert lines(world) == [(*each, Outcome.OK) for each in [*wanted, ("start", "")]]
    events = log(world)
    assert {event.actor for event in events} == {OWNER.user_id}
    assert [name for _, name in world.control.events(OWNER, "web", 2)] == ["ada", "ada"]
    assert all(event.duration_ms >= 0 and not event.error for event in events)
    assert [event.at_ms for event in events] == sorted(event.at_ms for event in events)


async def test_a_failed_operation_is_recorded_with_its_sentence(world: World) -> None:
    await world.machine()

    def fault(point: str) -> None:
        if point == "before publish":
            raise OSError("on purpose")

    world.fault = fault
    await world.control.save_checkpoint(OWNER, "web", "a")
    await world.settled()
    event = log(world)[-1]
    assert (event.operation, event.detail, event.outcome) == ("save", "a", Outcome.FAILED)
    assert event.error.endswith("checkpoint 'a' was not saved: on purpose")


async def test_a_refused_order_is_no_event(world: World) -> None:
    await world.machine()
    with pytest.raises(BoxdError):
        await world.control.restore_checkpoint(OWNER, "web", "nothing")
    assert [event.operation for event in log(world)] == ["start"]


async def test_an_end_that_nobody_ordered_is_recorded(world: World) -> None:
    await world.machine()
    (process,) = world.host.alive()
    process.exit(False, "QEMU was killed by signal 9")
    await world.seen(MachineStatus.FAILED)
    await until(lambda: len(log(world)) == 2)
    event = log(world)[-1]
    assert (event.operation, event.actor, event.outcome) == ("run ended", "", Outcome.FAILED)
    assert event.error == "QEMU was killed by signal 9"


async def test_what_a_restarted_daemon_puts_in_order_is_recorded(world: World) -> None:
    await world.machine()
    world.fault = world.switch.killing_at("before publish")
    await world.control.save_checkpoint(OWNER, "web", "a")
    await until(lambda: world.switch.dead)
    world.drop()
    for process in world.host.alive():
        process.exit(False, "QEMU was killed by signal 9")
    world.fault = lambda point: None
    await world.start()
    assert [(operation, detail) for operation, detail, _ in lines(world)] == [
        ("start", ""),
        ("save", "a"),
        ("run ended", ""),
    ]
    assert all(event.outcome is Outcome.FAILED and event.actor == "" for event in log(world)[1:])


async def test_a_machine_of_the_same_name_has_a_log_of_its_own(world: World) -> None:
    await world.machine()
    await world.control.destroy_machine(OWNER, "web")
    await world.machine()
    assert [event.operation for event in log(world)] == ["start"]


def test_the_switch_is_no_ordinary_error() -> None:
    """A killed daemon writes no event: nothing that handles errors sees its end."""
    assert not issubclass(DaemonKilled, Exception)
