"""Snapshots of the fake service: the real rules of names and versions, over rows in memory."""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections.abc import AsyncIterator, Collection, Sequence

from openboxd.api.ports import NewMachine
from openboxd.control import names
from openboxd.errors import Busy, OperationFailed, snapshot_not_found
from openboxd.model import (
    MIB,
    Caller,
    Damage,
    Machine,
    MachineStatus,
    Progress,
    Snapshot,
    SnapshotView,
    Usage,
    Verification,
)
from openboxd.worker.orders import SaveSnapshot


class ServiceSnapshots:
    """The part of `api.ports.Service` that is about snapshots. `save` holds saves and `fail_save` fails them."""

    save: asyncio.Event
    fail_save: str
    fail_boot: str
    damaged: set[str]

    def __init__(self) -> None:
        super().__init__()
        self._snapshots: dict[str, Snapshot] = {}
        self.snapshot_in_use = ""  # name of a machine that is being made from each

    def _find_snapshot(self, ref: str) -> Snapshot:
        if not names.is_snapshot_id(ref):
            names.check_snapshot_name(ref)
        for snapshot in self._snapshots.values():
            if ref in (snapshot.id, snapshot.name):
                return snapshot
        raise snapshot_not_found()

    async def save_snapshot(self, caller: Caller, ref: str, name: str) -> Snapshot:
        machine = self.machine(caller, ref)
        names.check_snapshot_name(name)
        known = next((s for s in self._snapshots.values() if s.name == name), None)
        snapshot_id = known.id if known else names.new_snapshot_id()
        order = SaveSnapshot(snapshot_id, name, caller.user_id)
        with self._operation(machine, order):
            pass
        now = int(time.time() * 1000)
        row = known or Snapshot(snapshot_id, caller.user_id, name, now, size=machine.size, source_name=machine.name)
        self._snapshots[snapshot_id] = dataclasses.replace(row, saving=machine.id, tried_at_ms=now)
        await self._notify()
        self._busy[machine.id] = order
        self._spawn(self._save_version(machine, self._snapshots[snapshot_id]))
        return self._snapshots[snapshot_id]

    async def _save_version(self, machine: Machine, row: Snapshot) -> None:
        self._report(machine, "snapshot", "capture", 0.5)
        await self.save.wait()
        version = row.version + 1
        values = {"failed_version": version, "failure_reason": self.fail_save}
        if not self.fail_save:
            values = {"version": version, "updated_at_ms": row.tried_at_ms, "source_id": machine.id}
            values |= {"source_name": machine.name, "size": machine.size, "image_name": machine.image_name}
            values |= {"pause_us": 24_300, "duration_ms": 1_250, "failed_version": 0, "failure_reason": ""}
        self._snapshots[row.id] = dataclasses.replace(row, saving="", **values)
        del self._busy[machine.id]
        await self._notify()

    async def snapshots(self, caller: Caller) -> Sequence[SnapshotView]:
        return [self._snapshot_view(row) for row in self._snapshots.values()]

    async def snapshot_view(self, caller: Caller, ref: str) -> SnapshotView:
        return self._snapshot_view(self._find_snapshot(ref))

    async def snapshot_done(self, caller: Caller, ref: str) -> SnapshotView:
        async with self._changed:
            await self._changed.wait_for(lambda: not self._find_snapshot(ref).saving)
        return self._snapshot_view(self._find_snapshot(ref))

    async def verify_snapshot(self, caller: Caller, ref: str) -> AsyncIterator[Progress | Verification]:
        found = self._find_snapshot(ref)
        yield Progress("verify", "memory.img", 0.5)
        damages = [Damage("disk.raw", MIB, 2 * MIB, "is not what it was")] if found.name in self.damaged else []
        yield Verification(found.name, 210 * MIB, 300, tuple(damages))

    async def create_from_snapshot(
        self, caller: Caller, ref: str, new: NewMachine, given: Collection[str] = (), *, wait: bool = False
    ) -> Machine:
        found = self._find_snapshot(ref.partition(":")[0])
        size = {"vcpu": found.size.vcpu, "memory_bytes": found.size.memory_bytes}
        machine = await self.create_machine(caller, dataclasses.replace(new, **size))
        source = f"snapshot/{found.name}:v{found.version}"
        await self._set(machine, source=source, source_id=found.id)
        if wait:
            await self.until(lambda: self._machines[machine.id].status is not MachineStatus.STARTING)
            if self.fail_boot:
                del self._machines[machine.id]
                reason = f"is removed: {self.fail_boot}"
                raise OperationFailed(
                    f"machine '{machine.name}' was not made from snapshot '{found.name}' and {reason}"
                )
        return self._machines[machine.id]

    async def remove_snapshot(self, caller: Caller, ref: str) -> None:
        found = self._find_snapshot(ref)
        if self.snapshot_in_use:
            user = f"machine '{self.snapshot_in_use}' is being made from it; try again when that has ended"
            raise Busy(f"snapshot '{found.name}' was not removed: {user}")
        del self._snapshots[found.id]

    def _snapshot_view(self, row: Snapshot) -> SnapshotView:
        made = [machine for machine in self._machines.values() if machine.source_id == row.id]
        return SnapshotView(row, Usage(7 * MIB, 203 * MIB) if row.version else Usage(0, 0), len(made))
