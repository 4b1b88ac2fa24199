"""`boxd machine expose`: public ports that lead to ports of machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from openboxd.cli.base import Command, MachineArgument
from openboxd.cli.output import answer, table
from openboxd.cli.state import State, pass_state
from openboxd.cli.types import complete_machine

if TYPE_CHECKING:
    from openboxd.wire.boxd_api_pb2 import ExposePortResponse


@click.command("expose", cls=Command)
@click.argument("machine", cls=MachineArgument, metavar="[NAME]", default="", shell_complete=complete_machine)
@click.argument("port", required=False, type=click.IntRange(1, 65535))
@click.option("--tcp", is_flag=True, help="For TCP; a port that is not exposed yet is, unless told otherwise.")
@click.option("--udp", is_flag=True, help="For UDP.")
@click.option("--remove", "gone", is_flag=True, help="Take the public port away.")
@click.option("--list", "listing", is_flag=True, help="List exposed ports, of NAME or of all machines.")
@pass_state
def expose(state: State, machine: str, port: int | None, tcp: bool, udp: bool, gone: bool, listing: bool) -> None:
    """Give PORT of machine NAME a public port on this host; the same one if it is exposed already.

    --tcp and --udp together expose it for both, under one number. Datagrams that come while the machine is being
    restored are lost; connections wait.

    With --json: {vm, dns, public_port, port, protocol}; with --list an array of them.
    """
    if listing:
        _show(state, state.run(lambda client: client.exposed_ports(machine)), port)
        return
    if not machine or port is None:
        raise click.UsageError("say which machine and which port, or --list")
    if gone:
        found = state.run(lambda client: client.unexpose(machine, port))
        answer(state, as_json(found), f"port {port} of machine {found.vm_name} is not exposed any more")
        return
    protocol = "both" if tcp and udp else "udp" if udp else "tcp" if tcp else ""
    found = state.run(lambda client: client.expose(machine, port, protocol))
    answer(state, as_json(found), f"exposed {found.dns}:{found.public_port} -> {port} ({found.protocol})")


def _show(state: State, found: list[ExposePortResponse], port: int | None) -> None:
    chosen = [each for each in found if port in (None, each.vm_port)]
    rows = [(each.vm_name, str(each.vm_port), f"{each.dns}:{each.public_port}", each.protocol) for each in chosen]
    answer(state, [as_json(each) for each in chosen], table(("MACHINE", "PORT", "PUBLIC", "PROTOCOL"), rows))


def as_json(found: ExposePortResponse) -> dict[str, Any]:
    """An exposed port as scripts see it."""
    return {
        "vm": found.vm_name,
        "dns": found.dns,
        "public_port": found.public_port,
        "port": found.vm_port,
        "protocol": found.protocol,
    }
