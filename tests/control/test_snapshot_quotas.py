"""Snapshots count against the quota of whom they belong to, whosesoever machine they are saved from."""

from __future__ import annotations

import asyncio

from openboxd.errors import Exhausted
from openboxd.model import MIB, Quota
from tests.control.conftest import People
from tests.control.test_access import make, shared
from tests.control.test_orgs import refused
from tests.worker.world import LIMIT


async def test_two_that_are_saved_from_machines_of_another_do_not_exceed_together(people: People) -> None:
    control, host = people.world.control, people.world.host
    await shared(people)
    await make(people, "db", org="team", shared=True)
    await people.world.store.set_quota(people.bob.user_id, Quota(pool_bytes=700 * MIB))  # one may take 512 MiB
    with host.hold("save memory") as hold:
        await control.save_snapshot(people.bob, "web", "one")
        await hold.reached()
        assert control.account(people.bob).used.pool_bytes >= 512 * MIB
        assert control.account(people.owner).used.pool_bytes < 512 * MIB
        await refused(Exhausted, control.save_snapshot(people.bob, "db", "two"), "of disks and checkpoints")
    async with asyncio.timeout(LIMIT):
        await control.snapshot_done(people.bob, "one")
    await control.save_snapshot(people.bob, "db", "two")  # it took much less


async def test_what_was_saved_before_is_weighed(people: People) -> None:
    control = people.world.control
    await shared(people)
    await people.world.store.set_quota(people.bob.user_id, Quota(pool_bytes=513 * MIB))
    await control.save_snapshot(people.bob, "web", "one")
    found = (await control.snapshot_done(people.bob, "one")).snapshot
    (people.world.pool.snapshot_dir(found.id, found.version) / "memory.img").write_bytes(bytes(range(256)) * 8192)
    await people.world.settled("web")
    await refused(Exhausted, control.save_snapshot(people.bob, "web", "two"), "of disks and checkpoints")
