"""`boxd machine share` and `unshare`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from openboxd.cli.base import Command
from openboxd.cli.machine.describe import machine_argument
from openboxd.cli.output import answer
from openboxd.cli.state import State, pass_state
from openboxd.cli.types import complete_org

if TYPE_CHECKING:
    from openboxd.client.client import Client
    from openboxd.wire.boxd_api_pb2 import GetVmResponse


@click.command("share", cls=Command)
@machine_argument
@click.option(
    "--org", default="", metavar="ORG", shell_complete=complete_org, help="The organization to share it with."
)
@pass_state
def share(state: State, machine: str, org: str) -> None:
    """Let all members of an organization use machine NAME: log in, run commands, save and restore checkpoints.

    Without --org it is the one that the machine belongs to, or the only one you are in.

    With --json: {name, sharing, org}.
    """

    async def work(client: Client) -> GetVmResponse:
        await client.share(machine, org)
        return await client.machine(machine)

    vm = state.run(work)
    data = {"name": vm.name, "sharing": "shared", "org": vm.org}
    answer(state, data, f"machine {vm.name} is shared with {vm.org}")


@click.command("unshare", cls=Command)
@machine_argument
@pass_state
def unshare(state: State, machine: str) -> None:
    """Close machine NAME to everybody but its owner; what others do in it by boxd is cut off at once.

    Only its owner can. Who is logged in by SSH stays until their connection ends. What others have left running in it
    goes on, and may do from then on what the machine itself may: act as its owner.
    """
    state.run(lambda client: client.unshare(machine))
    answer(state, {"name": machine, "sharing": "private"}, f"machine {machine} is private")
