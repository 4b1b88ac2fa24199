"""The bridge's rules for nft. Pure: text from data.

Both tables are ours alone and made as a whole in one transaction, so that nothing of the user's firewall is touched,
and at no time a part of the rules is in force.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from openboxd.network.addresses import NETWORK, RESOLVER


@dataclass(frozen=True)
class Names:
    """Names of one home's things: two daemons on a host do not meet.

    Attributes:
        bridge: the bridge device.
        prefix: what the names of its taps begin with.
        table: name of the two nft tables.
    """

    bridge: str
    prefix: str
    table: str

    def tap(self, run_id: str) -> str:
        """Name of a run's device: 15 characters at most."""
        return f"{self.prefix}{run_id[:10]}"


@dataclass(frozen=True)
class Port:
    """A run's device and the only addresses that may be used on it."""

    tap: str
    mac: str
    address: str

    @property
    def element(self) -> str:
        """As a member of the set."""
        return f'"{self.tap}" . {self.mac} . {self.address}'


def names(home: str) -> Names:
    """Names for a home, by 8 hex characters that stand for it."""
    return Names(bridge=f"boxd-{home[:8]}", prefix=f"b{home[:4]}", table=f"boxd-{home[:8]}")


def set_up(names: Names, ports: Iterable[Port], resolver: str) -> str:
    """Everything, in place of what there is."""
    elements = ", ".join(port.element for port in ports)
    members = f"elements = {{ {elements} }}" if elements else ""
    return (
        remove(names)
        + f"""
table bridge {names.table} {{
    # Which device may use which addresses.
    set ports {{
        type ifname . ether_addr . ipv4_addr
        {members}
    }}
    chain prerouting {{
        type filter hook prerouting priority -300; policy accept;
        iifname "{names.prefix}*" jump machine
    }}
    # The bridge keeps its ports apart by itself; this holds also while a port is joining.
    chain forward {{
        type filter hook forward priority -200; policy accept;
        iifname "{names.prefix}*" oifname "{names.prefix}*" counter drop
    }}
    chain arp_sender {{
        iifname . arp saddr ether . arp saddr ip @ports accept
        counter drop
    }}
    chain machine {{
        ether type ip iifname . ether saddr . ip saddr @ports accept
        ether type arp iifname . ether saddr . arp saddr ip @ports jump arp_sender
        counter drop
    }}
}}
table inet {names.table} {{
    # The host itself: machines only answer it.
    chain input {{
        type filter hook input priority filter; policy accept;
        iifname "{names.bridge}" jump to_host
    }}
    chain to_host {{
        ct state established,related accept
        counter reject
    }}
    chain forward {{
        type filter hook forward priority filter; policy accept;
        iifname "{names.bridge}" jump from_machine
        oifname "{names.bridge}" jump to_machine
    }}
    chain from_machine {{
        ct state established,related accept
        # Other machines; and what a cloud tells its hosts about themselves, credentials included.
        ip daddr {{ {NETWORK}, 169.254.0.0/16, 127.0.0.0/8 }} counter reject
        meta nfproto ipv4 accept
        counter drop
    }}
    chain to_machine {{
        ct state established,related accept
        counter reject
    }}
{_resolver_chain(names, resolver)}
    chain postrouting {{
        type nat hook postrouting priority srcnat; policy accept;
        ip saddr {NETWORK} oifname != "{names.bridge}" masquerade
    }}
}}
"""
    )


def _resolver_chain(names: Names, resolver: str) -> str:
    if not resolver:
        return ""
    return f"""
    chain prerouting {{
        type nat hook prerouting priority dstnat; policy accept;
        iifname "{names.bridge}" ip daddr {RESOLVER} meta l4proto {{ tcp, udp }} th dport 53 dnat ip to {resolver}
    }}
"""


def add(names: Names, port: Port) -> str:
    """Let a device use its addresses."""
    return f"add element bridge {names.table} ports {{ {port.element} }}\n"


def drop(names: Names, port: Port) -> str:
    """The opposite of `add`; harmless if it is not there."""
    return add(names, port) + f"delete element bridge {names.table} ports {{ {port.element} }}\n"


def remove(names: Names) -> str:
    """Take everything away; harmless if there is nothing (a table is added so that it can be deleted)."""
    return "".join(
        f"add table {family} {names.table}\ndelete table {family} {names.table}\n" for family in ("bridge", "inet")
    )
