"""Rows of the store like no other, for tests."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

from openboxd.model import (
    MIB,
    Checkpoint,
    CheckpointStatus,
    Image,
    Machine,
    MachineStatus,
    Size,
    Snapshot,
    User,
)
from openboxd.store import SqlStore

_numbers = itertools.count(1)

OWNER = User("u_owner", "Owner")
IMAGE = Image("sha256-aa", "debian", 1_700_000_000, 4096 * MIB, "6.12.1")


def a_machine(**values: Any) -> Machine:
    """A machine like no other, alive, of IMAGE and OWNER."""
    number = next(_numbers)
    fields: dict[str, Any] = {
        "id": f"00000000-0000-4000-8000-{number:012x}",
        "name": f"machine-{number}",
        "owner_id": OWNER.id,
        "image": IMAGE.digest,
        "image_name": IMAGE.name,
        "size": Size(2, 512 * MIB),
        "disk_bytes": 4096 * MIB,
        "address": f"10.77.{number // 250}.{number % 250 + 2}",
        "mac": f"52:54:00:00:{number // 256:02x}:{number % 256:02x}",
        "status": MachineStatus.PENDING,
        "created_at": 1_700_000_000 + number,
    }
    return Machine(**{**fields, **values})


def a_checkpoint(machine: Machine, name: str = "", **values: Any) -> Checkpoint:
    """A pending checkpoint like no other."""
    number = next(_numbers)
    fields: dict[str, Any] = {
        "id": f"cp_{number:020d}".replace("0", "a").replace("1", "b"),
        "machine_id": machine.id,
        "name": name or f"checkpoint-{number}",
        "status": CheckpointStatus.PENDING,
        "created_at_ms": 1_700_000_000_000 + number,
        "created_by": OWNER.id,
        "size": machine.size,
    }
    return Checkpoint(**{**fields, **values})


def a_snapshot(machine_id: str, name: str = "", **values: Any) -> Snapshot:
    """A snapshot like no other whose first version is being saved."""
    number = next(_numbers)
    at = 1_700_000_000_000 + number
    row = Snapshot(
        f"snap_{number:020d}", OWNER.id, name or f"snapshot-{number}", at, saving=machine_id, tried_at_ms=at
    )
    return replace(row, **values)


async def furnish(store: SqlStore, **values: Any) -> Machine:
    """Put a user, an image and one machine in; the machine."""
    if store.user(OWNER.id) is None:
        await store.add_user(OWNER)
    await store.add_image(IMAGE)
    machine = a_machine(**values)
    await store.add_machine(machine)
    return machine


async def saved(store: SqlStore, machine: Machine, name: str = "", **values: Any) -> Checkpoint:
    """Add a checkpoint that descends from the machine's head, and finish it."""
    now = store.machine(machine.id)
    assert now is not None
    checkpoint = a_checkpoint(machine, name, parent=now.head, **values)
    await store.begin_checkpoint(checkpoint)
    ready = replace(checkpoint, status=CheckpointStatus.READY)
    await store.finish_checkpoint(ready)
    return ready
