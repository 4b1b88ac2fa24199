"""`boxd auth keys`: the API keys of the account."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from openboxd.cli.base import Group
from openboxd.cli.confirm import ask, need_terminal, yes_option
from openboxd.cli.output import age, answer, iso, note, table
from openboxd.cli.state import State, pass_state
from openboxd.cli.types import complete_org
from openboxd.errors import InvalidArgument, NotFound

if TYPE_CHECKING:
    from openboxd.client.client import Client
    from openboxd.wire.boxd_api_pb2 import ApiKeyInfo, CreateApiKeyResponse

HEAD = ("", "NAME", "KEY", "AGE", "LAST USED", "EXPIRES", "ORGANIZATION", "ID")


@click.group(cls=Group)
def keys() -> None:
    """API keys: each opens the account, or what it has in one organization, until it expires or is removed."""


@keys.command("create")
@click.argument("name")
@click.option(
    "--expires-in-secs",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="Seconds it lives (default: for ever).",
)
@click.option(
    "--org", default="", metavar="ORG", shell_complete=complete_org, help="Let it not reach beyond this organization."
)
@click.option(
    "--kind",
    type=click.Choice(["member", "org"]),
    default="member",
    show_default=True,
    help="Of one for an organization: act as yourself there, or as the organization, on what is shared with it.",
)
@pass_state
def create(state: State, name: str, expires_in_secs: int, org: str, kind: str) -> None:
    """Make an API key called NAME and print it, and nothing else, on stdout.

    It cannot be shown again: the daemon keeps a digest of it only. A key for an organization sees machines that are
    in it, and nothing of the account; it goes when you leave the organization. Only who manages that can make one of
    kind `org`: what such a key makes is shared with all members, and it may change and remove shared machines.

    \b
      export BOXD_API_KEY=$(boxd auth keys create laptop)
    """

    async def work(client: Client) -> CreateApiKeyResponse:
        return await client.create_api_key(name, expires_in_secs, org, kind)

    made = state.run(work)
    data = {"id": made.id, "name": name, "api_key": made.api_key, "expires_at": _moment(made.expires_at)}
    answer(state, data, made.api_key)


@keys.command("list")
@pass_state
def list_keys(state: State) -> None:
    """List the API keys of the account, oldest first (short: ls). * marks the one that this command uses."""
    found = state.run(lambda client: client.api_keys())
    own = _own_prefix(state)
    rows = [
        (
            "*" if key.key_prefix == own else " ",
            key.name,
            f"{key.key_prefix}...",
            age(key.created_at),
            f"{age(key.last_used_at)} ago" if key.last_used_at else "never",
            _moment(key.expires_at) or "never",
            f"{key.org} ({key.kind})" if key.org else "",
            key.id,
        )
        for key in found
    ]
    answer(state, [as_json(key) for key in found], table(HEAD, rows))


@keys.command("remove")
@click.argument("key")
@yes_option
@pass_state
def remove(state: State, key: str, yes: bool) -> None:
    """Remove API key KEY, given as its id, its name or its first characters (short: rm).

    It opens nothing from that moment on, nor do the tokens it was exchanged for. The key that this command itself
    uses may be removed too, but not the last one of the account. Asks for confirmation unless -y is given.
    """
    need_terminal("removing an API key", yes)
    chosen = pick(state.run(lambda client: client.api_keys()), key)
    own = " It is the one that this command uses!" if chosen.key_prefix == _own_prefix(state) else ""
    ask(f"Remove API key '{chosen.name}' ({chosen.key_prefix}...)? Whoever uses it is cut off at once.{own}", yes)
    state.run(lambda client: client.delete_api_key(chosen.id))
    answer(state, {"id": chosen.id, "name": chosen.name, "removed": True}, f"API key {chosen.name} was removed")
    if own:
        note("this command used that key; set BOXD_API_KEY to another one")


def pick(found: Sequence[ApiKeyInfo], wanted: str) -> ApiKeyInfo:
    """The one key that is meant: by id, else by name, else by its beginning.

    Raises:
        NotFound: none.
        InvalidArgument: several.
    """
    ways = (
        [key for key in found if key.id == wanted],
        [key for key in found if key.name == wanted],
        [key for key in found if len(wanted) > len("bxd_") and key.key_prefix.startswith(wanted.removesuffix("..."))],
    )
    matching = next((way for way in ways if way), [])
    if not matching:
        raise NotFound(f"there is no API key '{wanted}'; 'boxd auth keys list' shows them")
    if len(matching) > 1:
        ids = ", ".join(key.id for key in matching)
        raise InvalidArgument(f"'{wanted}' could be several API keys: {ids}; nothing was removed; give an id")
    return matching[0]


def as_json(key: ApiKeyInfo) -> dict[str, Any]:
    """A key as scripts see it; times are null for never."""
    return {
        "id": key.id,
        "name": key.name,
        "key_prefix": key.key_prefix,
        "created_at": _moment(key.created_at),
        "last_used_at": _moment(key.last_used_at),
        "expires_at": _moment(key.expires_at),
        "org": key.org,
        "kind": key.kind,
    }


def _moment(epoch_seconds: int) -> str | None:
    return iso(epoch_seconds) if epoch_seconds else None


def _own_prefix(state: State) -> str:
    """The beginning of the key that this command proves itself with; empty for a token."""
    from openboxd.client.endpoint import resolve

    token = resolve(state.api_url).token
    return token[:12] if token.startswith("bxd_") else ""
