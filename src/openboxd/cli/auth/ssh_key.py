"""`boxd auth ssh-key`: the public keys that machines let in."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Any

import click

from openboxd.cli.base import Group
from openboxd.cli.confirm import ask, need_terminal, yes_option
from openboxd.cli.output import answer, note, table
from openboxd.cli.state import State, pass_state
from openboxd.errors import InvalidArgument, NotFound

if TYPE_CHECKING:
    from openboxd.client.client import Client
    from openboxd.wire.openboxd_host_pb2 import SshKeyInfo

SIZE_LIMIT = 64 * 1024
"""Bytes; a public key is one line."""

HEAD = ("LABEL", "DEVICE", "TYPE", "FINGERPRINT")


@click.group(cls=Group, name="ssh-key")
def ssh_key() -> None:
    """Public SSH keys: whoever holds the private half may log in to the account's machines."""


@ssh_key.command("add")
@click.argument("file", type=click.File("rb"))
@click.option(
    "--device", default="", metavar="NAME", help="Keep one key per device: this one replaces its former one."
)
@click.option("--label", default="", metavar="TEXT", help="What to call it (default: the key's comment).")
@pass_state
def add(state: State, file: IO[bytes], device: str, label: str) -> None:
    """Link the public key in FILE, such as ~/.ssh/id_ed25519.pub; - reads stdin. Harmless if it is linked already."""
    public_key = _read(file)

    async def work(client: Client) -> list[SshKeyInfo]:
        await client.link_ssh_key(public_key, device, label)
        return await client.ssh_keys()

    text = public_key.split()[1]
    linked = next(key for key in state.run(work) if key.public_key.split()[1] == text)
    answer(state, as_json(linked), f"SSH key {linked.fingerprint} is linked")


def _read(file: IO[bytes]) -> str:
    content = file.read(SIZE_LIMIT + 1)
    if b"PRIVATE KEY" in content:
        raise InvalidArgument("this is a private key, which stays where it is; give the file that ends in .pub")
    try:
        text = content.decode().strip()
    except UnicodeDecodeError:
        text = ""
    if len(content) > SIZE_LIMIT or len(text.split()) < 2:
        raise InvalidArgument(
            "this is not a public SSH key: one line with its type, such as ssh-ed25519, and its text"
        )
    return text


@ssh_key.command("list")
@pass_state
def list_ssh_keys(state: State) -> None:
    """List the linked SSH keys (short: ls)."""
    found = state.run(lambda client: client.ssh_keys())
    rows = [(key.label, key.device_id, key.public_key.split()[0], key.fingerprint) for key in found]
    answer(state, [as_json(key) for key in found], table(HEAD, rows))
    if not found and not state.json:
        note("no SSH key is linked; 'boxd auth ssh-key add ~/.ssh/id_ed25519.pub' links one")


@ssh_key.command("remove")
@click.argument("key")
@yes_option
@pass_state
def remove(state: State, key: str, yes: bool) -> None:
    """Remove SSH key KEY, given as its fingerprint, label or device (short: rm). Asks unless -y is given."""
    need_terminal("removing an SSH key", yes)
    found = state.run(lambda client: client.ssh_keys())
    matching = [each for each in found if key in (each.fingerprint, each.label, each.device_id)]
    if not matching:
        raise NotFound(f"there is no SSH key '{key}'; 'boxd auth ssh-key list' shows them")
    if len(matching) > 1:
        raise InvalidArgument(f"'{key}' could be several SSH keys; nothing was removed; give a fingerprint")
    chosen = matching[0]
    ask(f"Remove SSH key {chosen.fingerprint} ({chosen.label or 'no label'})? It lets nobody in any more.", yes)
    state.run(lambda client: client.unlink_ssh_key(chosen.fingerprint))
    data = {"fingerprint": chosen.fingerprint, "removed": True}
    answer(state, data, f"SSH key {chosen.fingerprint} was removed")


def as_json(key: SshKeyInfo) -> dict[str, Any]:
    """A key as scripts see it."""
    return {
        "fingerprint": key.fingerprint,
        "public_key": key.public_key,
        "label": key.label,
        "device": key.device_id,
    }
