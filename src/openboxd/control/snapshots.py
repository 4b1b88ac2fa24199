"""Use-cases of snapshots: captures that belong to the caller's account."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import AsyncExitStack, aclosing, suppress
from pathlib import Path

from openboxd.control import names
from openboxd.control.base import Base
from openboxd.control.creation import Origin, Wanted
from openboxd.errors import BoxdError, Busy, InvalidArgument, WrongState, snapshot_not_found
from openboxd.model import Caller, Machine, Progress, Snapshot, SnapshotView, Usage, Verification
from openboxd.worker.holds import let_go_after
from openboxd.worker.job import Job
from openboxd.worker.orders import SaveSnapshot, StartFrom, gib
from openboxd.worker.snapshot import FIXED, INHERITED, remove_snapshot
from openboxd.worker.steps import to_the_end
from openboxd.worker.verify import read_whole


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
        await self._quotas.refresh(caller.user_id)
        job = worker.submit(order, caller.author)
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
        if found is None or found.owner_id != caller.user_id or self._directory(found) in self._drivers.holds.leaving:
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

    async def create_from_snapshot(
        self, caller: Caller, ref: str, new: Wanted, given: Collection[str] = (), *, wait: bool = False
    ) -> Machine:
        """Make a machine that goes on where a snapshot was saved, as another one; `ref` may name a version: base:v2.

        Labels come on top of the captured ones; of the settings that it inherits those named in `given` are `new`'s.
        A caller who leaves meanwhile gets a whole machine or none; one who waits is told why it does not run.
        """
        machine, job = await to_the_end(self._create_from(caller, ref, new, given))
        if wait:
            await job.done()
        return self.machine(caller, machine.id)

    async def _create_from(
        self, caller: Caller, ref: str, new: Wanted, given: Collection[str]
    ) -> tuple[Machine, Job]:
        found = self._captured(caller, ref)
        _refuse_hardware(found, new)
        origin = self._origin(found, new, given)
        who = f"machine '{new.name}'" if new.name else "a machine"
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(
                self._drivers.holds.hold(origin.disk.parent, f"{who} is being made from it")
            )
            machine = await self._creation.make_from(caller, new, origin)
            order = StartFrom(origin.disk.parent, f"snapshot '{found.name}'")
            job = self.team.worker(machine.id).submit(order, caller.author)
            self._later(let_go_after(job, stack.pop_all()))
        return machine, job

    def _captured(self, caller: Caller, ref: str) -> Snapshot:
        """The snapshot to make a machine from. Raises NotFound; WrongState unless the version asked for is there."""
        name, colon, version = ref.partition(":")
        found = self.snapshot(caller, name)
        if not found.version:
            reason = f": {found.failure_reason}" if found.failure_reason else ""
            raise WrongState(
                f"snapshot '{found.name}' is {found.status}{reason}; machines can be made from it once it is ready"
            )
        if colon and version.removeprefix("v") != str(found.version):
            raise WrongState(
                f"snapshot '{found.name}' has no version '{version}': only the newest is kept, which is "
                f"{found.version}; leave the version out to use that"
            )
        return found

    def _origin(self, found: Snapshot, new: Wanted, given: Collection[str]) -> Origin:
        labels = {**found.labels, **new.labels}
        names.check_labels(labels)
        kept = (*FIXED, *(name for name in INHERITED if name not in given))
        return Origin(
            image=found.image,
            image_name=found.image_name,
            size=found.size,
            disk_bytes=found.disk_bytes,
            disk=self._drivers.pool.snapshot_dir(found.id, found.version) / "disk.raw",
            source=f"snapshot/{found.name}:v{found.version}",
            source_id=found.id,
            settings={"labels": labels, **{name: getattr(found, name) for name in kept}},
        )

    async def verify_snapshot(self, caller: Caller, ref: str) -> AsyncGenerator[Progress | Verification]:
        """Read a snapshot and compare it with its digests; progress, then what was found."""
        found = self._captured(caller, ref)
        self._drivers.pool.check()
        capture = self._drivers.pool.snapshot_dir(found.id, found.version)
        held = self._drivers.holds.hold(capture, "it is being verified")
        async with held, aclosing(read_whole(capture, found.name)) as items:
            async for item in items:
                yield item

    async def remove_snapshot(self, caller: Caller, ref: str) -> None:
        """Remove a snapshot and its bytes. Machines that were made from it stay."""
        await to_the_end(self._remove_snapshot(self.snapshot(caller, ref)))

    async def _remove_snapshot(self, found: Snapshot) -> None:
        directory, holds = self._directory(found), self._drivers.holds
        if reasons := holds.reasons(directory):
            raise Busy(
                f"snapshot '{found.name}' was not removed: {', '.join(reasons)}; try again when that has ended"
            )
        holds.leaving.add(directory)  # from here on nobody finds it, so nobody begins to use it
        try:
            await remove_snapshot(self._drivers, found)
        finally:
            holds.leaving.discard(directory)

    def _directory(self, snapshot: Snapshot) -> Path:
        return self._drivers.pool.snapshot_dir(snapshot.id)


def _refuse_hardware(found: Snapshot, new: Wanted) -> None:
    """A machine that goes on has the hardware that it had."""
    same = new.vcpu in (0, found.size.vcpu) and new.memory_bytes in (0, found.size.memory_bytes)
    if not same or new.disk_bytes not in (0, found.disk_bytes):
        size = f"{found.size.vcpu} vCPU, {gib(found.size.memory_bytes)} of memory, {gib(found.disk_bytes)} of disk"
        raise InvalidArgument(
            f"a machine made from snapshot '{found.name}' has its hardware ({size}); leave the size out, "
            "and resize the machine afterwards"
        )
