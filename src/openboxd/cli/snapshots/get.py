"""`boxd snapshots get`."""

from __future__ import annotations

import click

from openboxd.cli.base import Command
from openboxd.cli.output import answer, duration, facts, iso, note, size
from openboxd.cli.snapshots.describe import as_json, failure, snapshot_argument
from openboxd.cli.state import State, pass_state


@click.command("get", cls=Command)
@snapshot_argument
@pass_state
def get(state: State, name: str) -> None:
    """Show SNAPSHOT, by its name or id."""
    found = state.run(lambda client: client.snapshot(name))
    pairs = [
        ("name", found.name),
        ("id", found.snapshot_id),
        ("version", str(found.version) if found.version else "-"),
        ("status", found.status),
        ("saved", iso(found.updated_at / 1000) if found.updated_at else "-"),
        ("from machine", found.source_name),
        ("image", found.image_ref),
        ("vcpu", str(found.vcpu)),
        ("memory", size(found.memory_bytes)),
        ("size", f"{size(found.size_bytes)} of its own, {size(found.shared_bytes)} shared"),
        ("used", f"{found.use_count} times"),
        ("pause", duration(found.pause_us / 1000)),
    ]
    answer(state, as_json(found), facts(pairs))
    if not state.json and (sentence := failure(found)):
        note(sentence)
