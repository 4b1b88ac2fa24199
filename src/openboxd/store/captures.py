"""The store's calls about checkpoints and snapshots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from openboxd.model import Checkpoint, Snapshot
from openboxd.store import checkpoints, snapshots
from openboxd.store.part import Part


class Captures(Part):
    """Which captures there are, and what is being saved or removed."""

    # -- checkpoints

    def checkpoint(self, machine_id: str, name: str) -> Checkpoint | None:
        return self._read(checkpoints.by_name, machine_id, name)

    def checkpoints(self, machine_id: str, *, removing: bool = False) -> Sequence[Checkpoint]:
        return self._read(checkpoints.of_machine, machine_id, removing=removing)

    def removing_checkpoints(self) -> Sequence[Checkpoint]:
        return self._read(checkpoints.removing)

    async def begin_checkpoint(self, checkpoint: Checkpoint) -> None:
        await self._writer.write(checkpoints.begin, checkpoint)

    async def update_checkpoint(self, checkpoint_id: str, **values: Any) -> None:
        await self._writer.write(checkpoints.change, checkpoint_id, values)

    async def finish_checkpoint(self, checkpoint: Checkpoint) -> None:
        await self._writer.write(checkpoints.finish, checkpoint)

    async def delete_checkpoint(self, checkpoint_id: str) -> None:
        await self._writer.write(checkpoints.forget, checkpoint_id)

    # -- snapshots

    def snapshot(self, snapshot_id: str) -> Snapshot | None:
        return self._read(snapshots.by_id, snapshot_id)

    def snapshot_named(self, owner_id: str, name: str) -> Snapshot | None:
        """An account's snapshot of this name."""
        return self._read(snapshots.by_name, owner_id, name)

    def snapshots(self) -> Sequence[Snapshot]:
        return self._read(snapshots.all_snapshots)

    def snapshots_using_image(self, digest: str) -> Sequence[Snapshot]:
        """Snapshots whose machines need this image."""
        return self._read(snapshots.of_image, digest)

    def machines_of_snapshot(self, snapshot_id: str) -> int:
        """How many machines were made from it, or are being made; also of those that are gone."""
        return self._read(snapshots.machines_made, snapshot_id)

    async def begin_snapshot(self, snapshot: Snapshot) -> Snapshot:
        return await self._writer.write(snapshots.begin, snapshot)

    async def update_snapshot(self, snapshot_id: str, **values: Any) -> None:
        await self._writer.write(snapshots.change, snapshot_id, values)

    async def add_snapshot(self, snapshot: Snapshot) -> None:
        """Raises AlreadyExists."""
        await self._writer.write(snapshots.add, snapshot)

    async def delete_snapshot(self, snapshot_id: str) -> None:
        await self._writer.write(snapshots.forget, snapshot_id)
