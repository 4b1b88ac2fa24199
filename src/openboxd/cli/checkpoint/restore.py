"""`boxd machine checkpoint restore`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from openboxd.cli.base import Command
from openboxd.cli.checkpoint.describe import checkpoint_argument, pick
from openboxd.cli.confirm import ask, need_terminal, yes_option
from openboxd.cli.interrupt import going_on
from openboxd.cli.machine.describe import machine_argument, status
from openboxd.cli.output import answer, iso, note
from openboxd.cli.progress import watching
from openboxd.cli.state import State, pass_state

if TYPE_CHECKING:
    from openboxd.client.client import Client
    from openboxd.wire.boxd_api_pb2 import CheckpointInfo, GetVmResponse, RestoreCheckpointResponse


@click.command("restore", cls=Command)
@machine_argument
@checkpoint_argument
@yes_option
@pass_state
def restore(state: State, machine: str, name: str, yes: bool) -> None:
    """Take machine NAME back to CHECKPOINT: memory and disk become what they were at that moment.

    Everything that came later is lost; name, address and ports stay. The checkpoint and newer ones are kept. Returns
    when the machine runs again. Asks for confirmation unless -y is given.
    """
    need_terminal("restoring a checkpoint", yes)

    async def look(client: Client) -> tuple[GetVmResponse, CheckpointInfo]:
        vm = await client.machine(machine)
        return vm, pick(vm.name, await client.checkpoints(vm.vm_id), name)

    if not yes:
        vm, found = state.run(look)
        since = iso(found.created_at / 1000).replace("T", " ").replace("Z", " UTC")
        ask(f"Restore checkpoint '{name}' on machine '{vm.name}'? Everything written since {since} is lost.", yes)

    if state.here is not None and state.here.is_meant(machine):
        note("this machine goes back now, and this command with it: it does not return")

    async def work(client: Client) -> tuple[GetVmResponse, RestoreCheckpointResponse]:
        with going_on(f"the restore goes on; see 'boxd machine get {machine}'"):
            async with watching(client, machine, f"restoring {machine}"):
                done = await client.restore(machine, name)
        return await client.machine(machine), done

    vm, done = state.run(work)
    data = {
        "machine": vm.name,
        "checkpoint": name,
        "status": status(vm),
        "held_connections": done.held_connections,
        "longest_wait_ms": done.longest_wait_ms,
    }
    held = f"held {done.held_connections} connections, longest wait {done.longest_wait_ms} ms"
    answer(state, data, f"machine {vm.name} is back at checkpoint {name} and {status(vm)}; {held}")
