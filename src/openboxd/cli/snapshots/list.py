"""`boxd snapshots list`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from openboxd.cli.base import Command
from openboxd.cli.output import age, answer, note, size, table
from openboxd.cli.snapshots.describe import as_json, failure
from openboxd.cli.state import State, pass_state

if TYPE_CHECKING:
    from openboxd.wire.boxd_api_pb2 import SnapshotInfo

HEAD = ("NAME", "VERSION", "STATUS", "AGE", "SIZE", "SHARED", "MEMORY", "USED", "FROM")


@click.command("list", cls=Command)
@pass_state
def list_snapshots(state: State) -> None:
    """List your snapshots, oldest first (short: ls).

    SIZE is what a snapshot alone occupies, SHARED what it has in common with machines and other captures. USED counts
    the machines that were made from it; FROM is the machine that it was saved from.
    """
    found = state.run(lambda client: client.snapshots())
    answer(state, [_as_json(each) for each in found], table(HEAD, [_row(each) for each in found]))
    if state.json:
        return
    for each in found:
        if sentence := failure(each):
            note(sentence)
    if not found:
        note("you have no snapshots; 'boxd snapshots save MACHINE SNAPSHOT' makes one")


def _as_json(found: SnapshotInfo) -> dict[str, Any]:
    """The strings that scripts know, then what they do not have."""
    known = {
        "name": found.name,
        "version": f"v{found.version}",
        "status": found.status,
        "size": size(found.size_bytes),
        "used": str(found.use_count),
    }
    return {**as_json(found), **known}


def _row(found: SnapshotInfo) -> tuple[str, ...]:
    captured = found.version > 0
    return (
        found.name,
        f"v{found.version}" if captured else "-",
        found.status,
        age(found.updated_at / 1000) if captured else "-",
        size(found.size_bytes) if captured else "-",
        size(found.shared_bytes) if captured else "-",
        size(found.memory_bytes),
        str(found.use_count),
        found.source_name,
    )
