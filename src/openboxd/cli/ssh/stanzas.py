"""The lines for ~/.ssh/config and known_hosts. Pure.

What a daemon says ends up in a file in which a line can run programs, so it is checked, not quoted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from openboxd.errors import OperationFailed

DOMAIN = "boxd"
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?")
_ID = re.compile(r"[0-9a-f-]{36}")
_HOST = re.compile(r"[A-Za-z0-9.:_-]+")
_KEY = re.compile(r"ssh-ed25519 [A-Za-z0-9+/]+={0,2}")
_ACCOUNT = re.compile(r"[A-Za-z0-9_-]{1,64}")
_WHOSE = "# machines of account "


@dataclass(frozen=True)
class Target:
    """A machine that can be reached by SSH."""

    name: str
    id: str
    port: int


def settings(target: Target, host: str, identity: Path) -> Sequence[str]:
    """What ssh must know of a machine: keyword and value, as in its configuration.

    Raises OperationFailed for what cannot stand there."""
    good = _NAME.fullmatch(target.name) and _ID.fullmatch(target.id) and _HOST.fullmatch(host)
    if not good or not _quotable(identity):
        raise OperationFailed(f"machine '{target.name}' at {host} cannot be written into an SSH configuration")
    return [
        f"HostName {host}",
        f"Port {target.port}",
        "User boxd",
        # The name in the machine's certificate: it stays when the machine is renamed.
        f"HostKeyAlias {target.id}.{DOMAIN}",
        f'IdentityFile "{identity}"',
        "IdentitiesOnly yes",
        "StrictHostKeyChecking yes",
        # Half the login time of the default where machines run in software.
        "KexAlgorithms ^curve25519-sha256",
        # A restore ends connections; this is how a client that only listens finds out.
        "ServerAliveInterval 15",
    ]


def account_line(account: str) -> str:
    """The comment that says whose machines a block holds. Raises OperationFailed for what cannot stand there."""
    if not _ACCOUNT.fullmatch(account):
        raise OperationFailed("the daemon gives this account an id that cannot be written into an SSH configuration")
    return f"{_WHOSE}{account}"


def account_in(lines: Sequence[str], begin: str) -> str:
    """Whose machines the block holds that begins with this mark; empty if it does not say."""
    first = next(iter(lines[lines.index(begin) + 1 :]), "") if begin in lines else ""
    return first.removeprefix(_WHOSE) if first.startswith(_WHOSE) else ""


def config_lines(targets: Iterable[Target], host: str, identity: Path, known_hosts: Path) -> Sequence[str]:
    """A stanza for each machine. Raises OperationFailed for what cannot stand in the file."""
    if not _quotable(known_hosts):
        raise OperationFailed(f"the path {str(known_hosts)!r} cannot be written into an SSH configuration")
    lines: list[str] = []
    for target in targets:
        lines.append(f"Host {target.name}.{DOMAIN}")
        lines += [f"    {setting}" for setting in settings(target, host, identity)]
        # ssh's own default is in the home that passwd names, which need not be the one of these files.
        lines.append(f'    UserKnownHostsFile "{known_hosts}"')
    return [*lines, "Match all"] if lines else []  # what the user wrote below is for all hosts again


def known_hosts_lines(authority: str) -> Sequence[str]:
    """One line covers every machine of the host. Raises OperationFailed if it is no key."""
    if not _KEY.fullmatch(authority):
        raise OperationFailed("the daemon has no SSH host authority; update it")
    return [f"@cert-authority *.{DOMAIN} {authority}"]


def _quotable(path: Path) -> bool:
    return '"' not in str(path) and "\n" not in str(path)
