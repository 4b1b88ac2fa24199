"""`boxd machine checkpoint list`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from openboxd.cli.base import Command
from openboxd.cli.checkpoint.describe import as_json, pause
from openboxd.cli.machine.describe import machine_argument
from openboxd.cli.output import age, answer, duration, note, size, table
from openboxd.cli.state import State, pass_state

if TYPE_CHECKING:
    from openboxd.client.client import Client
    from openboxd.wire.boxd_api_pb2 import CheckpointInfo

HEAD = ("", "NAME", "STATUS", "AGE", "SIZE", "SHARED", "PAUSE", "TOOK", "FROM", "BY")


@click.command("list", cls=Command)
@machine_argument
@pass_state
def list_checkpoints(state: State, machine: str) -> None:
    """List the checkpoints of machine NAME, oldest first (short: ls).

    * marks the one that the machine's present state descends from, FROM the one that a checkpoint descends from.
    SIZE is what a checkpoint alone occupies, SHARED what it has in common with others; PAUSE is how long the machine
    stood still for it, TOOK how long the whole save was.
    """

    async def work(client: Client) -> tuple[str, list[CheckpointInfo]]:
        vm = await client.machine(machine)
        return vm.name, await client.checkpoints(vm.vm_id)

    name, found = state.run(work)
    rows = [_row(each) for each in found]
    answer(state, [as_json(name, checkpoint) for checkpoint in found], table(HEAD, rows))
    if not found and not state.json:
        note(f"machine {name} has no checkpoints; 'boxd machine checkpoint save {name}' makes one")


def _row(found: CheckpointInfo) -> tuple[str, ...]:
    ready = found.status == "ready"
    return (
        "*" if found.is_current else " ",
        found.name,
        found.status,
        age(found.created_at / 1000),
        size(found.size_bytes) if ready else "-",
        size(found.shared_bytes) if ready else "-",
        pause(found) if ready else "-",
        duration(found.duration_ms) if ready else "-",
        found.parent_name,
        found.created_by_name or found.created_by,
    )
