"""What a scrape of the metrics counts, how long it may take, and what it tells of a pool that does not answer."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from openboxd.control import inventory
from openboxd.model import Usage
from tests.worker.test_pool_gone import unmounted
from tests.worker.world import LIMIT, OWNER, World


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    world = World(tmp_path)
    world.warm = True
    await world.start()
    yield world
    await world.close()


async def scraped(world: World) -> dict[str, float]:
    """Samples by name and the values of their labels, in the order of these."""
    async with asyncio.timeout(LIMIT):
        text = (await world.control.metrics()).decode()
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    return {
        " ".join((sample.name, *(sample.labels[name] for name in sorted(sample.labels)))): sample.value
        for sample in samples
    }


async def test_every_status_is_told_also_that_nothing_is_in_it(world: World) -> None:
    empty = await scraped(world)
    states = {"pending", "starting", "running", "suspended", "hibernated", "stopped", "failed", "destroying"}
    assert {name.split()[1]: value for name, value in empty.items() if name.startswith("boxd_machines ")} == (
        dict.fromkeys(states, 0)
    )
    await world.machine()
    assert (await scraped(world))["boxd_machines running"] == 1
    await world.control.stop_machine(OWNER, "web")
    await world.settled()
    after = await scraped(world)
    assert (after["boxd_machines running"], after["boxd_machines stopped"]) == (0, 1)


async def test_all_that_holds_bytes_is_counted(world: World) -> None:
    await world.machine()
    await world.machine("sleeper")
    await world.save("a")
    await world.snapshot("base")
    await world.control.hibernate_machine(OWNER, "sleeper")
    await world.settled("sleeper")
    found = await scraped(world)
    own = {name.split()[2] for name, value in found.items() if name.startswith("boxd_pool_held_bytes own") and value}
    assert own == {"disk", "checkpoint", "hibernated", "snapshot", "image", "template"}
    pool, machine = world.pool, world.control.machine(OWNER, "web")
    (checkpoint,) = world.store.checkpoints(machine.id)
    expected = pool.usage(pool.checkpoint_dir(machine.id, checkpoint.id))
    assert found["boxd_pool_held_bytes own checkpoint"] == expected.exclusive_bytes > 0
    assert found["boxd_pool_held_bytes shared checkpoint"] == 0, "on this pool nothing is shared"
    assert found["boxd_pool_held_timestamp_seconds"] > 0
    assert 0 < found["boxd_pool_free_bytes"] < found["boxd_pool_size_bytes"]


async def test_a_count_holds_for_a_while(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    await world.machine()
    await scraped(world)
    await world.save("a")
    assert (await scraped(world))["boxd_pool_held_bytes own checkpoint"] == 0
    monkeypatch.setattr(inventory, "HELD_EVERY", 0.0)
    assert (await scraped(world))["boxd_pool_held_bytes own checkpoint"] > 0


def held_up(world: World, monkeypatch: pytest.MonkeyPatch) -> tuple[threading.Event, list[Path]]:
    """A pool that tells no usage until the event, and what it was asked for; nobody has the patience to wait."""
    go_on, asked = threading.Event(), []

    def usage(path: Path) -> Usage:
        asked.append(path)
        assert go_on.wait(LIMIT)
        return Usage(5, 7)

    monkeypatch.setattr(world.pool, "usage", usage)
    monkeypatch.setattr(inventory, "PATIENCE", 0.01)
    return go_on, asked


async def test_nobody_waits_for_a_count_that_takes_long(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    await world.machine()
    go_on, asked = held_up(world, monkeypatch)
    try:
        for _ in range(3):
            found = await scraped(world)
            assert (found["boxd_machines running"], found["boxd_pool_held_timestamp_seconds"]) == (1, 0)
        assert len(asked) == 1, "one count at a time"
    finally:
        go_on.set()
    monkeypatch.setattr(inventory, "PATIENCE", LIMIT)
    found = await scraped(world)
    assert (found["boxd_pool_held_bytes own disk"], found["boxd_pool_held_bytes shared disk"]) == (5, 7)


async def test_a_daemon_that_stops_waits_for_no_count(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    await world.machine()
    go_on, asked = held_up(world, monkeypatch)
    try:
        await scraped(world)
        async with asyncio.timeout(LIMIT):
            await world.stop()
    finally:
        go_on.set()
    await world.start()
    assert len(asked) == 1


async def test_what_a_pool_that_is_gone_would_tell_is_left_as_it_was(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.machine()
    monkeypatch.setattr(inventory, "HELD_EVERY", 0.0)
    before = await scraped(world)
    with unmounted(world):
        gone = await scraped(world)
    told = {name for name in before if name.startswith("boxd_pool_")}
    assert len(told) == 15
    assert {name: gone[name] for name in told} == {name: before[name] for name in told}
    assert gone["boxd_errors_total scrape HostUnfit"] == 2, "its size, and what holds its bytes"
