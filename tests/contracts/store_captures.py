"""What every store promises of checkpoints and snapshots."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from openboxd.errors import AlreadyExists, Busy, NotFound, WrongState
from openboxd.model import (
    MIB,
    CheckpointStatus,
    Machine,
    MachineStatus,
    Size,
)
from openboxd.store import SqlStore
from tests.contracts.rows import IMAGE, OWNER, a_checkpoint, a_machine, a_snapshot, furnish, saved


class CheckpointContract:
    """Checkpoints, their names and their tree."""

    async def test_a_checkpoint_reads_as_it_was_written(self, store: SqlStore) -> None:
        machine = await furnish(store)
        checkpoint = a_checkpoint(machine, pause_us=3, duration_ms=4, written_bytes=5 << 40, failure_reason="r")
        await store.begin_checkpoint(checkpoint)
        assert store.checkpoint(machine.id, checkpoint.name) == checkpoint
        assert list(store.checkpoints(machine.id)) == [checkpoint]
        assert store.checkpoint("other", checkpoint.name) is None

    async def test_checkpoints_are_listed_oldest_first_then_by_id(self, store: SqlStore) -> None:
        machine = await furnish(store)
        ids = ["cp_c", "cp_a", "cp_b"]
        for ident, at in zip(ids, [5, 5, 1], strict=True):
            await store.begin_checkpoint(a_checkpoint(machine, id=ident, created_at_ms=at))
        assert [found.id for found in store.checkpoints(machine.id)] == ["cp_b", "cp_a", "cp_c"]

    @pytest.mark.parametrize("status", [CheckpointStatus.PENDING, CheckpointStatus.READY])
    async def test_a_name_in_use_is_refused(self, store: SqlStore, status: CheckpointStatus) -> None:
        machine = await furnish(store)
        first = a_checkpoint(machine, "cp", status=status)
        await store.begin_checkpoint(first)
        with pytest.raises(AlreadyExists) as refusal:
            await store.begin_checkpoint(a_checkpoint(machine, "cp"))
        expected = f"machine '{machine.name}' already has a checkpoint 'cp'; it was not changed"
        assert refusal.value.message == expected
        assert list(store.checkpoints(machine.id)) == [first]

    async def test_names_are_per_machine(self, store: SqlStore) -> None:
        one, two = await furnish(store), await furnish(store)
        first, second = a_checkpoint(one, "cp"), a_checkpoint(two, "cp")
        await store.begin_checkpoint(first)
        await store.begin_checkpoint(second)
        assert store.checkpoint(one.id, "cp") == first
        assert store.checkpoint(two.id, "cp") == second

    async def test_of_many_saves_of_one_name_exactly_one_begins(self, store: SqlStore) -> None:
        machine = await furnish(store)
        saves = [store.begin_checkpoint(a_checkpoint(machine, "cp")) for _ in range(20)]
        outcomes = await asyncio.gather(*saves, return_exceptions=True)
        assert sorted(type(outcome).__name__ for outcome in outcomes) == ["AlreadyExists"] * 19 + ["NoneType"]
        assert len(store.checkpoints(machine.id)) == 1

    async def test_a_failed_one_makes_way(self, store: SqlStore) -> None:
        machine = await furnish(store)
        failed = a_checkpoint(machine, "cp")
        await store.begin_checkpoint(failed)
        await store.update_checkpoint(failed.id, status=CheckpointStatus.FAILED, failure_reason="no space")
        shown = store.checkpoint(machine.id, "cp")
        assert shown is not None
        assert shown.failure_reason == "no space"
        again = a_checkpoint(machine, "cp")
        await store.begin_checkpoint(again)
        assert list(store.checkpoints(machine.id)) == [again]

    async def test_one_being_removed_is_not_seen_and_frees_its_name(self, store: SqlStore) -> None:
        machine = await furnish(store)
        old = await saved(store, machine, "cp")
        await store.update_checkpoint(old.id, status=CheckpointStatus.REMOVING)
        assert store.checkpoint(machine.id, "cp") is None
        assert list(store.checkpoints(machine.id)) == []
        new = a_checkpoint(machine, "cp")
        await store.begin_checkpoint(new)
        assert store.checkpoint(machine.id, "cp") == new
        assert [found.id for found in store.removing_checkpoints()] == [old.id]
        with pytest.raises(AlreadyExists):
            await store.update_checkpoint(old.id, status=CheckpointStatus.READY)

    async def test_finishing_makes_it_ready_and_head_at_once(self, store: SqlStore) -> None:
        machine = await furnish(store)
        pending = a_checkpoint(machine)
        await store.begin_checkpoint(pending)
        assert _head(store, machine) == ""
        ready = replace(pending, status=CheckpointStatus.READY, pause_us=31_000, written_bytes=7 * MIB)
        await store.finish_checkpoint(ready)
        assert store.checkpoint(machine.id, pending.name) == ready
        assert _head(store, machine) == ready.id

    async def test_what_was_removed_cannot_be_changed_or_finished(self, store: SqlStore) -> None:
        machine = await furnish(store)
        checkpoint = a_checkpoint(machine)
        with pytest.raises(NotFound):
            await store.finish_checkpoint(checkpoint)
        with pytest.raises(NotFound):
            await store.update_checkpoint(checkpoint.id, status=CheckpointStatus.READY)
        with pytest.raises(NotFound):
            await store.begin_checkpoint(replace(checkpoint, machine_id="nope"))
        assert _head(store, machine) == ""

    async def test_descendants_of_a_deleted_one_descend_from_its_parent(self, store: SqlStore) -> None:
        machine = await furnish(store)
        first, second, third = [await saved(store, machine) for _ in range(3)]
        assert (second.parent, third.parent) == (first.id, second.id)
        await store.delete_checkpoint(second.id)
        await store.delete_checkpoint(second.id)
        assert [(c.id, c.parent) for c in store.checkpoints(machine.id)] == [(first.id, ""), (third.id, first.id)]
        await store.delete_checkpoint(third.id)
        assert _head(store, machine) == first.id
        await store.delete_checkpoint(first.id)
        assert _head(store, machine) == ""
        await store.delete_checkpoint("nope")

    async def test_a_parent_removed_during_a_save_does_not_come_back(self, store: SqlStore) -> None:
        machine = await furnish(store)
        first, second = await saved(store, machine), await saved(store, machine)
        third = a_checkpoint(machine, parent=second.id)
        await store.begin_checkpoint(third)
        await store.delete_checkpoint(second.id)
        await store.finish_checkpoint(replace(third, status=CheckpointStatus.READY))
        found = store.checkpoint(machine.id, third.name)
        assert found is not None
        assert found.parent == first.id


class SnapshotContract:
    """Snapshots: one row a name and owner, which says whether a version is being saved."""

    async def test_a_snapshot_comes_back_as_it_was(self, store: SqlStore) -> None:
        first = a_snapshot("m-1", labels={"a": "b"}, networks=("n",), isolated=True, size=Size(2, 512 * MIB))
        assert await store.begin_snapshot(first) == first
        assert store.snapshot(first.id) == first == store.snapshot_named(OWNER.id, first.name)
        await store.update_snapshot(first.id, saving="", version=1, source_name="web")
        assert store.snapshot(first.id) == replace(first, saving="", version=1, source_name="web")
        assert store.snapshot("snap_none") is None and store.snapshot_named("u_other", first.name) is None
        with pytest.raises(NotFound):
            await store.update_snapshot("snap_none", version=1)
        with pytest.raises(TypeError):
            await store.update_snapshot(first.id, name="other")

    async def test_saving_again_keeps_what_was_saved(self, store: SqlStore) -> None:
        machine = await furnish(store)
        first = a_snapshot(machine.id)
        await store.begin_snapshot(first)
        again = a_snapshot("m-2", first.name)
        with pytest.raises(Busy, match=f"snapshot '{first.name}' is being saved from machine '{machine.name}'"):
            await store.begin_snapshot(again)
        with pytest.raises(Busy):
            await store.delete_snapshot(first.id)
        await store.update_snapshot(first.id, saving="", version=1)
        row = await store.begin_snapshot(again)
        assert row == replace(first, version=1, saving="m-2", tried_at_ms=again.tried_at_ms)
        assert list(store.snapshots()) == [row]

    async def test_one_of_which_no_version_was_saved_makes_way(self, store: SqlStore) -> None:
        first = a_snapshot("m-1")
        await store.begin_snapshot(first)
        await store.update_snapshot(first.id, saving="", failed_version=1)
        again = a_snapshot("m-1", first.name)
        assert await store.begin_snapshot(again) == again
        assert list(store.snapshots()) == [again]

    async def test_names_are_the_owners(self, store: SqlStore) -> None:
        first = a_snapshot("m-1")
        other = replace(a_snapshot("m-2", first.name), owner_id="u_other")
        for snapshot in (first, other):
            await store.begin_snapshot(snapshot)
        with pytest.raises(AlreadyExists):
            await store.add_snapshot(a_snapshot("m-3", first.name))
        await store.update_snapshot(first.id, saving="")
        await store.delete_snapshot(first.id)
        await store.delete_snapshot(first.id)
        assert list(store.snapshots()) == [other]

    async def test_machines_made_from_it_are_counted_and_its_image_is_kept(self, store: SqlStore) -> None:
        machine = await furnish(store)
        snapshot = a_snapshot(machine.id, image=IMAGE.digest)
        await store.begin_snapshot(snapshot)
        await store.update_snapshot(snapshot.id, saving="", version=1)
        gone, ran = (a_machine(source_id=snapshot.id, boot_time_ms=ms) for ms in (0, 5))
        for made in (gone, ran, a_machine(source_id=snapshot.id)):
            await store.add_machine(made)
        assert store.machines_of_snapshot(snapshot.id) == 3
        for made in store.machines():
            if made.id in (gone.id, ran.id, machine.id):
                await store.update_machine(made.id, status=MachineStatus.DESTROYED)
        assert store.machines_of_snapshot(snapshot.id) == 2, "the one that never ran was not made"
        assert [found.name for found in store.snapshots_using_image(IMAGE.digest)] == [snapshot.name]
        for made in store.machines():
            await store.update_machine(made.id, status=MachineStatus.DESTROYED)
        with pytest.raises(WrongState, match=f"snapshot '{snapshot.name}'"):
            await store.delete_image(IMAGE.digest)
        await store.delete_snapshot(snapshot.id)
        await store.delete_image(IMAGE.digest)


def _head(store: SqlStore, machine: Machine) -> str:
    found = store.machine(machine.id)
    assert found is not None
    return found.head
