"""`boxd machine domain`: domains of people's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from openboxd.cli.base import Group
from openboxd.cli.machine.proxy import leads, vm_option
from openboxd.cli.output import answer, table
from openboxd.cli.state import State, pass_state
from openboxd.cli.types import complete_domain, complete_machine

if TYPE_CHECKING:
    from openboxd.wire.boxd_api_pb2 import CustomDomainInfo


@click.group(cls=Group)
def domain() -> None:
    """Lead domains of your own to machines.

    A domain leads where the machine's own route leads, and ROUTE.DOMAIN where its named routes do. Let the DNS of
    both point at this host first (an A record for DOMAIN, a CNAME for *.DOMAIN). The certificate comes with the first
    request: from boxd's own root (`boxd edge ca`), or from a public directory if BOXD_ACME_EMAIL is set.
    """


@domain.command("list")
@click.option("--vm", "machine", default="", metavar="NAME", help="Of this machine.", shell_complete=complete_machine)
@pass_state
def list_domains(state: State, machine: str) -> None:
    """List domains (short: ls).

    With --json: an array of {domain, vm, status, error, https_url}; `status` is active or pending, `error` why it is
    pending.
    """
    found = [each for each in state.run(lambda client: client.domains()) if machine in ("", each.vm_name, each.vm_id)]
    rows = [(each.domain, each.vm_name, each.status, each.last_error or "-") for each in found]
    answer(state, [as_json(each) for each in found], table(("DOMAIN", "MACHINE", "STATUS", "WHY"), rows))


@domain.command("new")
@click.argument("name", metavar="DOMAIN")
@vm_option
@pass_state
def new(state: State, name: str, machine: str) -> None:
    """Lead https://DOMAIN to a machine (also: add).

    With --json: {domain, vm, status, error, https_url}.
    """
    made = state.run(lambda client: client.add_domain(machine, name))
    pending = f", {made.last_error}" if made.last_error and made.https_url else ""
    answer(state, as_json(made), f"{leads(made)} to machine {made.vm_name}{pending}")


@domain.command("remove")
@click.argument("name", metavar="DOMAIN", shell_complete=complete_domain)
@pass_state
def remove(state: State, name: str) -> None:
    """Lead a domain nowhere (short: rm; also: delete).

    With --json: {domain, removed}.
    """
    state.run(lambda client: client.remove_domain(name))
    answer(state, {"domain": name, "removed": True}, f"domain {name} was removed")


def as_json(found: CustomDomainInfo) -> dict[str, Any]:
    """A domain as scripts see it."""
    return {
        "domain": found.domain,
        "vm": found.vm_name,
        "status": found.status,
        "error": found.last_error,
        "https_url": found.https_url,
    }
