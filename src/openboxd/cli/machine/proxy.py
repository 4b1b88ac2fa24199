"""`boxd machine proxy`: the HTTPS routes of machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from openboxd.cli.base import Group
from openboxd.cli.machine.describe import reached
from openboxd.cli.output import answer, table
from openboxd.cli.state import State, pass_state
from openboxd.cli.types import DEFAULT_ROUTE, complete_machine, complete_named_route, complete_route

if TYPE_CHECKING:
    from openboxd.wire.boxd_api_pb2 import CreateProxyResponse, CustomDomainInfo, ProxyInfo

vm_option = click.option(
    "--vm", "machine", required=True, metavar="NAME", help="The machine.", shell_complete=complete_machine
)


@click.group(cls=Group)
def proxy() -> None:
    """Lead HTTPS host names to ports of machines.

    Every machine has a route of its own, https://NAME.ZONE, which finds its port by what the machine listens on until
    a port is set. Named ones are https://ROUTE.NAME.ZONE.
    """


@proxy.command("list")
@click.option("--vm", "machine", default="", metavar="NAME", help="Of this machine.", shell_complete=complete_machine)
@click.option("--all", "everything", is_flag=True, help="Of all machines, which is the default.")
@pass_state
def list_routes(state: State, machine: str, everything: bool) -> None:
    """List routes (short: ls).

    With --json: an array of {name, vm, domain, port, mode, https_url}; `port` is where the route leads now.
    """
    routes = state.run(lambda client: client.routes("" if everything else machine))
    rows = [(_name(route), route.vm_name, reached(route.https_url), route.port_display) for route in routes]
    answer(state, [as_json(route) for route in routes], table(("NAME", "MACHINE", "URL", "PORT"), rows))


@proxy.command("new")
@click.argument("name", metavar="ROUTE")
@vm_option
@click.option("--port", required=True, type=click.IntRange(1, 65535), help="Port of the machine.")
@pass_state
def new(state: State, name: str, machine: str, port: int) -> None:
    """Lead https://ROUTE.NAME.ZONE to a port of a machine (also: add).

    With --json: {name, vm, domain, port, https_url}; the last is empty while HTTPS is off.
    """
    made = state.run(lambda client: client.create_route(machine, name, port))
    data = {
        "name": made.name,
        "vm": made.vm_name,
        "domain": made.domain,
        "port": made.port,
        "https_url": made.https_url,
    }
    answer(state, data, f"{leads(made)} to port {made.port} of machine {made.vm_name}")


@proxy.command("set-port")
@click.argument("name", metavar="[ROUTE]", default=DEFAULT_ROUTE, shell_complete=complete_route)
@vm_option
@click.option("--port", required=True, metavar="PORT|auto", help="Port of the machine; auto: find it.")
@pass_state
def set_port(state: State, name: str, machine: str, port: str) -> None:
    """Let a route lead to another port. Without ROUTE it is the machine's own, the only one that takes 'auto'.

    With --json: {name, vm, port}.
    """
    state.run(lambda client: client.set_route_port(machine, "" if name == DEFAULT_ROUTE else name, port))
    where = "finds its port by itself" if port == "auto" else f"leads to port {port}"
    answer(state, {"name": name, "vm": machine, "port": port}, f"route {name} of machine {machine} {where}")


@proxy.command("remove")
@click.argument("name", metavar="ROUTE", shell_complete=complete_named_route)
@vm_option
@pass_state
def remove(state: State, name: str, machine: str) -> None:
    """Remove a named route (short: rm; also: delete).

    With --json: {name, vm, removed}.
    """
    state.run(lambda client: client.delete_route(machine, "" if name == DEFAULT_ROUTE else name))
    data = {"name": name, "vm": machine, "removed": True}
    answer(state, data, f"route {name} of machine {machine} was removed")


def as_json(route: ProxyInfo) -> dict[str, Any]:
    """A route as scripts see it."""
    return {
        "name": _name(route),
        "vm": route.vm_name,
        "domain": route.domain,
        "port": route.port,
        "mode": route.port_mode,
        "https_url": route.https_url,
    }


def leads(made: CreateProxyResponse | CustomDomainInfo) -> str:
    """The beginning of a sentence that says where something new leads: its address, as far as it has one."""
    return f"{made.https_url} leads" if made.https_url else f"HTTPS is off; once it is on, {made.domain} leads"


def _name(route: ProxyInfo) -> str:
    return route.name or DEFAULT_ROUTE
