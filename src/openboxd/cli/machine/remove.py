"""`boxd machine remove`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from openboxd.cli.base import FILLED, Command
from openboxd.cli.confirm import ask, need_terminal, yes_option
from openboxd.cli.machine.describe import machine_argument
from openboxd.cli.output import answer, fail
from openboxd.cli.ssh.refresh import refresh
from openboxd.cli.state import State, pass_state

if TYPE_CHECKING:
    from openboxd.client.client import Client
    from openboxd.wire.boxd_api_pb2 import GetVmResponse


@click.command("remove", cls=Command)
@machine_argument
@yes_option
@click.option("--self", "itself", is_flag=True, help="In a machine: remove it; NAME must be its own.")
@click.pass_context
@pass_state
def remove(state: State, context: click.Context, machine: str, yes: bool, itself: bool) -> None:
    """Remove machine NAME with its disk and its checkpoints, for good (short: rm).

    Asks for confirmation unless -y is given. A machine that is to remove itself says so with --self, and confirms it
    with its name, given here or when it is asked for.
    """
    if itself:
        _remove_itself(state, "" if context.meta.get(FILLED) else machine)
        return
    if state.here is not None and state.here.is_meant(machine):
        name = state.here.name
        fail(f"this is machine '{name}' itself; to remove it for good use 'boxd machine remove --self {name}'")
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


def _remove_itself(state: State, name: str) -> None:
    if state.here is None:
        raise click.UsageError("--self is for use in a machine; here, say which one is to be removed")
    if not name:
        if not sys.stdin.isatty():
            fail("removing this machine is confirmed with its name: boxd machine remove --self NAME", 2)
        sys.stderr.write(f"This removes machine '{state.here.name}', the one you are in, for good. Its name: ")
        sys.stderr.flush()
        name = sys.stdin.readline().strip()
    gone = state.run(lambda client: client.destroy_self(name))
    answer(state, {"machine": gone.name, "removed": True}, f"machine {gone.name} is being removed")
