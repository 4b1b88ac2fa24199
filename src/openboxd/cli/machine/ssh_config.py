"""`boxd machine ssh-config`: let `ssh <machine>.boxd` (scp, rsync, editors) just work."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from openboxd.cli.base import Command
from openboxd.cli.output import answer
from openboxd.cli.ssh.block import with_block
from openboxd.cli.ssh.device_key import DeviceKey, device_key
from openboxd.cli.ssh.stanzas import Target, config_lines, known_hosts_lines
from openboxd.cli.state import State, pass_state
from openboxd.client.config import config_path
from openboxd.host.files import make_directory, write_atomic

if TYPE_CHECKING:
    from openboxd.client.client import Client

CONFIG_MARKS = ("# BEGIN boxd", "# END boxd")
HOSTS_MARKS = ("# BEGIN boxd-hosts", "# END boxd-hosts")
LOCAL = "127.0.0.1"


@click.command("ssh-config", cls=Command)
@click.option("--remove", is_flag=True, help="Take out what this command has written.")
@click.option("--print", "show", is_flag=True, help="Print the stanzas, and change nothing.")
@pass_state
def ssh_config(state: State, remove: bool, show: bool) -> None:
    """Write a stanza for each machine into ~/.ssh/config, so that 'ssh NAME.boxd' works.

    Makes a key for this computer and links it, if there is none; and lets SSH trust this host's machines
    (~/.ssh/known_hosts). Only lines between '# BEGIN boxd' and '# END boxd' are touched.
    """
    directory = Path.home() / ".ssh"
    if remove:
        _write(directory / "config", CONFIG_MARKS, [])
        _write(directory / "known_hosts", HOSTS_MARKS, [])
        answer(state, {"machines": []}, "the SSH configuration knows no machines any more")
        return
    key = device_key(config_path().parent)
    targets, authority = state.run(lambda client: _ask(client, None if show else key))
    lines = config_lines(targets, _host(state), key.path)
    trusted = known_hosts_lines(authority)
    if show:
        answer(state, {"config": lines, "known_hosts": trusted}, "\n".join(lines))
        return
    _write(directory / "config", CONFIG_MARKS, lines)
    _write(directory / "known_hosts", HOSTS_MARKS, trusted)
    names = [f"{target.name}.boxd" for target in targets]
    answer(
        state, {"machines": names}, f"ssh knows {len(names)} machines: {', '.join(names)}" if names else "no machines"
    )


async def _ask(client: Client, key: DeviceKey | None) -> tuple[list[Target], str]:
    """Link the key, and find out about the machines."""
    if key is not None:
        await client.link_ssh_key(key.public_key, key.device, "")
    machines, authority = await client.machines_and_authority()
    found = [Target(vm.name, vm.vm_id, vm.ssh_port) for vm in machines if vm.ssh_port]
    return sorted(found, key=lambda target: target.name), authority


def _host(state: State) -> str:
    """Where the SSH ports are: the daemon's host."""
    from openboxd.client.endpoint import find_address

    host = urlsplit(find_address(state.api_url).url).hostname or LOCAL
    return LOCAL if host == "localhost" else host


def _write(path: Path, marks: tuple[str, str], lines: Sequence[str]) -> None:
    """Through a symbolic link, as an editor would; other people's modes are kept."""
    file = path.resolve()
    before = file.read_text(encoding="utf-8", errors="surrogateescape") if file.exists() else ""
    after = with_block(before, *marks, lines)
    if after == before:
        return
    make_directory(file.parent)
    mode = file.stat().st_mode & 0o777 if file.exists() else 0o600
    write_atomic(file, after.encode("utf-8", "surrogateescape"), mode)
