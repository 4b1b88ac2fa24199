"""`boxd admin user`: who may use this host, and how much of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from openboxd.cli.base import Group
from openboxd.cli.confirm import ask, need_terminal, yes_option
from openboxd.cli.output import answer, note, size, table
from openboxd.cli.state import State, pass_state
from openboxd.cli.types import LIMIT, LIMIT_SIZE, complete_user

if TYPE_CHECKING:
    from openboxd.wire.openboxd_host_pb2 import UserInfo

HEAD = ("NAME", "OWNER", "MACHINES", "VCPU", "MEMORY", "POOL", "ID")


@click.group(cls=Group)
def user() -> None:
    """Users: each has machines, keys and a quota of their own."""


@user.command("add")
@click.argument("name")
@pass_state
def add(state: State, name: str) -> None:
    """Add user NAME and print their first API key, and nothing else, on stdout.

    It cannot be shown again: the daemon keeps a digest of it only.

    With --json: {id, name, api_key}.
    """
    made = state.run(lambda client: client.add_user(name))
    data = {"id": made.user.id, "name": made.user.name, "api_key": made.api_key}
    answer(state, data, made.api_key)
    if not state.json:
        note(f"user {name} was added; hand them this key: BOXD_API_KEY for the boxd command, api_key for the SDK")


@user.command("list")
@pass_state
def list_users(state: State) -> None:
    """List the users with what they have of what they may have (short: ls). VCPU and MEMORY are those that run."""
    found = state.run(lambda client: client.users())
    rows = [
        (
            one.name,
            "*" if one.is_owner else "",
            _of(str(one.used.machines), str(one.quota.machines), one.quota.machines),
            _of(str(one.used.vcpu), str(one.quota.vcpu), one.quota.vcpu),
            _of(size(one.used.memory_bytes), size(one.quota.memory_bytes), one.quota.memory_bytes),
            _of(size(one.used.pool_bytes), size(one.quota.pool_bytes), one.quota.pool_bytes),
            one.id,
        )
        for one in found
    ]
    answer(state, [as_json(one) for one in found], table(HEAD, rows))


@user.command("key")
@click.argument("name", shell_complete=complete_user)
@click.option("--only", is_flag=True, help="Delete all their other keys: whoever has one is cut off at once.")
@yes_option
@pass_state
def key(state: State, name: str, only: bool, yes: bool) -> None:
    """Make another API key for user NAME, who has lost theirs, and print it, and nothing else, on stdout.

    With --only it asks for confirmation unless -y is given. With --json: {id, name, api_key}.
    """
    if only:
        need_terminal("deleting the keys of a user", yes)
        ask(f"Delete all other keys of user '{name}'? Whoever uses one is cut off at once.", yes)
    made = state.run(lambda client: client.add_user_key(name, only=only))
    answer(state, {"id": made.user.id, "name": made.user.name, "api_key": made.api_key}, made.api_key)


@user.command("remove")
@click.argument("name", shell_complete=complete_user)
@click.option("--remove-machines", is_flag=True, help="Remove their machines with them, checkpoints included.")
@yes_option
@pass_state
def remove(state: State, name: str, remove_machines: bool, yes: bool) -> None:
    """Remove user NAME with their keys and memberships (short: rm).

    Refused while they own machines, unless --remove-machines is given. Asks for confirmation unless -y is given.

    With --json: {name, removed, machines}.
    """
    need_terminal("removing a user", yes)
    gone = "all their machines, disks and checkpoints, and " if remove_machines else ""
    ask(f"Remove user '{name}' with {gone}all their keys and snapshots? They cannot be brought back.", yes)
    machines = state.run(lambda client: client.remove_user(name, machines=remove_machines))
    with_them = f" with {', '.join(machines)}" if machines else ""
    answer(state, {"name": name, "removed": True, "machines": machines}, f"user {name} was removed{with_them}")


@user.command("quota")
@click.argument("name", shell_complete=complete_user)
@click.option("--machines", type=LIMIT, help="Machines, whatever state they are in.")
@click.option("--vcpu", type=LIMIT, help="vCPUs of the machines that run.")
@click.option("--memory", type=LIMIT_SIZE, help="Memory of the machines that run, such as 16G.")
@click.option("--pool", type=LIMIT_SIZE, help="Bytes of disks, checkpoints and snapshots, such as 100G.")
@pass_state
def quota(
    state: State, name: str, machines: int | None, vcpu: int | None, memory: int | None, pool: int | None
) -> None:
    """Show or set what the machines of user NAME may take altogether; 'none' takes a limit away.

    What exceeds a new limit already stays and runs on; only what comes later is refused.
    """
    limits = {"machines": machines, "vcpu": vcpu, "memory_bytes": memory, "pool_bytes": pool}
    one = state.run(lambda client: client.set_quota(name, **limits))
    words = [
        ("machines", str(one.used.machines), str(one.quota.machines), one.quota.machines),
        ("vcpu", str(one.used.vcpu), str(one.quota.vcpu), one.quota.vcpu),
        ("memory", size(one.used.memory_bytes), size(one.quota.memory_bytes), one.quota.memory_bytes),
        ("pool", size(one.used.pool_bytes), size(one.quota.pool_bytes), one.quota.pool_bytes),
    ]
    rows = [(what, used, limit if limited else "none") for what, used, limit, limited in words]
    answer(state, as_json(one), table(("", "USED", "LIMIT"), rows))


def _of(used: str, limit: str, limited: int) -> str:
    return f"{used} of {limit}" if limited else used


def as_json(one: UserInfo) -> dict[str, Any]:
    """A user as scripts see them; a limit of null is none."""
    names = ("machines", "vcpu", "memory_bytes", "pool_bytes")
    return {
        "id": one.id,
        "name": one.name,
        "is_owner": one.is_owner,
        "quota": {name: getattr(one.quota, name) or None for name in names},
        "used": {name: getattr(one.used, name) for name in names},
    }
