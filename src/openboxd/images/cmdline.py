"""The kernel command line of a machine."""

from __future__ import annotations

import re

from openboxd.errors import InvalidArgument

_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?")
_MACHINE_ID = re.compile(r"[0-9a-f]{32}")

_COMMON = (
    "root=/dev/vda",
    "rw",
    "console=ttyS0",
    "net.ifnames=0",  # eth0, whatever slot the card is in
    "loglevel=4",
    "panic=-1",  # a panic reboots the guest at once instead of hanging it
    "no_timer_check",
    "nowatchdog",
    "audit=0",
    "apparmor=0",
    "random.trust_cpu=on",
    "systemd.show_status=false",
    "systemd.ssh_auto=no",  # no sshd on sockets that only its generator knows
)


def cmdline(machine_name: str, machine_id: str) -> str:
    """Boots an image as this machine. `machine_id` is a UUID with or without hyphens.

    Both values end up in a line that the kernel splits at blanks, so they are checked, not quoted.
    """
    identity = machine_id.replace("-", "").lower()
    if not _NAME.fullmatch(machine_name) or not _MACHINE_ID.fullmatch(identity):
        raise InvalidArgument(f"'{machine_name}' and '{machine_id}' cannot name a machine to its kernel")
    return " ".join([*_COMMON, f"systemd.hostname={machine_name}", f"systemd.machine_id={identity}"])
