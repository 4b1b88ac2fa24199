"""A snapshot as the commands show it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from openboxd.cli.output import iso
from openboxd.cli.types import complete_snapshot

if TYPE_CHECKING:
    from openboxd.wire.boxd_api_pb2 import SnapshotInfo

F = TypeVar("F", bound=Callable[..., object])

snapshot_argument: Callable[[F], F] = click.argument("name", metavar="SNAPSHOT", shell_complete=complete_snapshot)


def as_json(found: SnapshotInfo) -> dict[str, Any]:
    """What `save --json` and `get --json` print."""
    return {
        "snapshot_id": found.snapshot_id,
        "name": found.name,
        "version": found.version,
        "status": found.status,
        "size_bytes": found.size_bytes,
        "total_bytes": found.total_bytes,
        "shared_bytes": found.shared_bytes,
        "vcpu": found.vcpu,
        "memory_bytes": found.memory_bytes,
        "use_count": found.use_count,
        "created_at": _moment(found.created_at),
        "updated_at": _moment(found.updated_at),
        "machine": found.source_name,
        "machine_id": found.source_vm_id,
        "image": found.image_ref,
        "pause_us": found.pause_us,
        "duration_ms": found.duration_ms,
        "failed_version": found.failed_version,
        "failure_reason": found.failure_reason,
    }


def _moment(epoch_milliseconds: int) -> str:
    return iso(epoch_milliseconds / 1000, "milliseconds") if epoch_milliseconds else ""


def failure(found: SnapshotInfo) -> str:
    """A sentence about the version that could not be saved; empty if there is none."""
    if not found.failed_version:
        return ""
    kept = f"; version {found.version} is kept" if found.version else ""
    return f"version {found.failed_version} of snapshot '{found.name}' was not saved: {found.failure_reason}{kept}"
