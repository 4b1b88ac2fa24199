"""Quotas: what a user's machines may take altogether. Refused before anything starts, in numbers, never trimmed.

Machines count from the moment they exist, vCPUs and memory while a machine runs, stands by or is on its way to that,
bytes of the pool whatever state a machine is in. An order that was admitted counts at once, and nothing waits between
looking and admitting, so two that come together cannot exceed what one of them could not.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from openboxd.control.ports import ControlStore
from openboxd.errors import BoxdError, Exhausted, WrongState
from openboxd.host.extents import allocated_bytes
from openboxd.model import Machine, MachineStatus, Quota, Size
from openboxd.ports import Pool
from openboxd.worker.admission import RESERVE_BYTES, Situation, bytes_needed
from openboxd.worker.metering import Meter
from openboxd.worker.orders import (
    Hibernate,
    Order,
    Reboot,
    Resize,
    Restore,
    Resume,
    Save,
    SaveSnapshot,
    Start,
    StartFrom,
    Wake,
    gib,
)

LIVE = frozenset({MachineStatus.PENDING, MachineStatus.STARTING, MachineStatus.RUNNING, MachineStatus.SUSPENDED})
"""States in which vCPUs and memory count. One that stands by may go on at any moment."""

CAPTURES = (Save, SaveSnapshot, Hibernate)
"""Orders that write a guest's memory into the pool."""

STARTS = (Start, StartFrom, Reboot, Restore, Wake, Resume)

Current = Callable[[str], Order | None]
"""The order that is being carried out on a machine."""


@dataclass(frozen=True)
class Limit:
    """One number of a quota: how it is called, and how amounts of it are written."""

    field: str
    unit: str
    remedy: str
    written: Callable[[int], str] = str


LIMITS = (
    Limit("machines", "machines", "remove one"),
    Limit("vcpu", "vCPUs of running machines", "stop a machine"),
    Limit("memory_bytes", "of memory of running machines", "stop a machine", gib),
    Limit("pool_bytes", "of disks and checkpoints", "remove a checkpoint or a machine", gib),
)


