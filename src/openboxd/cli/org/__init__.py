"""`boxd org`: organizations, in which users share machines."""

from __future__ import annotations

import click

from openboxd.cli.base import Group
from openboxd.cli.confirm import ask, need_terminal, yes_option
from openboxd.cli.org.members import invite, join, leave, member
from openboxd.cli.output import answer, note, table
from openboxd.cli.state import State, pass_state
from openboxd.cli.types import complete_org


@click.group(cls=Group)
def org() -> None:
    """Organizations: their members may use the machines that are shared with them."""


@org.command("new")
@click.argument("name")
@pass_state
def new(state: State, name: str) -> None:
    """Make organization NAME; you are its owner (also: add).

    With --json: {id, name}.
    """
    made = state.run(lambda client: client.create_org(name))
    answer(state, {"id": made.id, "name": made.name}, f"organization {made.name} was made")


@org.command("list")
@pass_state
def list_orgs(state: State) -> None:
    """List the organizations that you are in (short: ls)."""
    found = state.run(lambda client: client.orgs())
    data = [{"id": one.id, "name": one.name, "is_admin": one.is_admin} for one in found]
    answer(
        state, data, table(("NAME", "ADMIN", "ID"), [(o.name, "yes" if o.is_admin else "no", o.id) for o in found])
    )
    if not found and not state.json:
        note("you are in no organization; 'boxd org new NAME' makes one")


@org.command("rename")
@click.argument("org", shell_complete=complete_org)
@click.argument("name")
@pass_state
def rename(state: State, org: str, name: str) -> None:
    """Call organization ORG NAME from now on."""
    state.run(lambda client: client.rename_org(org, name))
    answer(state, {"name": name}, f"organization {org} is called {name}")


@org.command("remove")
@click.argument("org", shell_complete=complete_org)
@yes_option
@pass_state
def remove(state: State, org: str, yes: bool) -> None:
    """Remove organization ORG (short: rm). Its machines stay: they are their owners' own again.

    Asks for confirmation unless -y is given.
    """
    need_terminal("removing an organization", yes)
    ask(f"Remove organization '{org}'? Its members lose what is shared with them.", yes)
    state.run(lambda client: client.remove_org(org))
    answer(state, {"name": org, "removed": True}, f"organization {org} was removed")


for command in (member, invite, join, leave):
    org.add_command(command)
