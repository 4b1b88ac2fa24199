"""Checkpoints as users see them."""

from __future__ import annotations

from collections.abc import Sequence

from openboxd.model import Checkpoint, CheckpointStatus, CheckpointView, Machine, Usage
from openboxd.ports import Pool


def views(pool: Pool, machine: Machine, listed: Sequence[Checkpoint]) -> list[CheckpointView]:
    """A machine's checkpoints with their usage and parents' names; asks the filesystem, so call it in a thread.

    Those of `listed` that are being removed are passed over, as they will be once they are gone: what descends from
    one descends from its parent.
    """
    by_id = {checkpoint.id: checkpoint for checkpoint in listed}

    def shown(checkpoint_id: str) -> Checkpoint | None:
        found = by_id.get(checkpoint_id)
        while found is not None and found.status is CheckpointStatus.REMOVING:
            found = by_id.get(found.parent)
        return found

    head = shown(machine.head)
    return [
        CheckpointView(
            checkpoint=c,
            usage=_usage(pool, machine, c),
            parent_name=parent.name if (parent := shown(c.parent)) else "",
            is_current=c is head,
        )
        for c in listed
        if c.status is not CheckpointStatus.REMOVING
    ]


def _usage(pool: Pool, machine: Machine, checkpoint: Checkpoint) -> Usage:
    if checkpoint.status is not CheckpointStatus.READY:
        return Usage(0, 0)
    return pool.usage(pool.checkpoint_dir(machine.id, checkpoint.id))
