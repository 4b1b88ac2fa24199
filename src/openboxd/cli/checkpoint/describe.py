"""A checkpoint as the commands show it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from openboxd.cli.output import duration, iso
from openboxd.cli.types import complete_checkpoint
from openboxd.errors import checkpoint_not_found

if TYPE_CHECKING:
    from openboxd.wire.boxd_api_pb2 import CheckpointInfo

F = TypeVar("F", bound=Callable[..., object])

checkpoint_argument: Callable[[F], F] = click.argument(
    "name", metavar="CHECKPOINT", shell_complete=complete_checkpoint
)


def as_json(machine: str, found: CheckpointInfo) -> dict[str, Any]:
    """What `save --json` prints, and `list --json` an array of."""
    return {
        "checkpoint_id": found.checkpoint_id,
        "name": found.name,
        "machine": machine,
        "status": found.status,
        "size_bytes": found.size_bytes,
        "total_bytes": found.total_bytes,
        "shared_bytes": found.shared_bytes,
        "created_at": iso(found.created_at / 1000, "milliseconds"),
        "created_by": found.created_by,
        "created_by_name": found.created_by_name,
        "available": found.available,
        "failure_reason": found.failure_reason,
        "parent": found.parent_name,
        "is_current": found.is_current,
        "pause_us": found.pause_us,
        "duration_ms": found.duration_ms,
    }


def pause(found: CheckpointInfo) -> str:
    """How long the machine stood still; it is a matter of milliseconds, so one decimal is kept."""
    milliseconds = found.pause_us / 1000
    return f"{milliseconds:.1f}ms" if milliseconds < 100 else duration(milliseconds)


def pick(machine: str, checkpoints: list[CheckpointInfo], name: str) -> CheckpointInfo:
    """The checkpoint of this name. Raises NotFound."""
    for found in checkpoints:
        if found.name == name:
            return found
    raise checkpoint_not_found(name, machine)
