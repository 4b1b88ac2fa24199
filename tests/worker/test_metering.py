"""What machines used: exact over operations, daemons that end, and hosts that die; and what they weigh."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from openboxd.model import MIB, MachineStatus, UsageSpan
from openboxd.store import usage
from openboxd.worker.metering import Meter
from tests.fakes.killing import DaemonKilled
from tests.worker.world import OWNER, World

HOUR = 3_600_000
FOREVER = 10**15


class Clock:
    """The time that spans are written with."""

    def __init__(self) -> None:
        self.now = 1_000 * HOUR

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    clock = Clock()
    monkeypatch.setattr(usage, "now_ms", clock)
    return clock


def spans(world: World) -> list[UsageSpan]:
    machines = world.store.machines_of(OWNER.user_id)
    return list(world.store.usage_spans([machine.id for machine in machines], 0, FOREVER))


def daemon_killed(world: World) -> None:
    with pytest.raises(DaemonKilled):
        world.switch.kill()
    world.drop()


def hours(world: World, clock: Clock) -> list[tuple[str, float]]:
    """States with the hours they lasted, oldest first; those that took no time are not told."""
    lengths = [(span.state, (span.end_ms - span.start_ms) / HOUR) for span in spans(world)]
    return [(state, length) for state, length in lengths if length]


async def test_states_follow_the_operations(world: World, clock: Clock) -> None:
    await world.machine()
    clock.now += 2 * HOUR
    await world.save("one")
    await world.control.restore_checkpoint(OWNER, "web", "one")  # it counts as running all the time
    clock.now += 1 * HOUR
    await world.control.stop_machine(OWNER, "web")
    clock.now += 4 * HOUR
    await world.control.resize_machine(OWNER, "web", 2, 1024 * MIB)
    clock.now += 1 * HOUR
    await world.control.start_machine(OWNER, "web")
    clock.now += 3 * HOUR
    await world.control.destroy_machine(OWNER, "web")
    clock.now += 100 * HOUR
    assert hours(world, clock) == [("running", 3), ("stopped", 4), ("stopped", 1), ("running", 3)]
    assert [span.size.vcpu for span in spans(world) if span.end_ms > span.start_ms] == [1, 1, 2, 2]
    assert not any(span.is_open for span in spans(world))


async def test_a_machine_that_ran_on_while_the_daemon_was_killed_has_used_that_time(
    world: World, clock: Clock
) -> None:
    await world.machine()
    clock.now += HOUR
    await world.store.beat_usage()
    clock.now += HOUR  # the daemon lives, and nobody has noted that
    daemon_killed(world)
    clock.now += 5 * HOUR
    await world.start()
    assert hours(world, clock) == [("running", 7)]
    clock.now += HOUR
    await world.control.stop_machine(OWNER, "web")
    assert hours(world, clock) == [("running", 8)]


async def test_a_host_that_died_ended_it_at_the_last_sign_of_life(world: World, clock: Clock) -> None:
    await world.machine()
    await world.machine("idle")
    await world.control.stop_machine(OWNER, "idle")
    clock.now += HOUR
    await world.store.beat_usage()
    clock.now += HOUR
    await world.stop()
    for process in world.host.alive():
        process.crash("the host went down")
    world.host_boot = "boot 2"
    clock.now += 50 * HOUR
    await world.start()
    await world.seen(MachineStatus.RUNNING)
    clock.now += HOUR
    await world.store.beat_usage()
    by_machine = {m.id: m.name for m in world.store.machines()}
    told = [(by_machine[s.machine_id], s.state, (s.end_ms - s.start_ms) / HOUR) for s in spans(world)]
    assert sorted(row for row in told if row[2]) == [
        ("idle", "stopped", 53),
        ("web", "running", 1),
        ("web", "running", 1),
    ]


async def test_a_run_that_ended_unseen_is_counted_until_it_was_last_seen(world: World, clock: Clock) -> None:
    await world.machine()
    clock.now += HOUR
    await world.store.beat_usage()
    await world.stop()
    for process in world.host.alive():
        process.crash("the host went down")
    clock.now += 9 * HOUR
    await world.start()
    assert world.control.machine(OWNER, "web").status is MachineStatus.FAILED
    clock.now += HOUR
    await world.store.beat_usage()
    assert hours(world, clock) == [("running", 1), ("stopped", 1)]


async def test_a_clock_that_is_set_back_takes_nothing_away(world: World, clock: Clock) -> None:
    await world.machine()
    clock.now += HOUR
    await world.store.beat_usage()
    clock.now -= 30 * HOUR
    await world.control.stop_machine(OWNER, "web")
    assert [span.end_ms >= span.start_ms for span in spans(world)].count(False) == 0
    assert hours(world, clock) == [("running", 1)]


async def test_a_machine_that_cannot_be_weighed_keeps_nobody_else_from_it(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    broken, whole = await world.machine(), await world.machine("db")
    weigh = type(world.pool).weigh

    def failing(pool: Any, own: Sequence[Path], beyond: Sequence[Path] = ()) -> int:
        if broken.id in str(own[0]):
            raise OSError("an error of the disk")
        return weigh(pool, own, beyond)

    monkeypatch.setattr(type(world.pool), "weigh", failing)
    meter = Meter(world.store, world.pool)
    await meter.round()
    assert f"machine {broken.id} was not weighed: an error of the disk" in caplog.text
    assert {name: weight > 0 for name, weight in world.store.weights([broken.id, whole.id]).items()} == {
        broken.id: False,
        whole.id: True,
    }
    monkeypatch.undo()
    await meter.round()  # it is tried again
    assert world.store.weights([broken.id])[broken.id] > 0


async def test_weights_follow_the_checkpoints_and_end_with_the_machine(world: World, clock: Clock) -> None:
    machine = await world.machine()
    meter = Meter(world.store, world.pool)
    await meter.round()
    before = spans(world)[-1]
    assert (before.checkpoint_bytes, before.disk_bytes > 0) == (0, True)
    clock.now += HOUR
    await meter.round()  # nothing has changed: nothing is written
    assert len([span for span in spans(world) if span.end_ms > span.start_ms]) == 1
    await world.save("one")
    await meter.round()
    heavy = spans(world)[-1]
    capture = world.pool.checkpoint_dir(machine.id, world.store.checkpoints(machine.id)[0].id)
    assert heavy.checkpoint_bytes == world.pool.weigh([capture]) > 0
    clock.now += HOUR
    await world.control.remove_checkpoint(OWNER, "web", "one")
    await meter.round()
    assert spans(world)[-1].checkpoint_bytes == 0
    assert world.store.weights([machine.id]) == {machine.id: spans(world)[-1].disk_bytes}
    await world.save("two")
    await meter.round()
    clock.now += HOUR
    await world.control.destroy_machine(OWNER, "web")
    clock.now += HOUR
    await meter.round()
    assert world.store.weights([machine.id]) == {}
    lasted = [(span.checkpoint_bytes > 0, (span.end_ms - span.start_ms) / HOUR) for span in spans(world)]
    assert [row for row in lasted if row[1]] == [(False, 1), (True, 1), (True, 1)]
