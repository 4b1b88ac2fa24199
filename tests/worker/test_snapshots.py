"""Snapshots over a fake host: saved, replaced, removed; what becomes of them when their machine goes."""

from __future__ import annotations

import asyncio

import pytest

from openboxd.api.ports import NewMachine
from openboxd.errors import AlreadyExists, BoxdError, Busy, InvalidArgument, NotFound, WrongState
from openboxd.host import digests
from openboxd.model import MIB, Caller, CheckpointStatus, Machine, MachineStatus, SnapshotStatus, Verification
from openboxd.worker import manifest
from openboxd.worker.housekeeping import FAILED_KEPT_MS, one_round
from tests.worker.world import LIMIT, OWNER, World

OTHER = Caller("u_other", "key_other")


def kept(world: World) -> list[str]:
    """The versions that lie in the pool."""
    return sorted(path.name for path in (world.pool.root / "snapshots").glob("*/*"))


async def test_a_snapshot_is_a_sealed_capture_on_record(world: World) -> None:
    machine = await world.machine()
    await world.control.update_labels(OWNER, "web", {"role": "base"}, [], replace_all=False)
    pending = await world.control.save_snapshot(OWNER, "web", "base")
    assert (pending.status, pending.version) == (SnapshotStatus.PENDING, 0)
    view = await world.control.snapshot_done(OWNER, "base")
    found = view.snapshot
    assert (found.id, found.status, found.version) == (pending.id, SnapshotStatus.READY, 1)
    assert (found.source_id, found.source_name, found.image) == (machine.id, "web", machine.image)
    assert (found.size, dict(found.labels)) == (machine.size, {"role": "base"})
    assert found.created_at_ms and found.updated_at_ms and found.duration_ms
    capture = world.pool.snapshot_dir(found.id, 1)
    manifest.read(capture, "it")
    _, content = manifest.load(capture)
    assert [digests.damages(capture, name, content[name]) for name in manifest.FILES] == [[], [], []]
    assert view.usage.exclusive_bytes + view.usage.shared_bytes > 0
    assert (await world.control.snapshot_view(OWNER, found.id)).snapshot == found
    assert [event.operation for event, _ in world.control.events(OWNER, "web", 0)] == ["start", "snapshot"]
    assert world.leftovers() == []


async def test_saving_again_makes_a_version_and_keeps_the_newest(world: World) -> None:
    await world.machine()
    first = await world.snapshot("base")
    await world.sh("set v new")
    again = await world.control.save_snapshot(OWNER, "web", "base")
    assert (again.id, again.version, again.status) == (first.id, 1, SnapshotStatus.PENDING)
    second = (await world.control.snapshot_done(OWNER, "base")).snapshot
    assert (second.version, second.id) == (2, first.id)
    assert second.created_at_ms == first.created_at_ms and second.updated_at_ms >= first.updated_at_ms
    assert kept(world) == ["v2"] and world.leftovers() == []


async def test_a_version_that_fails_leaves_the_one_before(world: World) -> None:
    await world.machine()
    first = await world.snapshot("base")

    def full(point: str) -> None:
        if point == "before describe":
            raise WrongState("the pool is full")

    world.fault = full
    await world.control.save_snapshot(OWNER, "web", "base")
    found = (await world.control.snapshot_done(OWNER, "base")).snapshot
    assert (found.status, found.version, found.failed_version) == (SnapshotStatus.READY, 1, 2)
    assert found.failure_reason == "the pool is full" and found.source_id == first.source_id
    assert kept(world) == ["v1"] and world.leftovers() == []
    world.fault = lambda point: None
    found = await world.snapshot("base")
    assert (found.version, found.failed_version, found.failure_reason) == (2, 0, "")


