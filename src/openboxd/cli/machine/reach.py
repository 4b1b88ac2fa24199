"""`boxd machine networks` and `boxd machine egress`: what a machine reaches."""

from __future__ import annotations

from collections.abc import Sequence

import click

from openboxd.cli.base import Command
from openboxd.cli.machine.describe import machine_argument
from openboxd.cli.output import answer
from openboxd.cli.state import State, pass_state


@click.command("networks", cls=Command)
@machine_argument
@click.argument("networks", nargs=-1, metavar="[NETWORK]...")
@click.option(
    "--clear", is_flag=True, help="No networks: with the bridge it reaches your other machines that have none."
)
@pass_state
def networks(state: State, machine: str, networks: Sequence[str], clear: bool) -> None:
    """Show or set the networks of machine NAME.

    Machines reach each other if they share a network, or if none of them has any. What is named is the whole set.
    This needs the bridge, 'boxd doctor' tells whether the daemon has it; without it each machine is alone.
    """
    _refuse_both(networks, clear)
    if networks or clear:
        found = state.run(lambda client: client.set_networks(machine, networks))
    else:
        found = list(state.run(lambda client: client.machine(machine)).networks)
    none = f"machine '{machine}' is in no network: where the daemon has the bridge it reaches others in none"
    shown = "\n".join(found) or none
    answer(state, {"machine": machine, "networks": found}, shown)


@click.command("egress", cls=Command)
@machine_argument
@click.argument("hosts", nargs=-1, metavar="[HOST]...")
@click.option("--clear", is_flag=True, help="No list: boxd holds nothing back from it.")
@pass_state
def egress(state: State, machine: str, hosts: Sequence[str], clear: bool) -> None:
    """Show or set what machine NAME may reach of the world.

    HOST is a name (example.com), all names below one ('*.example.com'), an IPv4 address or a range (203.0.113.0/24).
    What is named is the whole list, and everything else is out of reach at once.

    The list binds the machine's traffic. What runs in a private machine acts as its owner and may change the list,
    unless the machine was made with --isolated, or the daemon runs with BOXD_MACHINE_REACH=self.
    """
    _refuse_both(hosts, clear)
    if hosts or clear:
        found = state.run(lambda client: client.set_egress_allow(machine, hosts))
    else:
        found = list(state.run(lambda client: client.machine(machine)).egress_allow)
    shown = "\n".join(found) or f"machine '{machine}' has no list: it reaches whatever this host lets machines reach"
    answer(state, {"machine": machine, "egress": found}, shown)


def _refuse_both(named: Sequence[str], clear: bool) -> None:
    if named and clear:
        raise click.UsageError("--clear takes no names")
