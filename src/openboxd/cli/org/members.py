"""`boxd org member`, `invite`, `join` and `leave`."""

from __future__ import annotations

import sys

import click

from openboxd.cli.base import Command, Group
from openboxd.cli.confirm import ask, need_terminal, yes_option
from openboxd.cli.output import answer, iso, note, table
from openboxd.cli.state import State, pass_state
from openboxd.cli.types import complete_org


@click.group(cls=Group)
def member() -> None:
    """Members of an organization: the owner, admins, members."""


@member.command("list")
@click.argument("org", shell_complete=complete_org, default="")
@pass_state
def list_members(state: State, org: str) -> None:
    """List the members of organization ORG, and for those who manage it the invitations (short: ls).

    With --json: {members: [...], invites: [...]}.
    """
    found = state.run(lambda client: client.org_members(org))
    data = {
        "members": [{"user_id": m.user_id, "name": m.display_name, "role": m.role} for m in found.members],
        "invites": [
            {"id": i.token, "email": i.email, "role": i.role, "expires_at": iso(i.expires_at)} for i in found.invites
        ],
    }
    rows = [(m.display_name, m.role, m.user_id) for m in found.members]
    rows += [(i.email, f"{i.role}, invited until {iso(i.expires_at)}", i.token) for i in found.invites]
    answer(state, data, table(("NAME", "ROLE", "ID"), rows))


@member.command("role")
@click.argument("org", shell_complete=complete_org)
@click.argument("name")
@click.argument("role", type=click.Choice(["owner", "admin", "member"]))
@pass_state
def role(state: State, org: str, name: str, role: str) -> None:
    """Give member NAME of organization ORG another role.

    Admins manage members, and change and remove shared machines; members use these. 'owner' passes the ownership
    on: you stay as an admin.
    """
    state.run(lambda client: client.set_member_role(org, name, role))
    answer(state, {"org": org, "name": name, "role": role}, f"{name} is {role} of {org}")


@member.command("remove")
@click.argument("org", shell_complete=complete_org)
@click.argument("name")
@yes_option
@pass_state
def remove(state: State, org: str, name: str, yes: bool) -> None:
    """Remove member NAME of organization ORG, or an invitation by its id or token (short: rm).

    The machines that they shared are their own again. Asks for confirmation unless -y is given.
    """
    need_terminal("removing a member", yes)
    ask(f"Remove '{name}' from organization '{org}'? What they use of it is cut off at once.", yes)
    if name.startswith(("inv_", "bxi_")):
        state.run(lambda client: client.revoke_invite(name))
    else:
        state.run(lambda client: client.remove_member(org, name))
    answer(state, {"org": org, "name": name, "removed": True}, f"{name} was removed from {org}")


@click.command("invite", cls=Command)
@click.argument("org", shell_complete=complete_org)
@click.argument("email")
@click.option("--role", type=click.Choice(["admin", "member"]), default="member", show_default=True)
@pass_state
def invite(state: State, org: str, email: str, role: str) -> None:
    """Invite somebody to organization ORG, and print the token with which one user of this host can join.

    EMAIL is only a note of whom it is for: nobody sends mail, and whoever holds the token may join. It is good for a
    week and once.

    With --json: {token, expires_at}.
    """
    made = state.run(lambda client: client.invite(org, email, role))
    answer(state, {"token": made.token, "expires_at": iso(made.expires_at)}, made.token)
    if not state.json:
        note(f"whoever runs 'boxd org join' with this token until {iso(made.expires_at)} is {role} of {org}")


@click.command("join", cls=Command)
@click.argument("invitation", metavar="TOKEN", default="-")
@pass_state
def join(state: State, invitation: str) -> None:
    """Join the organization that TOKEN was made for; without it, or with -, it is read from stdin.

    A token among the arguments can be seen by all users of this computer while the command runs.
    """
    if invitation == "-":
        if sys.stdin.isatty():
            note("token:")
        invitation = sys.stdin.readline()
    invitation = invitation.strip()
    if not invitation:
        raise click.UsageError("no token was given; 'boxd org invite' prints one")
    joined = state.run(lambda client: client.accept_invite(invitation))
    answer(state, {"id": joined.id, "name": joined.name}, f"you are in organization {joined.name}")


@click.command("leave", cls=Command)
@click.argument("org", shell_complete=complete_org)
@yes_option
@pass_state
def leave(state: State, org: str, yes: bool) -> None:
    """Leave organization ORG; the machines that you shared are your own again. Asks unless -y is given."""
    need_terminal("leaving an organization", yes)
    ask(f"Leave organization '{org}'?", yes)
    state.run(lambda client: client.remove_member(org, ""))
    answer(state, {"org": org, "left": True}, f"you left organization {org}")