async def test_a_first_version_that_fails_leaves_a_row_for_an_hour_and_the_name_free(world: World) -> None:
    await world.machine()

    def broken(point: str) -> None:
        if point == "before publish":
            raise OSError("on purpose")

    world.fault = broken
    await world.control.save_snapshot(OWNER, "web", "base")
    failed = (await world.control.snapshot_done(OWNER, "base")).snapshot
    assert (failed.status, failed.version, failed.failed_version) == (SnapshotStatus.FAILED, 0, 1)
    assert world.leftovers() == []
    now = failed.tried_at_ms
    await one_round(world.store, world.pool, now)
    assert [view.snapshot.name for view in await world.control.snapshots(OWNER)] == ["base"]
    world.fault = lambda point: None
    found = await world.snapshot("base")
    assert (found.version, found.id != failed.id) == (1, True)
    await one_round(world.store, world.pool, now + FAILED_KEPT_MS + 10_000)
    assert len(await world.control.snapshots(OWNER)) == 1, "only failed ones are forgotten"


async def test_a_machine_that_is_removed_meanwhile_fails_it_and_the_name_is_free(world: World) -> None:
    await world.machine()
    with world.host.hold("save disk") as hold:
        await world.control.save_snapshot(OWNER, "web", "base")
        await hold.reached()
        waiting = asyncio.ensure_future(world.control.snapshot_done(OWNER, "base"))
        await world.control.destroy_machine(OWNER, "web")
        assert (await waiting).snapshot.status is SnapshotStatus.FAILED
    found = (await world.control.snapshot_done(OWNER, "base")).snapshot
    assert (found.status, found.failure_reason) == (SnapshotStatus.FAILED, "machine 'web' was removed meanwhile")
    assert world.leftovers() == []
    await world.machine("shop")
    assert (await world.snapshot("base", "shop")).source_name == "shop"


async def test_it_outlives_its_machine_and_keeps_the_image(world: World) -> None:
    await world.machine()
    found = await world.snapshot("base")
    await world.control.destroy_machine(OWNER, "web")
    assert (await world.control.snapshot_view(OWNER, "base")).snapshot == found
    manifest.read(world.pool.snapshot_dir(found.id, 1), "it")
    with pytest.raises(WrongState, match="it is used by snapshot 'base'; remove them first"):
        await world.control.remove_image(OWNER, "debian-13")
    await world.control.remove_snapshot(OWNER, "base")
    await world.control.remove_image(OWNER, "debian-13")
    assert kept(world) == [] and world.leftovers() == []


async def test_only_its_owner_sees_it_and_names_are_theirs(world: World) -> None:
    await world.machine()
    found = await world.snapshot("base")
    for ref in ("base", found.id):
        with pytest.raises(NotFound, match=r"^snapshot not found$"):
            world.control.snapshot(OTHER, ref)
        with pytest.raises(NotFound, match=r"^snapshot not found$"):
            await world.control.remove_snapshot(OTHER, ref)
    assert await world.control.snapshots(OTHER) == []
    with pytest.raises(NotFound, match="VM 'web' not found"):
        await world.control.save_snapshot(OTHER, "web", "mine")


@pytest.mark.parametrize("name", ["", "Up", "a/b", "../x", "-a", "a" * 64, "a\n", "snap_" + "a" * 20])
async def test_a_name_that_is_none_is_refused(world: World, name: str) -> None:
    await world.machine()
    with pytest.raises(InvalidArgument):
        await world.control.save_snapshot(OWNER, "web", name)
    assert await world.control.snapshots(OWNER) == []


async def test_what_does_not_run_is_not_saved(world: World) -> None:
    await world.machine()
    await world.control.stop_machine(OWNER, "web")
    with pytest.raises(WrongState, match="machine 'web' must be running to save a snapshot; it is stopped"):
        await world.control.save_snapshot(OWNER, "web", "base")
    assert await world.control.snapshots(OWNER) == []


