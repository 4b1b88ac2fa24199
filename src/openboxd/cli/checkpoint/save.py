"""`boxd machine checkpoint save`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from openboxd.cli.base import Command
from openboxd.cli.checkpoint.describe import as_json, pause, pick
from openboxd.cli.interrupt import going_on
from openboxd.cli.machine.describe import machine_argument
from openboxd.cli.output import answer, duration, fail, size
from openboxd.cli.progress import watching
from openboxd.cli.state import State, pass_state
from openboxd.cli.types import GIVEN

if TYPE_CHECKING:
    from openboxd.client.client import Client
    from openboxd.wire.boxd_api_pb2 import CheckpointInfo


@click.command("save", cls=Command)
@machine_argument
@click.argument("checkpoint", type=GIVEN, required=False, default=None)
@click.option("--no-wait", is_flag=True, help="Return as soon as the save is accepted.")
@pass_state
def save(state: State, machine: str, checkpoint: str | None, no_wait: bool) -> None:
    """Save memory and disk of the running machine NAME under the name CHECKPOINT.

    The machine keeps running. Without CHECKPOINT a name is made from the time. Waits until the checkpoint is ready;
    the save is finished also if this command is ended.
    """

    async def work(client: Client) -> tuple[str, CheckpointInfo]:
        vm = await client.machine(machine)
        async with watching(client, vm.vm_id, f"saving {vm.name}"):
            accepted = await client.save(vm.vm_id, checkpoint or "")
            if not no_wait:
                with going_on(f"the save goes on; see 'boxd machine checkpoint list {vm.name}'"):
                    return vm.name, await client.checkpoint_done(vm.vm_id, accepted.name)
        return vm.name, pick(vm.name, await client.checkpoints(vm.vm_id), accepted.name)

    name, found = state.run(work)
    failed = found.status == "failed"
    answer(state, as_json(name, found), "" if failed else _text(name, found))
    if failed:
        fail(f"checkpoint '{found.name}' on machine '{name}' was not saved: {found.failure_reason}")


def _text(machine: str, found: CheckpointInfo) -> str:
    if found.status != "ready":
        return f"checkpoint {found.name} on machine {machine} is {found.status}"
    return (
        f"checkpoint {found.name} on machine {machine} is ready: the machine paused for {pause(found)}, "
        f"the save took {duration(found.duration_ms)}, {size(found.size_bytes)} of its own and "
        f"{size(found.shared_bytes)} shared"
    )
