"""Writing the machines into the user's SSH files, and keeping them there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from openboxd.cli.output import note
from openboxd.cli.ssh.block import with_block
from openboxd.cli.ssh.device_key import DeviceKey, device_key
from openboxd.cli.ssh.stanzas import Target, account_in, account_line, config_lines, known_hosts_lines
from openboxd.cli.state import State
from openboxd.client.config import config_path
from openboxd.errors import BoxdError
from openboxd.host.files import make_directory, write_atomic

if TYPE_CHECKING:
    from openboxd.client.client import Client

CONFIG_MARKS = ("# BEGIN boxd", "# END boxd")
HOSTS_MARKS = ("# BEGIN boxd-hosts", "# END boxd-hosts")
LOCAL = "127.0.0.1"


@dataclass(frozen=True)
class Entries:
    """The machines that an account sees, and the lines for both files."""

    account: str
    """The user's id, which is random: no other daemon has the same."""

    targets: Sequence[Target]
    config: Sequence[str]
    known_hosts: Sequence[str]


def directory() -> Path:
    """Where the files are."""
    return Path.home() / ".ssh"


def look_up(state: State, *, link: bool) -> Entries:
    """Ask the daemon; with `link` this computer's key is linked first.

    Raises:
        BoxdError: the daemon's words, or it said what cannot stand in the files.
    """
    key = device_key(config_path().parent)
    account, targets, authority = state.run(lambda client: _ask(client, key if link else None))
    config = config_lines(targets, host_of_ports(state), key.path, directory() / "known_hosts")
    return Entries(account, targets, config, known_hosts_lines(authority))


def write(entries: Entries) -> None:
    """Put the lines into the files. The block says whose it is, and stays when there are no machines."""
    _write(directory() / "config", CONFIG_MARKS, [account_line(entries.account), *entries.config])
    _write(directory() / "known_hosts", HOSTS_MARKS, entries.known_hosts)


def take_out() -> None:
    """Leave the files as if there had never been a block."""
    _write(directory() / "config", CONFIG_MARKS, [])
    _write(directory() / "known_hosts", HOSTS_MARKS, [])


def refresh(state: State) -> None:
    """After a machine came, went or was renamed: bring the files up to date if they are ours to keep. Never fails.

    Another account's machines, or another daemon's, stay as they are: only who wrote the block knows them all.
    """
    if state.here is not None:  # what is run for a machine has no files of anybody's
        return
    try:
        present = (directory() / "config").read_text(errors="replace").splitlines()
        if CONFIG_MARKS[0] not in present:
            return
        entries = look_up(state, link=False)
        if account_in(present, CONFIG_MARKS[0]) in ("", entries.account):
            write(entries)
    except FileNotFoundError:
        pass
    except (BoxdError, OSError) as error:
        note(f"the SSH configuration was not brought up to date: {error}")


async def _ask(client: Client, key: DeviceKey | None) -> tuple[str, list[Target], str]:
    if key is not None:
        await client.link_ssh_key(key.public_key, key.device, "")
    account = (await client.whoami()).user_id
    machines, authority = await client.machines_and_authority()
    found = [Target(vm.name, vm.vm_id, vm.ssh_port) for vm in machines if vm.ssh_port]
    return account, sorted(found, key=lambda target: target.name), authority


def host_of_ports(state: State) -> str:
    """Where the SSH ports are: the daemon's host."""
    from openboxd.client.endpoint import find_address

    host = urlsplit(find_address(state.api_url).url).hostname or LOCAL
    return LOCAL if host == "localhost" else host


def _write(path: Path, marks: tuple[str, str], lines: Sequence[str]) -> None:
    """Through a symbolic link, as an editor would; the mode is kept."""
    file = path.resolve()
    before = file.read_text(encoding="utf-8", errors="surrogateescape") if file.exists() else ""
    after = with_block(before, *marks, lines)
    if after == before:
        return
    make_directory(file.parent)
    mode = file.stat().st_mode & 0o777 if file.exists() else 0o600
    write_atomic(file, after.encode("utf-8", "surrogateescape"), mode)