async def test_while_one_is_saved_the_name_and_the_machine_are_busy(world: World) -> None:
    await world.machine()
    await world.machine("shop")
    with world.host.hold("save memory"):
        await world.control.save_snapshot(OWNER, "web", "base")
        with pytest.raises(Busy, match="machine 'web' is busy: save of snapshot 'base' is running"):
            await world.control.save_snapshot(OWNER, "web", "other")
        with pytest.raises(Busy, match="snapshot 'base' is being saved from machine 'web'"):
            await world.control.save_snapshot(OWNER, "shop", "base")
        with pytest.raises(Busy, match="snapshot 'base' is being saved from machine 'web'"):
            await world.control.remove_snapshot(OWNER, "base")
    assert (await world.control.snapshot_done(OWNER, "base")).snapshot.version == 1
    await world.settled("shop")
    assert world.leftovers() == []


async def test_one_that_is_in_use_is_not_removed_and_an_older_version_waits(world: World) -> None:
    await world.machine()
    found = await world.snapshot("base")
    capture = world.pool.snapshot_dir(found.id, 1)
    async with world.drivers.holds.hold(capture, "machine 'copy' is being made from it"):
        with pytest.raises(Busy, match="snapshot 'base' was not removed: machine 'copy' is being made from it"):
            await world.control.remove_snapshot(OWNER, "base")
        await world.snapshot("base")
        manifest.read(capture, "what is held is still there")
    assert kept(world) == ["v2"]
    await world.control.remove_snapshot(OWNER, "base")
    assert world.leftovers() == []


async def test_a_save_shares_with_the_snapshot_that_is_nearest_and_keeps_it_meanwhile(world: World) -> None:
    await world.machine()
    await world.sh(f"set v {'x' * 5000}")
    await world.snapshot("base")
    await made(world)
    assert (await world.snapshot("base")).version == 2, "which shares with the one before"
    with world.host.hold("save memory") as hold:
        await world.control.save_checkpoint(OWNER, "copy", "own")
        await hold.reached()
        with pytest.raises(Busy, match="snapshot 'base' was not removed: a save of machine 'copy' shares with it"):
            await world.control.remove_snapshot(OWNER, "base")
    view = await world.control.checkpoint_done(OWNER, "copy", "own")
    assert view.checkpoint.status is CheckpointStatus.READY
    assert view.checkpoint.written_bytes < 5000, "what has not changed since is not written again"
    await world.settled("copy")
    await world.control.remove_snapshot(OWNER, "base")
    await world.control.restore_checkpoint(OWNER, "copy", "own")
    assert await world.sh("get v", "copy") == "x" * 5000 + "\n" and world.leftovers() == []


async def test_a_caller_who_leaves_changes_nothing(world: World) -> None:
    await world.machine()
    saving = asyncio.ensure_future(world.control.save_snapshot(OWNER, "web", "base"))
    await asyncio.sleep(0)
    saving.cancel()
    await asyncio.wait([saving])
    await world.settled()
    assert (await world.control.snapshot_done(OWNER, "base")).snapshot.version == 1


