"""`boxd machine checkpoint remove`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from openboxd.cli.base import Command
from openboxd.cli.checkpoint.describe import checkpoint_argument, pick
from openboxd.cli.confirm import ask, need_terminal, yes_option
from openboxd.cli.machine.describe import machine_argument
from openboxd.cli.output import answer
from openboxd.cli.state import State, pass_state

if TYPE_CHECKING:
    from openboxd.client.client import Client


@click.command("remove", cls=Command)
@machine_argument
@checkpoint_argument
@yes_option
@pass_state
def remove(state: State, machine: str, name: str, yes: bool) -> None:
    """Remove CHECKPOINT of machine NAME for good (short: rm). The machine itself is not touched.

    Asks for confirmation unless -y is given.
    """
    need_terminal("removing a checkpoint", yes)

    async def look(client: Client) -> str:
        vm = await client.machine(machine)
        if not yes:
            pick(vm.name, await client.checkpoints(vm.vm_id), name)
        return vm.name

    found = state.run(look)
    ask(f"Remove checkpoint '{name}' of machine '{found}'? It cannot be brought back.", yes)
    state.run(lambda client: client.remove_checkpoint(machine, name))
    data = {"machine": found, "checkpoint": name, "removed": True}
    answer(state, data, f"checkpoint {name} of machine {found} was removed")
