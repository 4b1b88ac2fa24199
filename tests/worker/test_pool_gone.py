"""A pool whose filesystem was unmounted behind the daemon: nothing is done to it, and one sentence says why."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager

import pytest

from openboxd.api.ports import NewMachine
from openboxd.errors import HostUnfit
from openboxd.host.home import check_pool_holds
from openboxd.model import MIB
from openboxd.settings import Settings
from tests.worker.test_faults import prepared
from tests.worker.world import OWNER, World


@pytest.fixture
async def world(tmp_path) -> AsyncIterator[World]:
    world = await prepared(tmp_path, "snapshot")
    yield world
    await world.close()


@contextmanager
def unmounted(world: World) -> Iterator[None]:
    """What an unmounted filesystem leaves: its bare mount point."""
    away = world.home / "away"
    world.pool.root.rename(away)
    world.pool.root.mkdir()
    try:
        yield
    finally:
        world.pool.root.rmdir()  # nothing was made in it
        away.rename(world.pool.root)


async def _verify(world: World) -> None:
    async for _ in world.control.verify_checkpoint(OWNER, "web", "good"):
        pass


ORDERS: dict[str, Callable[[World], Awaitable[object]]] = {
    "save": lambda world: world.control.save_checkpoint(OWNER, "web", "new"),
    "restore": lambda world: world.control.restore_checkpoint(OWNER, "web", "good"),
    "remove": lambda world: world.control.remove_checkpoint(OWNER, "web", "good"),
    "verify": _verify,
    "snapshot": lambda world: world.control.save_snapshot(OWNER, "web", "fresh"),
    "remove snapshot": lambda world: world.control.remove_snapshot(OWNER, "base"),
    "from snapshot": lambda world: world.control.create_from_snapshot(OWNER, "base", NewMachine(name="copy")),
    "reboot": lambda world: world.control.reboot_machine(OWNER, "web"),
    "destroy": lambda world: world.control.destroy_machine(OWNER, "web"),
    "new": lambda world: world.control.create_machine(
        OWNER, NewMachine(name="other", vcpu=1, memory_bytes=512 * MIB)
    ),
}


@pytest.mark.parametrize("name", ORDERS)
async def test_everything_is_refused_and_nothing_is_lost(world: World, name: str) -> None:
    with unmounted(world), pytest.raises(HostUnfit, match=r"the pool at .* is not mounted any more"):
        await ORDERS[name](world)
    assert await world.sh("get v") == "new\n"
    assert [machine.name for machine in world.control.machines(OWNER)] == ["web"]
    await world.control.restore_checkpoint(OWNER, "web", "good")
    assert await world.sh("get v; read file") == "old\nold"
    assert world.leftovers() == []


def test_a_daemon_does_not_start_on_the_bare_mount_point(world: World) -> None:
    settings = Settings(home=world.home)
    check_pool_holds(settings, world.store.machines())
    with unmounted(world), pytest.raises(HostUnfit, match="holds none of the 1 machines on record"):
        check_pool_holds(settings, world.store.machines())


def test_a_pool_is_where_it_was_opened(world: World) -> None:
    world.pool.check()
    with unmounted(world):
        with pytest.raises(HostUnfit, match="mount it, or restart boxd"):
            world.pool.check()
        world.pool.root.rmdir()
        with pytest.raises(HostUnfit):
            world.pool.check()
        world.pool.root.mkdir()