@pytest.mark.parametrize("write", ["begin_snapshot", "update_snapshot", "begin_operation"])
async def test_a_store_that_cannot_write_leaves_nothing(
    world: World, write: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.machine()

    async def full(*arguments: object, **values: object) -> None:
        raise WrongState("boxd's database cannot be written: the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(world.store, write, full)
        with pytest.raises(BoxdError, match="disk is full"):
            await world.control.save_snapshot(OWNER, "web", "base")
            async with asyncio.timeout(LIMIT):
                await world.settled()
            view = await world.control.snapshot_done(OWNER, "base")
            raise WrongState(f"the disk is full: {view.snapshot.failure_reason}")
    world.switch.dead = True
    world.drop()
    await world.start()
    assert world.leftovers() == []
    assert (await world.snapshot("base")).version == 1


async def test_an_older_database_put_back_costs_no_snapshot(world: World) -> None:
    await world.machine()
    found = await world.snapshot("base")
    await world.snapshot("other")
    newer = world.pool.snapshot_dir(found.id, 2)
    world.pool.snapshot_dir(found.id, 1).rename(newer)
    unknown = world.pool.snapshot_dir("snap_" + "z" * 20, 3)
    unknown.mkdir(parents=True)
    await world.stop()
    await world.start()
    assert newer.exists() and unknown.exists(), "nobody has begun anything with these"


# -- machines made from one


async def made(world: World, name: str = "copy", ref: str = "base", **values: object) -> Machine:
    """A machine made from a snapshot, once nothing is under way."""
    await world.control.create_from_snapshot(OWNER, ref, NewMachine(name=name, **values))  # type: ignore[arg-type]
    return await world.settled(name)


async def test_a_machine_goes_on_where_the_snapshot_was_saved_as_another_one(world: World) -> None:
    source = await world.machine()
    await world.control.update_labels(OWNER, "web", {"role": "base", "tier": "1"}, [], replace_all=False)
    await world.control.set_idle_ignore_outbound(OWNER, "web", enabled=True)
    await world.sh("set v old; write file old")
    found = await world.snapshot("base")
    await world.sh("set v new; write file new")
    await world.control.destroy_machine(OWNER, "web")
    copy = await made(world, labels={"role": "copy"})
    assert copy.status is MachineStatus.RUNNING
    assert await world.sh("get v", "copy") == "old\n" and await world.sh("read file", "copy") == "old"
    assert (copy.name, copy.size, dict(copy.labels)) == ("copy", source.size, {"role": "copy", "tier": "1"})
    assert (copy.source, copy.source_id, copy.idle_ignore_outbound) == ("snapshot/base:v1", found.id, True)
    assert not {copy.id, copy.mac} & {source.id, source.mac}
    second = await made(world, "second", found.id)
    await world.sh("set v mine; write file mine", "copy")
    assert await world.sh("get v", "second") == "old\n" and await world.sh("read file", "second") == "old"
    assert second.address != copy.address
    assert (await world.control.snapshot_view(OWNER, "base")).use_count == 2
    await world.control.remove_snapshot(OWNER, "base")
    await world.save("own", "copy")
    await world.control.restore_checkpoint(OWNER, "copy", "own")
    assert await world.sh("get v", "copy") == "mine\n" and world.leftovers() == []


async def test_settings_go_along_and_isolation_for_good(world: World) -> None:
    machine = await world.machine()
    settings = {"auto_suspend_secs": 60, "auto_hibernate_secs": 600, "idle_ignore_outbound": True}
    await world.store.update_machine(machine.id, isolated=True, networks=("back",), **settings)
    await world.snapshot("base")
    same = await made(world)
    assert {name: getattr(same, name) for name in settings} == settings
    assert (same.isolated, same.networks) == (True, ("back",))
    new = NewMachine(name="other", auto_suspend_secs=0, auto_hibernate_secs=900)
    await world.control.create_from_snapshot(OWNER, "base", new, given=["auto_suspend_secs", "auto_hibernate_secs"])
    other = await world.settled("other")
    assert (other.auto_suspend_secs, other.auto_hibernate_secs, other.idle_ignore_outbound) == (0, 900, True)
    assert other.isolated, "what was isolated stays so, whatever is asked for"


async def test_a_version_may_be_named_and_only_the_newest_is_there(world: World) -> None:
    await world.machine()
    await world.snapshot("base")
    await world.sh("set v new")
    await world.snapshot("base")
    for ref in ("base:v1", "base:1", "base:v3", "base:"):
        with pytest.raises(WrongState, match="only the newest is kept, which is 2"):
            await made(world, ref=ref)
    assert (await made(world, ref="base:v2")).source == "snapshot/base:v2"
    assert (await made(world, "second", "base:2")).source == "snapshot/base:v2"
    with pytest.raises(NotFound, match="snapshot not found"):
        await made(world, ref="ghost:v1")


async def test_a_copy_has_the_captured_hardware(world: World) -> None:
    await world.machine()
    await world.snapshot("base")
    with pytest.raises(InvalidArgument, match=r"has its hardware \(1 vCPU, 0.5 GiB of memory"):
        await made(world, vcpu=2)
    with pytest.raises(AlreadyExists):
        await made(world, "web")
    await made(world, vcpu=1, memory_bytes=512 * MIB)
    assert {machine.name for machine in world.control.machines(OWNER)} == {"web", "copy"}


async def test_nothing_is_made_from_what_is_not_ready(world: World) -> None:
    await world.machine()
    with world.host.hold("save memory"):
        await world.control.save_snapshot(OWNER, "web", "base")
        with pytest.raises(WrongState, match="snapshot 'base' is pending; machines can be made from it once it is"):
            await made(world)
    await world.control.snapshot_done(OWNER, "base")
    await world.settled()
    with world.host.hold("save memory"):
        await world.control.save_snapshot(OWNER, "web", "base")
        assert (await made(world)).source == "snapshot/base:v1", "the version before can be used meanwhile"
    await world.settled()
    assert world.leftovers() == []


@pytest.mark.parametrize("file", ["memory.img", "devices.state", "manifest.json"])
async def test_from_a_damaged_one_no_machine_comes(world: World, file: str) -> None:
    await world.machine()
    found = await world.snapshot("base")
    damaged = world.pool.snapshot_dir(found.id, 1) / file
    damaged.write_bytes(damaged.read_bytes()[: damaged.stat().st_size // 2])
    with pytest.raises(
        WrongState, match="machine 'waited-for' was not made from snapshot 'base' and is removed: snap"
    ):
        await world.control.create_from_snapshot(OWNER, "base", NewMachine(name="waited-for"), wait=True)
    machine = await world.control.create_from_snapshot(OWNER, "base", NewMachine(name="copy"))
    await world.until(lambda: world.store.events(machine.id, 10))
    (event,) = world.store.events(machine.id, 10)
    assert "machine 'copy' was not made from snapshot 'base' and is removed" in event.error
    assert [m.name for m in world.control.machines(OWNER)] == ["web"] and world.leftovers() == []
    assert (await world.control.snapshot_view(OWNER, "base")).use_count == 0


async def test_verifying_one_finds_its_damage_and_keeps_it_meanwhile(world: World) -> None:
    await world.machine()
    found = await world.snapshot("base")

    async def verified() -> Verification:
        items = [item async for item in world.control.verify_snapshot(OWNER, "base")]
        assert isinstance(items[-1], Verification)
        return items[-1]

    assert (await verified()).ok
    with (world.pool.snapshot_dir(found.id, 1) / "disk.raw").open("r+b") as disk:
        disk.write(b"X")
    assert [damage.file for damage in (await verified()).damages] == ["disk.raw"]
    reading = world.control.verify_snapshot(OWNER, "base")
    await anext(reading)
    with pytest.raises(Busy, match="snapshot 'base' was not removed: it is being verified"):
        await world.control.remove_snapshot(OWNER, "base")
    await reading.aclose()
    await world.control.remove_snapshot(OWNER, "base")
    with pytest.raises(NotFound):
        await verified()


async def test_one_that_a_machine_is_being_made_from_stays_until_it_runs(world: World) -> None:
    await world.machine()
    await world.sh("set v old")
    await world.snapshot("base")
    await world.sh("set v new")
    with world.host.hold("load state") as hold:
        await world.control.create_from_snapshot(OWNER, "base", NewMachine(name="copy"))
        await hold.reached()
        with pytest.raises(Busy, match="snapshot 'base' was not removed: machine 'copy' is being made from it"):
            await world.control.remove_snapshot(OWNER, "base")
        await world.snapshot("base")
        assert kept(world) == ["v1", "v2"]
    await world.settled("copy")
    await world.until(lambda: kept(world) == ["v2"])
    assert await world.sh("get v", "copy") == "old\n"
    await world.control.remove_snapshot(OWNER, "base")
    assert world.leftovers() == []


async def test_many_at_once(world: World) -> None:
    await world.machine()
    await world.sh("set v old")
    await world.snapshot("base")
    copies = await asyncio.gather(*(made(world, f"copy-{number}") for number in range(10)))
    assert len({copy.address for copy in copies}) == 10
    assert {await world.sh("get v", copy.name) for copy in copies} == {"old\n"}
    assert (await world.control.snapshot_view(OWNER, "base")).use_count == 10
    assert world.leftovers() == []
