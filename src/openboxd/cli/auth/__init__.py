"""`boxd auth`: who one is to the daemon, and the keys that prove it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from openboxd.cli.auth.keys import keys
from openboxd.cli.auth.ssh_key import ssh_key
from openboxd.cli.base import Group
from openboxd.cli.output import answer, facts
from openboxd.cli.state import State, pass_state

if TYPE_CHECKING:
    from openboxd.client.client import Client
    from openboxd.wire.boxd_api_pb2 import OrgSummary, WhoamiResponse


@click.group(cls=Group, invoke_without_command=True)
@click.pass_context
@pass_state
def auth(state: State, context: click.Context) -> None:
    """Show who you are to the daemon; manage API keys and SSH keys."""
    if context.invoked_subcommand is None:
        _whoami(state)


def _whoami(state: State) -> None:
    async def work(client: Client) -> tuple[WhoamiResponse, list[OrgSummary]]:
        return await client.whoami(), await client.orgs()

    me, orgs = state.run(work)
    # No organization is the active one here: commands take --org. Scripts for the hosted service look for it.
    data = {
        "user_id": me.user_id,
        "display_name": me.display_name,
        "active_org": None,
        "organizations": [{"id": one.id, "name": one.name, "active": False} for one in orgs],
        "is_host_owner": me.is_host_owner,
        "ssh_keys": list(me.pubkey_fingerprints),
    }
    shown = [("user", me.display_name), ("id", me.user_id), ("SSH keys", ", ".join(me.pubkey_fingerprints))]
    shown += [("organizations", ", ".join(one.name for one in orgs))] if orgs else []
    shown += [("owner of the host", "yes")] if me.is_host_owner else []
    answer(state, data, facts(shown))


for command in (keys, ssh_key):
    auth.add_command(command)