class Quotas:
    """Looks after the quotas of all users."""

    def __init__(self, store: ControlStore, pool: Pool, current: Current) -> None:
        self._store, self._pool, self._current = store, pool, current
        self._meter = Meter(store, pool)
        self._snapshots: dict[str, int] = {}  # bytes by user, as last weighed

    async def refresh(self, user_id: str) -> None:
        """Weigh what has changed of a user's things, if that matters: looking is quick, weighing is not."""
        if not self._store.quota(user_id).pool_bytes:
            return
        await self._meter.refresh(self._machines(user_id))
        kept = [self._pool.snapshot_dir(found.id) for found in self._store.snapshots() if found.owner_id == user_id]
        self._snapshots[user_id] = await asyncio.to_thread(self._pool.weigh, kept)

    def used(self, user_id: str, without: str = "") -> Quota:
        """What counts now; of machine `without` its vCPUs and memory are left out."""
        machines = self._machines(user_id)
        sizes = [size for machine in machines if machine.id != without for size in self._live(machine)]
        saving = [self._save_bytes(m) for m in self._store.machines() if self._captures_for(m) == user_id]
        weights = self._store.weights([machine.id for machine in machines])
        return Quota(
            machines=len(machines),
            vcpu=sum(size.vcpu for size in sizes),
            memory_bytes=sum(size.memory_bytes for size in sizes),
            pool_bytes=sum(weights.values()) + sum(saving) + self._snapshots.get(user_id, 0),
        )

    def admit_new(self, user_id: str, name: str, size: Size, disk: Path) -> None:
        """Raises Exhausted unless the user may have one more machine, which starts at once.

        Its disk counts a byte even where it is a clone that takes nothing yet: it grows, and is never stopped then,
        so there has to be room at the beginning."""
        copied = 0 if self._pool.kind == "reflink" else allocated_bytes(disk)
        more = Quota(1, size.vcpu, size.memory_bytes, max(1, copied))
        what = f"machine '{name}' was not made" if name else "the machine was not made"
        self._check(user_id, self.used(user_id), more, f"{what} and nothing was started")

    def admit(self, machine: Machine, order: Order) -> None:
        """Look at an order that is about to be carried out.

        Raises:
            Exhausted: the owner's quota does not allow what it takes.
            WrongState: so it is for a restore, which takes the captured size.
        """
        owner, what = machine.owner_id, f"{order} of machine '{machine.name}' was refused; it is {machine.status}"
        if isinstance(order, CAPTURES):
            owner = _whose(order, machine)
            self._check(owner, self.used(owner), Quota(pool_bytes=self._save_bytes(machine)), what)
        elif isinstance(order, Resize | Restore) or (isinstance(order, STARTS) and machine.status not in LIVE):
            size = self._target(machine, order)
            if size is not None:
                more = Quota(vcpu=size.vcpu, memory_bytes=size.memory_bytes)
                kind = WrongState if isinstance(order, Restore) else Exhausted
                self._check(owner, self.used(owner, without=machine.id), more, what, kind)

    def _captures_for(self, machine: Machine) -> str:
        """Whose the capture of a machine will be that is written now; empty if there is none."""
        order = self._current(machine.id)
        return _whose(order, machine) if isinstance(order, CAPTURES) else ""

    def _target(self, machine: Machine, order: Order) -> Size | None:
        """The size that runs once the order is carried out; None if nothing more runs than before."""
        if isinstance(order, Resize):
            bigger = machine.size.vcpu < order.size.vcpu or machine.size.memory_bytes < order.size.memory_bytes
            return order.size if machine.status in LIVE and bigger else None
        if isinstance(order, Restore):
            checkpoint = self._store.checkpoint(machine.id, order.name)
            captured = checkpoint.size if checkpoint is not None else machine.size
            return None if machine.status in LIVE and captured == machine.size else captured
        return machine.size

    def _live(self, machine: Machine) -> Iterable[Size]:
        """The size with which a machine counts: none at rest, the larger one where an order changes it."""
        order = self._current(machine.id)
        if machine.status not in LIVE and not isinstance(order, STARTS):
            return ()
        target = self._target(machine, order) if order is not None else None
        target = target or machine.size
        return (
            Size(
                max(machine.size.vcpu, target.vcpu),
                max(machine.size.memory_bytes, target.memory_bytes),
            ),
        )

    def _save_bytes(self, machine: Machine) -> int:
        """What a save may write at most, as its admission sees it."""
        copied = (
            0 if self._pool.kind == "reflink" else allocated_bytes(self._pool.machine_dir(machine.id) / "disk.raw")
        )
        checkpoints = self._store.checkpoints(machine.id)
        situation = Situation(machine, None, checkpoints, self._pool.space(), copied_bytes=copied)
        return bytes_needed(situation) - RESERVE_BYTES

    def _machines(self, user_id: str) -> Sequence[Machine]:
        gone = (MachineStatus.DESTROYED, MachineStatus.DESTROYING)
        return [machine for machine in self._store.machines_of(user_id) if machine.status not in gone]

    def _check(self, user_id: str, used: Quota, more: Quota, what: str, kind: type[BoxdError] = Exhausted) -> None:
        quota = self._store.quota(user_id)
        for limit in LIMITS:
            most, now, asked = (getattr(each, limit.field) for each in (quota, used, more))
            if most and asked and now + asked > most:
                raise kind(
                    f"{what}: its owner has {limit.written(now)} of {limit.written(most)} {limit.unit}, "
                    f"and {limit.written(asked)} more were asked for; "
                    f"{limit.remedy}, or ask the owner of this host for more"
                )


def _whose(order: Order, machine: Machine) -> str:
    """A snapshot is of who saves it, every other capture of the machine's owner."""
    return order.owner_id if isinstance(order, SaveSnapshot) else machine.owner_id


def changed(quota: Quota, **values: int | None) -> Quota:
    """A quota with those values that are not None."""
    return replace(quota, **{name: value for name, value in values.items() if value is not None})
