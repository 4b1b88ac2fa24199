"""What the API needs from control about checkpoints and snapshots."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from typing import Protocol

from openboxd.api.ports_machines import NewMachine
from openboxd.model import Caller, Checkpoint, CheckpointView, Machine, Progress, Snapshot, SnapshotView, Verification


class Captures(Protocol):
    """`ref` is a machine's or a snapshot's id or name."""

    # -- checkpoints
    async def save_checkpoint(self, caller: Caller, ref: str, name: str) -> Checkpoint:
        """Admits the save and answers `pending`; the save goes on. An empty name is generated."""
        ...

    async def checkpoints(self, caller: Caller, ref: str) -> Sequence[CheckpointView]: ...

    async def checkpoint_done(self, caller: Caller, ref: str, name: str) -> CheckpointView:
        """Wait until the checkpoint is not pending any more."""
        ...

    async def restore_checkpoint(self, caller: Caller, ref: str, name: str) -> Machine: ...

    async def remove_checkpoint(self, caller: Caller, ref: str, name: str) -> None: ...

    def verify_checkpoint(self, caller: Caller, ref: str, name: str) -> AsyncIterator[Progress | Verification]:
        """Progress, then what was found as the last item. Raises NotFound; WrongState unless it is ready."""
        ...

    # -- snapshots
    async def save_snapshot(self, caller: Caller, ref: str, name: str) -> Snapshot:
        """Admits the save of a version and answers `pending`; the save goes on."""
        ...

    async def snapshots(self, caller: Caller) -> Sequence[SnapshotView]: ...

    async def snapshot_view(self, caller: Caller, ref: str) -> SnapshotView:
        """By name or id."""
        ...

    async def snapshot_done(self, caller: Caller, ref: str) -> SnapshotView:
        """Wait until no version is pending any more."""
        ...

    def verify_snapshot(self, caller: Caller, ref: str) -> AsyncIterator[Progress | Verification]:
        """Progress, then what was found as the last item. Raises NotFound; WrongState unless a version is there."""
        ...

    async def create_from_snapshot(
        self, caller: Caller, ref: str, new: NewMachine, given: Collection[str] = (), *, wait: bool = False
    ) -> Machine:
        """Answers when the machine is scheduled, or with `wait` when it runs. `ref` may name a version (base:v2).

        Of the idle settings it has those of `new` that are `given`, else the captured ones.

        Raises: as create_machine; InvalidArgument for another size; WrongState unless there is such a version."""
        ...

    async def remove_snapshot(self, caller: Caller, ref: str) -> None:
        """Raises Busy naming who makes a machine from it."""
        ...
