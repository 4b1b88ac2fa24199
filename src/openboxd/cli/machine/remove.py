"""`boxd machine remove`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from openboxd.cli.base import Command
from openboxd.cli.confirm import ask, need_terminal, yes_option
from openboxd.cli.machine.describe import machine_argument
from openboxd.cli.output import answer
from openboxd.cli.ssh.refresh import refresh
from openboxd.cli.state import State, pass_state

if TYPE_CHECKING:
    from openboxd.client.client import Client
    from openboxd.wire.boxd_api_pb2 import GetVmResponse


@click.command("remove", cls=Command)
@machine_argument
@yes_option
@pass_state
def remove(state: State, machine: str, yes: bool) -> None:
    """Remove machine NAME with its disk and its checkpoints, for good (short: rm).

    Asks for confirmation unless -y is given.
    """
    need_terminal("removing a machine", yes)

    async def look(client: Client) -> tuple[GetVmResponse, int]:
        vm = await client.machine(machine)
        return vm, 0 if yes else len(await client.checkpoints(machine))

    vm, count = state.run(look)
    kept = f"its disk and its {count} checkpoint{'s' if count != 1 else ''}" if count else "its disk"
    ask(f"Remove machine '{vm.name}' with {kept}? It cannot be brought back.", yes)
    state.run(lambda client: client.destroy(vm.vm_id))
    refresh(state)
    answer(state, {"machine": vm.name, "removed": True}, f"machine {vm.name} was removed")
