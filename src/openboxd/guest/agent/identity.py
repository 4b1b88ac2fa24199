"""Becoming another machine: what a copy of a machine must not share with it.

The host says at the beginning of every epoch who the machine is. A guest that was booted as that one has nothing to
do. One that was somebody else (its memory was captured in another machine) takes the new identity before anything
else of the host reaches it: hostname, machine-id, address, MAC, SSH host key; its TCP connections, whose other ends
belong to the other machine, are reset. The kernel's command line stays what it was until the machine boots.
"""

from __future__ import annotations

import _socket
import os
from typing import TYPE_CHECKING, Any

from openboxd.guest import wire
from openboxd.guest.agent import connections, network
from openboxd.guest.agent.hostkey import HostKey
from openboxd.guest.agent.stream import to_json
from openboxd.guest.agent.textfiles import read, replace

if TYPE_CHECKING:
    from openboxd.guest.agent.link import Link

MACHINE_ID = "/etc/machine-id"
HOSTNAME = "/etc/hostname"
JOURNALS = "/run/log/journal"

LATER = 5.0
"""Seconds until networkd is told what the kernel knows already: without hardware virtualisation that is work of a
quarter of a second, in which somebody waits for the machine's first answer."""

Told = dict[str, Any]
"""Who the machine is: name, machine_id (a UUID), address, mac."""


class Identity:
    """Who this machine is, as the host has said; nobody yet in an agent that has just started."""

    def __init__(self, host_key: HostKey, *, takes: bool = True) -> None:
        """`takes`: whether it is this system's identity that is meant; not so in tests."""
        self._host_key = host_key
        self._takes = takes
        self._known: Told | None = None

    def hear(self, link: Link, told: Told | None) -> None:
        """Begin of an epoch. The host is told when the machine is who it should be, or why it is not."""

        def say(reason: str = "") -> None:
            link.send(wire.frame(wire.CTL, 0, to_json({"identity": reason})))

        if told is None:  # a host that does not say
            self._host_key.ask(link)
            return
        try:
            is_new = self._takes and self._become(told)
        except (OSError, ValueError, KeyError) as error:
            self._host_key.ask(link)
            say(f"{type(error).__name__}: {error}")
            return
        self._known = told
        if is_new:
            link.loop.after(LATER, network.tell_networkd)
            self._host_key.ask(link, say)
        else:
            self._host_key.ask(link)
            say()

    def _become(self, told: Told) -> bool:
        """Take what differs from what it was; whether it was another machine."""
        known, ident = self._known, str(told["machine_id"]).replace("-", "")
        before = str(known["machine_id"]).replace("-", "") if known else read(MACHINE_ID).strip()
        if known == told or (known is None and before == ident):
            return False
        _take_hostname(str(told["name"]))
        if before == ident:
            return False
        old = str(known["address"]) if known else network.card_address()
        network.become(old, str(told["address"]), str(told["mac"]))
        if old and old != told["address"]:
            connections.reset(old)
        _take_machine_id(before, ident)
        return True


def _take_hostname(name: str) -> None:
    """The kernel's, which systemd follows; and the file, where there is one."""
    _socket.sethostname(name)
    if os.path.exists(HOSTNAME):
        replace(HOSTNAME, f"{name}\n", 0o644)


def _take_machine_id(before: str, ident: str) -> None:
    """The file. The journal goes on in its directory and is found under the new id as well."""
    replace(MACHINE_ID, f"{ident}\n", 0o444)
    if before and os.path.isdir(os.path.join(JOURNALS, before)):
        try:
            os.symlink(before, os.path.join(JOURNALS, ident))
        except FileExistsError:
            pass
