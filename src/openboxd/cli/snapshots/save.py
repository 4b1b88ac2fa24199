"""`boxd snapshots save`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from openboxd.cli.base import Command
from openboxd.cli.interrupt import going_on
from openboxd.cli.machine.describe import machine_argument
from openboxd.cli.output import answer, duration, fail, size
from openboxd.cli.progress import watching
from openboxd.cli.snapshots.describe import as_json, failure, snapshot_argument
from openboxd.cli.state import State, pass_state

if TYPE_CHECKING:
    from openboxd.client.client import Client
    from openboxd.wire.boxd_api_pb2 import SnapshotInfo


@click.command("save", cls=Command)
@machine_argument
@snapshot_argument
@click.option("--no-wait", is_flag=True, help="Return as soon as the save is accepted.")
@pass_state
def save(state: State, machine: str, name: str, no_wait: bool) -> None:
    """Save memory and disk of the running machine NAME as SNAPSHOT.

    The machine keeps running. If there is a SNAPSHOT already this is its next version, which takes the place of the
    one before. Waits until it is ready; the save is finished also if this command is ended.
    """

    async def work(client: Client) -> tuple[int, SnapshotInfo]:
        vm = await client.machine(machine)
        async with watching(client, vm.vm_id, f"saving {name}"):
            accepted = await client.save_snapshot(vm.vm_id, name)
            if no_wait:
                return accepted.version, await client.snapshot(accepted.snapshot_id)
            with going_on(f"the save goes on; see 'boxd snapshots get {name}'"):
                return accepted.version, await client.snapshot_done(accepted.snapshot_id)

    version, found = state.run(work)
    if found.status != "pending" and found.version < version:
        answer(state, as_json(found), "")
        fail(failure(found))
    answer(state, {**as_json(found), "version": version}, _text(version, found))


def _text(version: int, found: SnapshotInfo) -> str:
    if found.status != "ready":
        return f"version {version} of snapshot {found.name} is {found.status}"
    return (
        f"version {version} of snapshot {found.name} is ready: the machine paused for "
        f"{duration(found.pause_us / 1000)}, the save took {duration(found.duration_ms)}, "
        f"{size(found.size_bytes)} of its own and {size(found.shared_bytes)} shared"
    )
