"""Checkpoints as users see them."""

from __future__ import annotations

from collections.abc import Sequence

from openboxd.model import Checkpoint, CheckpointStatus, CheckpointView, Machine, Usage
from openboxd.ports import Pool


def views(pool: Pool, machine: Machine, listed: Sequence[Checkpoint]) -> list[CheckpointView]:
    """A machine's checkpoints with their usage and parents' names; asks the filesystem, so call it in a thread."""
    by_id = {checkpoint.id: checkpoint.name for checkpoint in listed}
    return [
        CheckpointView(
            checkpoint=c,
            usage=_usage(pool, machine, c),
            parent_name=by_id.get(c.parent, ""),
            is_current=c.id == machine.head,
        )
        for c in listed
    ]


def _usage(pool: Pool, machine: Machine, checkpoint: Checkpoint) -> Usage:
    if checkpoint.status is not CheckpointStatus.READY:
        return Usage(0, 0)
    return pool.usage(pool.checkpoint_dir(machine.id, checkpoint.id))
