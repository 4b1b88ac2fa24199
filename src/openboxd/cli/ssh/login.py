"""A login shell in a machine by the user's own ssh program, through the guest's sshd.

The user's SSH configuration has no part in it, so that it works the same for everybody; `ssh NAME.boxd` is for those
who want theirs.
"""

from __future__ import annotations

import socket
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from openboxd.cli.ssh.device_key import device_key
from openboxd.cli.ssh.refresh import host_of_ports
from openboxd.cli.ssh.stanzas import DOMAIN, Target, known_hosts_lines, settings
from openboxd.cli.state import State
from openboxd.client.config import config_path
from openboxd.errors import Interrupted, Unavailable
from openboxd.host import programs
from openboxd.host.files import write_atomic

if TYPE_CHECKING:
    from openboxd.client.client import Client
    from openboxd.wire.boxd_api_pb2 import GetVmResponse

REACH = 5.0
"""Seconds until the daemon's host must take a connection on the machine's port; a gate does so at once."""

PATIENCE = 90
"""Seconds until the guest's sshd must have spoken: longer than a gate holds a connection."""

AT_REST = ("stopped", "failed")

LOST = 255
"""What ssh ends with when the connection was not made, or has broken."""


@dataclass(frozen=True)
class Way:
    """How ssh is called, and whom it calls."""

    target: Target
    host: str
    options: tuple[str, ...]


def way_to(state: State, machine: str) -> Way | None:
    """Get everything ready for a login: this computer's key is linked, the host's authority is known. None if the
    machine does not run.

    Raises:
        Unavailable: there is no ssh here, or nobody listens at the machine's port.
        BoxdError: the daemon's words.
    """
    if programs.locate("ssh") is None:
        raise Unavailable("there is no ssh on this computer")
    directory = config_path().parent
    key = device_key(directory)

    async def ask(client: Client) -> tuple[GetVmResponse, str]:
        vm = await client.machine(machine)
        _, authority = await client.machines_and_authority()
        await client.link_ssh_key(key.public_key, key.device, "")
        return vm, authority

    vm, authority = state.run(ask)
    if vm.status in AT_REST:
        return None
    target, host = Target(vm.name, vm.vm_id, vm.ssh_port), host_of_ports(state)
    _expect_listener(target, host)
    known = directory / "ssh_known_hosts"
    write_atomic(known, "".join(f"{line}\n" for line in known_hosts_lines(authority)).encode())
    return Way(target, host, _options(settings(target, host, key.path), known))


def _options(machine: Sequence[str], known_hosts: Path) -> tuple[str, ...]:
    """ssh's options: what it must know of the machine, and nothing of the user's own."""
    chosen = [
        *machine,
        f'UserKnownHostsFile "{known_hosts}"',
        "GlobalKnownHostsFile none",
        "UpdateHostKeys no",
        "BatchMode yes",
        f"ConnectTimeout {PATIENCE}",
        "LogLevel ERROR",
    ]
    return ("-F", "none", *(word for setting in chosen for word in ("-o", setting)))


def login(way: Way) -> int:
    """Run ssh on this terminal until the shell ends; its exit status.

    Raises:
        Unavailable: nobody was logged in; ssh's words.
        Interrupted: somebody was, and the connection has broken.
    """
    with tempfile.TemporaryDirectory(prefix="boxd-ssh-") as directory:
        said, mark = Path(directory, "said"), Path(directory, "in")
        # ssh runs this once somebody is logged in: what comes after it is the session's, not a failure to connect.
        marking = ("-o", "PermitLocalCommand yes", "-o", f"LocalCommand : > '{str(mark).replace('%', '%%')}'")
        argv = ["ssh", *way.options, *marking, "-E", str(said), "-t", f"{way.target.name}.{DOMAIN}"]
        status = subprocess.run(argv, check=False).returncode
        if status != LOST:
            return status
        words = " ".join(said.read_text(errors="replace").split()) if said.exists() else ""
        if mark.exists():
            raise Interrupted(
                f"the connection to machine '{way.target.name}' has ended: {words or 'it was closed'}; "
                "the machine may have been restored or stopped"
            )
        raise Unavailable(words or "ssh has given no reason")


def _expect_listener(target: Target, host: str) -> None:
    """Raises Unavailable unless the machine's port takes connections. ssh itself would wait much longer."""
    if not target.port:
        raise Unavailable(f"machine '{target.name}' has no SSH port")
    try:
        socket.create_connection((host, target.port), timeout=REACH).close()
    except OSError as error:
        raise Unavailable(f"nobody listens on port {target.port} of {host}: {error.strerror or error}") from error
