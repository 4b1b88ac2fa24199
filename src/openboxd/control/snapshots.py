"""Use-cases of snapshots: captures that belong to the caller's account."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from openboxd.control import names
from openboxd.control.base import Base
from openboxd.errors import BoxdError, Busy, snapshot_not_found
from openboxd.model import Caller, Snapshot, SnapshotView, Usage
from openboxd.worker.orders import SaveSnapshot
from openboxd.worker.snapshot import remove_snapshot
from openboxd.worker.steps import to_the_end


class Snapshots(Base):
    """Save, look at, remove."""

    async def save_snapshot(self, caller: Caller, ref: str, name: str) -> Snapshot:
        """Admit a save; answers once it is on record that a version is pending."""
        return await to_the_end(self._save_snapshot(caller, ref, name))

    async def _save_snapshot(self, caller: Caller, ref: str, name: str) -> Snapshot:
        self._access.account(caller, "save snapshots")
        worker = self._worker(caller, ref)
        names.check_snapshot_name(name)
        order = SaveSnapshot(snapshot_id=names.new_snapshot_id(), name=name, owner_id=caller.user_id)
        await self._quotas.refresh(worker.machine.owner_id)
        job = worker.submit(order, caller.user_id)
        await job.recorded()
        found = self.snapshot(caller, name)
        self._snapshot_saves[found.id] = job
        return found

    def snapshot(self, caller: Caller, ref: str) -> Snapshot:
        """A snapshot by id or name. Raises NotFound, also for what the caller may not see."""
        self._access.account(caller, "use snapshots")
        if names.is_snapshot_id(ref):
            found = self._store.snapshot(ref)
        else:
            names.check_snapshot_name(ref)
            found = self._store.snapshot_named(caller.user_id, ref)
        if found is None or found.owner_id != caller.user_id or found.id in self._snapshots_leaving:
            raise snapshot_not_found()
        return found

    async def snapshot_view(self, caller: Caller, ref: str) -> SnapshotView:
        """A snapshot with its usage."""
        return await self._view(self.snapshot(caller, ref))

    async def _view(self, found: Snapshot) -> SnapshotView:
        usage, pool = Usage(0, 0), self._drivers.pool
        if found.version:
            usage = await asyncio.to_thread(pool.usage, pool.snapshot_dir(found.id, found.version))
        return SnapshotView(found, usage, self._store.machines_of_snapshot(found.id))

    async def snapshots(self, caller: Caller) -> Sequence[SnapshotView]:
        """The caller's snapshots with their usage, oldest first."""
        self._access.account(caller, "see snapshots")
        mine = [found for found in self._store.snapshots() if found.owner_id == caller.user_id]
        return [await self._view(found) for found in mine]

    async def snapshot_done(self, caller: Caller, ref: str) -> SnapshotView:
        """Wait until no version of a snapshot is pending any more."""
        found = self.snapshot(caller, ref)
        job = self._snapshot_saves.get(found.id)
        if found.saving and job is not None:
            with suppress(BoxdError):  # what became of it is on record
                await job.done()
        return await self.snapshot_view(caller, found.id)

    async def remove_snapshot(self, caller: Caller, ref: str) -> None:
        """Remove a snapshot and its bytes. Machines that were made from it stay."""
        await to_the_end(self._remove_snapshot(self.snapshot(caller, ref)))

    async def _remove_snapshot(self, found: Snapshot) -> None:
        directory = self._drivers.pool.snapshot_dir(found.id)
        if users := self._drivers.holds.users(directory):
            machines = ", ".join(f"'{user}'" for user in users)
            raise Busy(
                f"snapshot '{found.name}' was not removed: {machines} is being made from it; try again when it runs"
            )
        self._snapshots_leaving.add(found.id)  # from here on nobody finds it, so nobody begins to use it
        try:
            await remove_snapshot(self._drivers, found)
        finally:
            self._snapshots_leaving.discard(found.id)
